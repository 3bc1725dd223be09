/// Texts of `resumectl help TOPIC` that belong to no single command.
enum HelpTopic: String, CaseIterable {
    case exitStatus = "exit-status"
    case environment
    case files

    /// Returns the text that the arguments ask for; nil if they are others.
    static func text(for arguments: [String]) -> String? {
        guard arguments.count == 2, arguments[0] == "help" else { return nil }
        return HelpTopic(rawValue: arguments[1])?.text
    }

    private var text: String {
        switch self {
        case .exitStatus:
            """
            0    Done.
            1    Refused permanently: the server refused (4xx), the file has another checksum, nothing matched, or
                 --on-complete failed.
            64   Wrong usage.
            65   The store is damaged, or verify found damage.
            66   There is no such store, entry or input file.
            73   The destination cannot be written.
            74   Input or output error, or no space left.
            75   Failed for now, or ended by SIGTERM. Partial data is kept: run the command again.
            130  Interrupted (Ctrl-C). Partial data is kept: run the command again.

            Of several downloads, the worst failure counts: permanent ones before temporary ones.
            """
        case .environment:
            """
            RESUMECTL_STORE        The store, unless --store is given.
            RESUMECTL_CONFIG       The configuration file; empty for none.
            RESUMECTL_OPTION       Default of an option of get and resume: RESUMECTL_LIMIT_RATE for --limit-rate.
            http_proxy, https_proxy, all_proxy, no_proxy
                                   Proxies, and hosts without one. --proxy takes precedence.
            NETRC                  The file of --netrc, instead of ~/.netrc.
            XDG_CACHE_HOME         The folder of the default store, instead of ~/.cache.
            XDG_CONFIG_HOME        The folder of the configuration file, instead of ~/.config.
            TERM                   With 'dumb', the progress is printed as lines.

            Programs of --on-complete, --auth-command and --renew-command receive RESUMECTL_PATH, RESUMECTL_URL,
            RESUMECTL_KEY and RESUMECTL_STATUS.
            """
        case .files:
            """
            ~/.cache/resumectl          The default store: partial data, jobs and the log. Its files belong to
                                        resumectl; 'resumectl doctor' shows where it is.
            ~/.config/resumectl/config  Defaults of options; 'resumectl config' shows them.
            ~/.netrc                    Users and passwords, with --netrc.

            A file is written to the destination when it is complete. Until then, a hidden file beside it may have
            its bytes for a moment.
            """
        }
    }
}
