import ArgumentParser
import ResumeFiles
import ResumeHTTP

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
        if Folder.isThere(text) { return text }
        return (try? DownloadURL(text)).map(url) ?? schemeAndHost(of: text)
    }

    /// Returns the scheme and host of a text that is no valid URL; nil unless they are certainly not part of a secret.
    static func schemeAndHost(of text: String) -> String? {
        // A password may contain any character, even a slash; then the text before it is not a host.
        let form = /([A-Za-z][A-Za-z0-9+.\-]*:\/\/)(?:[^\/?#]*@)?([A-Za-z0-9.\-]+)(?::[0-9]*)?(?:[\/?#][^@]*)?/
        return text.wholeMatch(of: form.matchingSemantics(.unicodeScalar)).map { "\($0.1)\($0.2)/…" }
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

    static func requireURL(_ text: String, of option: String) throws {
        do {
            _ = try TypedURL.parse(text)
        } catch {
            throw ValidationError("\(option): \(problem(error, with: text))")
        }
    }

    /// Schemes of URLs that have no host, or whose host is not certain.
    private static let otherSchemes = Set(
        "about blob data file ftp ftps git gs magnet rsync s3 scp sftp ssh".pieces(at: " "))

    /// Returns a message of the argument parser with quoted arguments that may be secrets replaced by their numbers
    /// after the command's name.
    static func usage(_ text: String, arguments: [String]) -> String {
        var text = text
        for (number, argument) in arguments.enumerated() {
            let place = number == 0 ? "(not shown)" : "argument \(number)"
            // The parser quotes an argument, its name, its value, or the rest after a known letter.
            let parts = argument.parts(at: "=", most: 1).map(String.init)
            for part in [argument] + parts + [String(argument.dropFirst()), String(argument.dropFirst(2))]
            where !part.isEmpty && !isPlain(part) {
                let shown = typed(part).map { "'\($0)'" }
                if shown == nil { text = text.replacing("argument '\(part)'", with: place) }
                text = text.replacing("'\(part)'", with: shown ?? place)
            }
        }
        return text
    }

    /// Whether a text is a short name or number, like keys and values of options.
    private static func isPlain(_ text: String) -> Bool {
        // One letter after a dash is an option.
        if text.utf8.count == 2, text.hasPrefix("-") { return true }
        return text.utf8.count <= 40 && text.wholeMatch(of: /[A-Za-z0-9\-_.,\/+]*/) != nil
            && !DownloadURL.isSecretValue(text)
    }
}
