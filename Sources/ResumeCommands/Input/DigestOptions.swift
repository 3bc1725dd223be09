import ArgumentParser
import ResumeHTTP

/// The digest that a single file is expected to have.
struct DigestOptions: ParsableArguments {
    @Option("sha256") var sha256: String?
    @Option("sha512") var sha512: String?

    /// The digest; nil if there is none or it is malformed.
    var digest: HTTPDigest? {
        // Web pages often print the name of the algorithm before the digits.
        func digest(_ text: String?, of algorithm: HTTPDigest.Algorithm, after name: Regex<Substring>) -> HTTPDigest? {
            text.flatMap {
                HTTPDigest(algorithm, hexadecimal: String($0.filter { $0 != " " }.trimmingPrefix(name)))
            }
        }
        return digest(sha256, of: .sha256, after: /(?i)sha256[:=-]/)
            ?? digest(sha512, of: .sha512, after: /(?i)sha512[:=-]/)
    }

    func validate() throws {
        if let sha256, digest == nil {
            let hint = sha256.utf8.count == 32 ? sentence("maybe-md5") : ""
            throw ValidationError("--sha256 requires 64 hexadecimal digits\(hint)")
        }
        try refuse(sha512 != nil && digest == nil, "--sha512 requires 128 hexadecimal digits")
    }
}
