import ArgumentParser
import HTTPTypes
import ResumeFiles
import ResumeHTTP

/// Options of curl, wget and aria2 that mean the same here.
///
/// `docs/resumectl.md` lists them.
struct FamiliarOptions: ParsableArguments {
    /// What this program does anyway.
    @Flag(name: .flag("O remote-name L location f fail S show-error c continue"), help: .hidden)
    var asUsual = false

    @Flag(name: .customLong("create-dirs"), help: .hidden)
    var createsFolders = false

    @Flag(name: .flag("s silent"), help: .hidden)
    var isSilent = false

    @Option(name: .option("C continue-at"), parsing: .unconditional, help: .hidden)
    var offset: String?

    @Option(name: .option("u user"), help: .value("user:pass", "User and password for the server (Basic)."))
    var user: String?

    @Flag(name: .flag("n netrc"), help: "Use the user and password in ~/.netrc.")
    var usesNetrc = false

    @Option(help: .hidden("Use the users and passwords in this file.", "file"))
    var netrcFile: String?

    @Option(name: .option("A user-agent"), help: .hidden("Value of the header field User-Agent.", "text"))
    var userAgent: String?

    @Option(name: .option("e referer"), help: .hidden("Value of the header field Referer.", "url"))
    var referer: String?

    @OptionGroup var cookies: CookieOptions

    func validate() throws {
        try require(
            offset == nil || offset == "-",
            "--continue-at accepts - only: a download continues where an earlier run stopped")
        try require(user?.contains(":") ?? true, "--user requires the form name:password")
        for (option, value) in [("--user-agent", userAgent), ("--referer", referer)] {
            guard let value, !HTTPField.isValidValue(value) else { continue }
            throw ValidationError("\(option) must not contain control characters")
        }
    }

    /// The header fields of the options.
    var fields: HTTPFields {
        var fields = HTTPFields()
        if let user { fields[.authorization] = DownloadURL.basicAuthorization(user) }
        fields[.cookie] = cookies.field
        fields[.userAgent] = userAgent
        fields[.referer] = referer
        return fields
    }

    /// Returns the users and passwords for hosts; nil if they are not to be used.
    ///
    /// - Throws: ``CommandFailure`` if the file cannot be used.
    func netrc(_ environment: [String: String]) throws -> Netrc? {
        // The user of the command line takes precedence.
        guard user == nil, usesNetrc || netrcFile != nil else { return nil }
        // As with curl, the file in the home folder may be missing.
        let usual = environment["HOME"].map { "\($0)/.netrc" } ?? ""
        let home = unsafe access(usual, F_OK) == 0 ? usual : nil
        return try (netrcFile ?? environment["NETRC"] ?? home).map(Netrc.init(path:))
    }
}
