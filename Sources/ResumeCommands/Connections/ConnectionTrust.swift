import ResumeCurl
import ResumeHTTP
import ResumeStore

/// What the options about servers leave unproved: which server has sent the bytes.
///
/// Downloads for which this differs are different ones, with different keys: bytes that anyone on the network may have
/// sent never become part of a file for which a server must prove its identity, although the validators are the same.
/// With a verified certificate, it does not matter how the server was reached.
struct ConnectionTrust {
    private let isUnverified, isWeak: Bool
    /// The hash of the file with the trusted certificates; nil for those of the system.
    private let authorities: String?
    /// The hash of the keys that servers may have; nil for any.
    private let pin: String?
    private let choice: CurlTransport.AddressChoice
    private let proxy: String?

    /// Reads the options; a file that cannot be read is reported later.
    init(_ options: ConnectionOptions) {
        isUnverified = options.insecure
        isWeak = options.usesOldTLS
        choice = options.choice
        authorities = options.cacert.map(CurlTransport.hashOfCertificates)
        pin = options.pinnedKey.flatMap { text in
            let bytes = (try? InputFile.bytes(of: text)) ?? Array(text.utf8)
            let digest = HTTPDigest(.sha256, of: bytes)
            return digest.map { String($0.hexadecimal.prefix(16)) }
        }
        // Without the password.
        proxy = options.proxy.map { text in
            String(text.drop { $0 == "/" }.split(separator: "@").last ?? "")
        }
    }

    /// Returns the key of a download; nil for the usual one.
    ///
    /// - Parameters:
    ///   - name: The key that the user gave it.
    ///   - url: Its URL.
    /// - Returns: The key.
    func key(named name: String?, of url: DownloadURL) -> String? {
        mark(for: url).map { "\(name ?? url.redacted)\(Self.start)\($0)" }
    }

    /// Throws if a job was started with other options.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - url: Another URL for it; nil for its own.
    /// - Throws: ``CommandFailure``, which says what to do.
    func requireSame(for job: Job, at url: DownloadURL?) throws {
        guard let started = try difference(from: job.key, at: url ?? DownloadURL(job.url)) else { return }
        let reason = sentence("started-otherwise", started, Hint.run("resume"), Hint.run("get"))
        throw CommandFailure(.refused, reason, isResumable: true)
    }

    /// Throws if an entry was received with other options: nothing else confirms its bytes.
    ///
    /// - Throws: ``CommandFailure``, which says what to do.
    func requireSame(for entry: Entry) throws {
        guard let started = try difference(from: entry.key, at: DownloadURL(entry.url)) else { return }
        throw CommandFailure(.refused, sentence("trust-differs", Redaction.key(entry.key), started))
    }

    /// Says with which options a download was started, unless they are these.
    private func difference(from key: String, at url: DownloadURL) -> String? {
        let own = Self.mark(in: key)
        guard mark(for: url) != own else { return nil }
        let with = own == nil ? "without" : "with \(Self.options(in: key).joined(separator: " and ")), not with"
        return "was started \(with) these options for connections"
    }

    /// Returns the options that must be given again to continue the download with this key.
    static func options(in key: String) -> [String] {
        let names = [
            "unverified": "--insecure", "authorities": "--cacert", "address": "--resolve", "weak": "--tls-old",
            "route": "--connect-to", "pin": "--pinnedpubkey",
        ]
        return (mark(in: key) ?? "").pieces(at: ",").map { part in
            names[String(part.prefix { $0 != "=" })] ?? "--proxy"
        }
    }

    private static let start = "#connection:"

    /// Whether a key has a mark, which only this program adds.
    static func isMarked(_ key: String) -> Bool { mark(in: key) != nil }

    private static func mark(in key: String) -> String? {
        guard let start = key.firstRange(of: start) else { return nil }
        return String(key[start.upperBound...].prefix { $0 != "#" })
    }

    /// Returns what differs from the usual; nil if nothing does.
    private func mark(for url: DownloadURL) -> String? {
        let isProved = url.scheme == "https" && !isUnverified
        var parts = isUnverified ? ["unverified"] : []
        if isProved, isWeak { parts.append("weak") }
        if isProved, let authorities { parts.append("authorities=\(authorities)") }
        if !isProved, let addresses = choice.addresses(for: url) {
            parts.append("address=\(addresses.joined(separator: "+"))")
        }
        if !isProved, !choice.routes.isEmpty {
            parts.append("route=\(choice.routes.joined(separator: "+"))")
        }
        if url.scheme == "https", let pin {
            parts.append("pin=\(pin)")
        }
        if !isProved, let proxy { parts.append("proxy=\(proxy)") }
        return parts.isEmpty ? nil : parts.joined(separator: ",")
    }
}
