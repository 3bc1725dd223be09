/// Finds the name that was probably meant.
enum Suggestion {
    /// What to use, or what else to know, instead of options of other programs.
    private static let options = [
        "--retries": "--retry --tries -t",
        "--range": "-r",
        "--max-size": "--max-filesize",
        "--directory": "--dir -d --output-dir",
        "--output": "--out --output-document",
        "--insecure": "--no-check-certificate",
        "--max-time": "-m",
        "--stall-timeout": "-T --timeout",
        "--interface": "--bind-address",
        "--ipv4": "--inet4-only",
        "--ipv6": "--inet6-only",
        "--cacert": "--ca-certificate",
        "--connections": "--split --num-connections --max-connection-per-server",
        "--max-concurrent": "--max-concurrent-downloads --parallel -Z --jobs",
        "--limit-rate": "--max-download-limit --speed",
        "--remote-header-name": "--content-disposition",
        "--skip-existing": "--no-clobber",
        "--per-host": "--wait",
        "--json": "--write-out",
        "verify --remote": "--head --spider",
        "-H 'Authorization: Bearer TOKEN', or --auth-command": "--oauth2-bearer",
        "the variable no_proxy": "--noproxy --no-proxy",
        "--json for curl's -w, and --per-host 1 for wget's": "-w",
        "-H 'Authorization: Bearer TOKEN'": "--token",
        "verify --remote, or curl -I for the header": "-I",
        "'&' or systemd-run for the background": "-b",
        "'&' or systemd-run": "--background",
        "md5sum on the file; only SHA-256 and SHA-512 are compared": "--md5",
    ]

    /// Why there is nothing here for options of other programs.
    private static let absent = [
        "leave it out: progress is shown in a terminal": "-# --progress-bar",
        "leave it out: a file is fetched again only if it has changed": "-N --timestamping",
        "there is none: a file has the time of its download": "-R --remote-time",
        "there is none: a file is stored as the server sends it (see --accept-encoding)": "--compressed",
        "there is none: only GET can be resumed": "-X --request",
    ]

    /// The commands here, and words for them in other programs.
    private static let commands = [
        "get": "download fetch",
        "resume": "continue start",
        "jobs": "status ps queue",
        "purge": "rm delete remove",
        "gc": "clean cleanup",
        "stats": "du df usage",
        "set": "limit",
        "verify": "check",
        "adopt": "import",
        "--version": "version",
        "show": "info",
    ]

    /// Returns what to do instead of using an option of another program; nil if it is unknown.
    static func instead(of option: String) -> String? {
        key(of: option, in: options).map { "use \($0)" } ?? key(of: option, in: absent)
    }

    /// Returns the command for a word of another program.
    static func command(for word: String) -> String? { key(of: word, in: commands) }

    private static func key(of word: String, in table: [String: String]) -> String? {
        table.first { $0.value.split(separator: " ").contains { $0 == word } }?.key
    }

    /// Finds the name that is most similar to a text.
    ///
    /// - Parameters:
    ///   - text: What was typed.
    ///   - names: The valid names, of which an earlier one is preferred.
    /// - Returns: The name; nil if none is similar.
    static func name(for text: String, among names: [String]) -> String? {
        // A longer text is not a typing error.
        guard text.utf8.count <= 20 else { return nil }
        let lowercased = text.lowercased()
        let most = lowercased.count <= 4 ? 1 : 2
        let close = names.map { (name: $0, distance: distance($0, lowercased)) }.filter { $0.distance <= most }
        return close.min { $0.distance < $1.distance }?.name
            ?? (lowercased.count >= 3 ? names.first { $0.hasPrefix(lowercased) } : nil)
    }

    /// Returns how many characters must be inserted, removed, replaced or swapped with the next one.
    private static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first), Array(second))
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for (row, left) in first.enumerated() {
            var next = [row + 1]
            for (column, right) in second.enumerated() {
                var least = min(next[column] + 1, last[column + 1] + 1, last[column] + (left == right ? 0 : 1))
                if row > 0, column > 0, left == second[column - 1], first[row - 1] == right {
                    least = min(least, beforeLast[column - 1] + 1)
                }
                next.append(least)
            }
            (beforeLast, last) = (last, next)
        }
        return last[second.count]
    }
}
