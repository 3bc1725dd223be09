import HTTPTypes

/// What a response came from: the request as far as it reached the final server, and the final URL.
///
/// A validator is unique to one resource ([RFC 9110, 8.8.1](https://www.rfc-editor.org/rfc/rfc9110.html#section-8.8.1)):
/// nginx gives two files of the same length and time the same strong tag.
package struct Provenance: Sendable, Hashable {
    /// The keyed hash of the request and the final URL, without parameters that sign a path.
    package var code: String
    /// The origin of the final URL, with a keyed hash of its path, which may be secret.
    package var address: String
    /// What the connections prove about the sender.
    package var trust: ServerTrust

    /// Identifies what a response came from.
    ///
    /// - Parameters:
    ///   - identity: The request; nil if its fields are unknown.
    ///   - url: The requested URL.
    ///   - final: The URL that the response came from; nil for the requested one.
    ///   - trust: What the connections prove; nil if only the scheme of the URLs tells.
    ///   - key: The key of the store's hashes.
    package init(
        _ identity: RequestIdentity?, at url: DownloadURL, from final: DownloadURL?, trust: ServerTrust?, _ key: HashKey
    ) {
        let final = final ?? url
        let sent = (identity ?? RequestIdentity(url, [:])).sent(to: final)
        let target = Array("\(final.origin)\(final.unsignedTarget)".utf8)
        code = Hexadecimal.text(Array(key.code(sent + target).prefix(16)))
        address = Self.address(final, key)
        self.trust = trust ?? ServerTrust(url, final)
    }

    /// The origin of the final URL.
    package var origin: String { (try? DownloadURL(address).origin) ?? "an unknown address" }

    private static func address(_ url: DownloadURL, _ key: HashKey) -> String {
        "\(url.origin)/#" + Hexadecimal.text(Array(key.code(Array(url.address.utf8)).prefix(8)))
    }

    /// Hides the path, which an earlier release has recorded.
    package mutating func hidePath(_ key: HashKey) {
        guard !address.contains("#"), let url = try? DownloadURL(address) else { return }
        address = Self.address(url, key)
    }

    /// The text for the store.
    package var stored: String { "\(code) \(trust.stored) \(address)" }

    /// Reads ``stored``; nil if it is not valid.
    package init?(stored: String) {
        let parts = stored.utf8.parts(at: .space, most: 2).map { String(Substring($0)) }
        guard parts.count == 3, let trust = ServerTrust(stored: parts[1]) else { return nil }
        code = parts[0]
        address = parts[2]
        self.trust = trust
    }
}
