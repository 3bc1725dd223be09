import ResumeHTTP

extension Settings {
    /// An option that is set in the configuration file or in the environment.
    struct Setting {
        /// The name of the option without dashes.
        var name: String
        /// As it was written; empty for a flag.
        var value: String
        /// The variable, or the line of the file.
        var source: String

        /// The options that concern one download or contain secrets that would be sent to any server.
        static let excluded = Set(
            """
            output input-file from key sha256 sha512 checksum checksums range head-url url restart header user \
            referer cookie cert private-key help version remote-name continue continue-at hold keep
            """.pieces(at: " "))

        /// Whether a flag is set; nil if the value is not one of a flag.
        var isSet: Bool? {
            switch value.lowercased() {
            case "", "true", "yes", "1", "on": true
            case "false", "no", "0", "off": false
            default: nil
            }
        }

        /// Checks its name, and whether its value is one.
        ///
        /// - Parameter options: The options of all commands that have defaults.
        /// - Returns: Why it cannot be used; nil if it can.
        func problem(_ options: CommandShape) -> String? {
            if Self.excluded.contains(name) { return "\(name) concerns one download and cannot be set here" }
            guard let takesValue = options.takesValue("--\(name)") else {
                let advice =
                    Suggestion.name(for: name, among: options.longNames).map { "; did you mean '\($0)'?" } ?? ""
                let isPlain = name.utf8.count <= 40 && name.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "-") }
                return "there is no option \(isPlain ? "'\(name)'" : "of this name")\(advice)"
            }
            if takesValue { return value.isEmpty ? "\(name) requires a value, such as \(name) = VALUE" : nil }
            return isSet == nil ? "\(name) is true or false" : nil
        }

        /// Returns the arguments that set it; none for a flag that is off.
        func arguments(_ options: CommandShape) -> [String] {
            guard options.takesValue("--\(name)") == true else { return isSet == true ? ["--\(name)"] : [] }
            return ["--\(name)=\(value)"]
        }

        /// The value as it may be shown: without passwords and the arguments of programs.
        var shown: String {
            if name.hasSuffix("-command") || name == "on-complete" {
                let words = value.split(whereSeparator: \.isWhitespace)
                // The first word may set a variable.
                guard let first = words.first, !first.contains("=") else { return "…" }
                return Printable.escaped(words.count > 1 ? "\(first) …" : String(first))
            }
            guard name == "proxy", let at = value.lastIndex(of: "@") else {
                return Printable.escaped(value.isEmpty ? "true" : value)
            }
            let scheme = value.firstRange(of: "://").map { String(value[..<$0.upperBound]) } ?? ""
            return Printable.escaped(scheme + value[value.index(after: at)...])
        }
    }
}
