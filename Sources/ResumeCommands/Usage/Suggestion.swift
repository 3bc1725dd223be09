/// Finds the name that was probably meant.
enum Suggestion {
    /// Options of other programs, and what to use instead, or what else to know.
    static let options = [
        "--retry": "--retries", "--tries": "--retries", "-r": "--range", "--max-filesize": "--max-size",
        "--dir": "--directory", "-d": "--directory", "--output-dir": "--directory", "--out": "--output",
        "--output-document": "--output",
        "--no-check-certificate": "--insecure", "-m": "--max-time", "-T": "--stall-timeout",
        "--timeout": "--stall-timeout", "--bind-address": "--interface", "--inet4-only": "--ipv4",
        "--inet6-only": "--ipv6", "--ca-certificate": "--cacert", "--split": "--connections",
        "--num-connections": "--connections", "--max-connection-per-server": "--connections",
        "--max-concurrent-downloads": "--max-concurrent", "--max-download-limit": "--limit-rate",
        "--content-disposition": "--remote-header-name", "-t": "--retries", "--no-clobber": "--skip-existing",
        "--parallel": "--max-concurrent", "-Z": "--max-concurrent", "--jobs": "--max-concurrent",
        "--speed": "--limit-rate", "--wait": "--per-host", "--write-out": "--json", "--head": "verify --remote",
        "--spider": "verify --remote", "--oauth2-bearer": "-H 'Authorization: Bearer TOKEN', or --auth-command",
        "--noproxy": "the variable no_proxy", "--no-proxy": "the variable no_proxy",
        "-w": "--json for curl's -w, and --per-host 1 for wget's", "--token": "-H 'Authorization: Bearer TOKEN'",
        "-I": "verify --remote, or curl -I for the header",
        "-b": "'&' or systemd-run for the background", "--background": "'&' or systemd-run",
        "--md5": "md5sum on the file; only SHA-256 and SHA-512 are compared",
    ]

    /// Options of other programs for which there is none here, and why.
    static let absent = [
        "-#": "leave it out: progress is shown in a terminal",
        "--progress-bar": "leave it out: progress is shown in a terminal",
        "-N": "leave it out: a file is fetched again only if it has changed",
        "--timestamping": "leave it out: a file is fetched again only if it has changed",
        "-R": "there is none: a file has the time of its download",
        "--remote-time": "there is none: a file has the time of its download",
        "--compressed": "there is none: a file is stored as the server sends it (see --accept-encoding)",
        "-X": "there is none: only GET can be resumed", "--request": "there is none: only GET can be resumed",
    ]

    /// Words for commands in other programs, and the commands here.
    static let commands = [
        "download": "get", "fetch": "get", "continue": "resume", "start": "resume", "status": "jobs", "ps": "jobs",
        "queue": "jobs", "rm": "purge", "delete": "purge", "remove": "purge", "clean": "gc", "cleanup": "gc",
        "du": "stats", "df": "stats", "usage": "stats", "limit": "set", "check": "verify", "import": "adopt",
        "version": "--version", "info": "show",
    ]

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
