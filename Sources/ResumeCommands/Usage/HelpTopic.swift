internal import ArgumentParser

/// Texts of `resumectl help TOPIC` that belong to no single command.
enum HelpTopic: String, CaseIterable {
    case exitStatus = "exit-status"
    case environment
    case files
    case errors

    /// Returns the problem of a request for help about something that does not exist; nil if it does.
    static func problem(with arguments: [String], of root: any ParsableCommand.Type) -> String? {
        guard arguments.first == "help", let topic = arguments.dropFirst().first, !topic.hasPrefix("-"),
            topic != "help", root.subcommand(topic) == nil, HelpTopic(rawValue: topic) == nil
        else { return nil }
        let shown = Redaction.typed(topic).map { " on '\($0)'" } ?? ""
        let topics = allCases.map(\.rawValue).joined(separator: ", ")
        return "there is no help\(shown); the topics are \(topics), and the commands, which 'resumectl help' lists"
    }

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
            73   The destination cannot be written, or a file there was not written by this program, or has changed.
                 Three ways on: --overwrite replaces it, --auto-rename keeps both, and -o names the file.
            74   Input or output error, or no space left.
            75   Failed for now, or ended by SIGTERM. Partial data is kept: run the command again.
            130  Interrupted (Ctrl-C). Partial data is kept: run the command again.

            'get -o -' keeps no partial data without --keep, --hold or --from.

            With several downloads, the worst failure decides; permanent ones are worse than temporary ones.
            """
        case .environment:
            """
            RESUMECTL_STORE        The store, unless --store is given.
            RESUMECTL_CONFIG       The configuration file; empty for none.
            RESUMECTL_<OPTION>     Default of an option of get and resume: RESUMECTL_LIMIT_RATE for --limit-rate.
            http_proxy, https_proxy, all_proxy, no_proxy
                                   Proxies, and hosts without one. --proxy takes precedence.
            NETRC                  The file of --netrc, instead of ~/.netrc.
            XDG_CACHE_HOME         The folder of the default store, instead of ~/.cache.
            XDG_CONFIG_HOME        The folder of the configuration file, instead of ~/.config.
            TERM                   With 'dumb', the progress is printed as lines.

            Programs of --on-complete, --auth-command and --renew-command receive RESUMECTL_PATH, RESUMECTL_URL,
            RESUMECTL_KEY and RESUMECTL_STATUS.
            """
        case .errors:
            """
            could not resolve the host   Check the spelling of the host, and the network connection.
            could not connect            The server is down or refuses connections; try again later.
            does not use TLS             Try http:// instead of https://.
            is not trusted               The server cannot prove its identity. --cacert FILE trusts another authority.
            401 Unauthorized             Give a user and password: -u, -n for ~/.netrc, or --auth-command.
            403 Forbidden                The URL may have expired: get a fresh one and use 'resume NAME --url URL'.
            404 Not Found                There is no such file; check the URL. Repeating does not help.
            429, 500, 502, 503, 504      The server is busy; the download is tried again.
            the expected SHA-256         The file is not the expected one: compare the digest with that of the source.
                                         With the right digest, nothing is fetched again; --restart fetches it.
            No space left, bytes free    Free some space, choose another folder (-P) or store (--store); see gc.
            already exists               --overwrite replaces the file, --auto-rename keeps both, -o names the new one.
            cannot write                 Choose a folder that this user may write to; -P creates folders.
            too many open files          Use a smaller -j, or raise 'ulimit -n'.
            the store is damaged         Run 'resumectl doctor', then 'resumectl doctor --rebuild'.
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
