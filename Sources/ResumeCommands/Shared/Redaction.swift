internal import ArgumentParser
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeHTTP

/// Prepares text that may contain secrets for being shown.
enum Redaction {
    /// Returns a key of the store without secrets, and with long random strings abbreviated.
    static func key(_ key: String) -> String {
        Printable.escaped(DownloadURL.shownKey(key))
    }

    /// Returns a URL without secrets.
    static func url(_ url: DownloadURL) -> String { Printable.escaped(url.description) }

    /// Returns a key or URL typed by the user; nil if it may contain a secret, or is neither a URL nor a plain name.
    static func typed(_ text: String) -> String? {
        (try? DownloadURL(text)).map(url) ?? (isPlain(text) ? text : schemeAndHost(of: text))
    }

    /// Returns the same for a URL with a scheme or an existing file; nil for any other word, which may be a password.
    static func name(_ text: String) -> String? {
        if FileManager.default.fileExists(atPath: text) { return Printable.escaped(text) }
        return (try? DownloadURL(text)).map(url) ?? schemeAndHost(of: text)
    }

    /// Returns the scheme and host of a text that is no valid URL; nil unless they are certainly not part of a secret.
    static func schemeAndHost(of text: String) -> String? {
        guard let separator = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<separator.lowerBound]
        guard let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) })
        else { return nil }
        let authority = text[separator.upperBound...].prefix { !"/?#".contains($0) }
        // A password may contain any character, even a slash; then the text before it is not a host.
        guard !text[authority.endIndex...].contains("@") else { return nil }
        let parts = authority.split(separator: "@", omittingEmptySubsequences: false).last?
            .split(separator: ":", omittingEmptySubsequences: false)
        guard let parts, let host = parts.first, parts.count <= 2, !host.isEmpty,
            host.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "-.".utf8.contains($0) }),
            parts.count == 1 || parts[1].utf8.allSatisfy(isDigit)
        else { return nil }
        return "\(scheme)://\(host)/…"
    }

    /// Describes why a text is no URL that can be fetched, with scheme and host if they are safe to show.
    static func problem(_ problem: InvalidInput, with text: String) -> String {
        if let shown = schemeAndHost(of: text) { return "\(shown): \(problem)" }
        // The text before a colon may also be a user name or a key.
        if let scheme = problem.scheme, !otherSchemes.contains(scheme) {
            return "\(InvalidInput.notAURL)"
        }
        return "\(problem)"
    }

    /// Throws if the value of an option is no URL.
    static func requireURL(_ text: String, of option: String) throws {
        do {
            _ = try TypedURL.parse(text)
        } catch {
            throw ValidationError("\(option): \(problem(error, with: text))")
        }
    }

    /// Schemes of URLs that have no host, or whose host is not certain.
    private static let otherSchemes = "about blob data file ftp ftps git gs magnet rsync s3 scp sftp ssh".split(
        separator: " "
    ).map(String.init)

    /// Returns a message of the argument parser, with quoted arguments that may be secrets replaced by their numbers
    /// after the command's name.
    static func usage(_ text: String, arguments: [String]) -> String {
        var text = text
        for (number, argument) in arguments.enumerated() {
            let place = number == 0 ? "(not shown)" : "argument \(number)"
            // The parser quotes an argument, its name, its value, or the rest after a known letter.
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            for part in [argument] + parts + [String(argument.dropFirst()), String(argument.dropFirst(2))]
            where !part.isEmpty && !isPlain(part) {
                let shown = typed(part).map { "'\($0)'" }
                if shown == nil { text = text.replacing("argument '\(part)'", with: place) }
                text = text.replacing("'\(part)'", with: shown ?? place)
            }
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Printable.escaped(String($0)) }.joined(separator: "\n")
    }

    /// Whether a text is a short name or number, like keys and values of options.
    private static func isPlain(_ text: String) -> Bool {
        // One letter after a dash is an option.
        if text.utf8.count == 2, text.hasPrefix("-") { return true }
        return text.utf8.count <= 40
            && text.utf8.allSatisfy { isLetter($0) || isDigit($0) || "-_.,/+".utf8.contains($0) }
            && !DownloadURL.isSecretValue(text)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
