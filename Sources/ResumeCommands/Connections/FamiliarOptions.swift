import ArgumentParser
import HTTPTypes
import ResumeFiles
import ResumeHTTP

/// Options of curl, wget and aria2 that mean the same here.
///
/// `docs/resumectl.md` lists them.
struct FamiliarOptions: ParsableArguments {
    /// What this program does anyway.
    @Flag("O remote-name L location f fail S show-error c continue") var asUsual = false
    @Flag("create-dirs") var createsFolders = false
    @Flag("s silent") var isSilent = false
    @Option("C continue-at", parsing: .unconditional, transform: { $0 }) var offset: String?
    @Option("u user") var user: String?
    @Flag("n netrc") var usesNetrc = false
    @Option("netrc-file") var netrcFile: String?
    @Option("A user-agent") var userAgent: String?
    @Option("e referer") var referer: String?
    @OptionGroup var cookies: CookieOptions

    func validate() throws {
        try require(offset == nil || offset == "-", sentence("continue-at"))
        try require(user?.contains(":") ?? true, "--user requires the form name:password")
        try require(HTTPField.isValidValue(userAgent ?? ""), "--user-agent must not contain control characters")
        try require(HTTPField.isValidValue(referer ?? ""), "--referer must not contain control characters")
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
        let home = Folder.isThere(usual) ? usual : nil
        return try (netrcFile ?? environment["NETRC"] ?? home).map(Netrc.init(path:))
    }
}
