import ResumeCurl
import ResumeDownload
import ResumeHTTP

/// What the user gives to servers besides URL and header fields: it is part of a download's identity, and is not stored.
struct GivenIdentity {
    /// The options that must be given again to continue a job.
    private(set) var needs: [String] = []
    private var parts: [String] = []

    /// Reads the options; a file that cannot be read is reported later.
    init(_ options: ConnectionOptions, _ cookies: CookieOptions) {
        if let certificate = options.certificate {
            let bytes = try? InputFile.bytes(of: certificate.file)
            add("--cert", HTTPDigest(.sha256, of: bytes ?? [])?.hexadecimal)
        }
        if options.usesDigest { add("--digest", "") }
        if options.usesAnyMethod { add("--anyauth", "") }
        // Without the times until which they are valid, which change often.
        let lines = cookies.lines.map { $0.replacing(/\t[0-9]+\t/, with: "\t", maxReplacements: 1) }
        if !lines.isEmpty { add("--cookie", lines.sorted().joined(separator: "\n")) }
    }

    private mutating func add(_ option: String, _ value: String?) {
        needs.append(option)
        parts.append("\(option)=\(value ?? "")")
    }

    /// Makes it part of a request.
    func apply(to request: inout DownloadRequest) {
        request.needs += needs
        guard !parts.isEmpty else { return }
        request.given = HTTPDigest(.sha256, of: parts.joined(separator: "\n").utf8)?.hexadecimal
    }
}
