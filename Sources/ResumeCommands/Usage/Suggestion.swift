/// Finds the name that was probably meant.
enum Suggestion {
    /// What to do instead of using options of other programs.
    static let options: WordTable = """
        --retry --tries -t: use --retries
        -r: use --range
        --max-filesize: use --max-size
        --dir -d --output-dir: use --directory
        --out --output-document: use --output
        --no-check-certificate: use --insecure
        -m: use --max-time
        -T --timeout: use --stall-timeout
        --bind-address: use --interface
        --inet4-only: use --ipv4
        --inet6-only: use --ipv6
        --ca-certificate: use --cacert
        --split --num-connections --max-connection-per-server: use --connections
        --max-concurrent-downloads --parallel -Z --jobs: use --max-concurrent
        --max-download-limit --speed: use --limit-rate
        --content-disposition: use --remote-header-name
        --no-clobber: use --skip-existing
        --wait: use --per-host
        --write-out: use --json
        --head --spider: use verify --remote
        --oauth2-bearer: use -H 'Authorization: Bearer TOKEN', or --auth-command
        --noproxy --no-proxy: use the variable no_proxy
        -w: use --json for curl's -w, and --per-host 1 for wget's
        --token: use -H 'Authorization: Bearer TOKEN'
        -I: use verify --remote, or curl -I for the header
        -b: use '&' or systemd-run for the background
        --background: use '&' or systemd-run
        --md5: use md5sum on the file; only SHA-256 and SHA-512 are compared
        -# --progress-bar: leave it out: progress is shown in a terminal
        -N --timestamping: leave it out: a file is fetched again only if it has changed
        -R --remote-time: there is none: a file has the time of its download
        --compressed: there is none: a file is stored as the server sends it (see --accept-encoding)
        -X --request: there is none: only GET can be resumed
        """

    /// The commands here for words of other programs.
    static let commands: WordTable = """
        download fetch: get
        continue start: resume
        status ps queue: jobs
        rm delete remove: purge
        clean cleanup: gc
        du df usage: stats
        limit: set
        check: verify
        import: adopt
        version: --version
        info: show
        """

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
        let first = Array(first)
        let second = Array(second)
        var rows = [Array(0...second.count)]
        for (row, left) in first.enumerated() {
            var next = [row + 1]
            for (column, right) in second.enumerated() {
                var least = min(next[column], rows[row][column + 1]) + 1
                least = min(least, rows[row][column] + (left == right ? 0 : 1))
                if row > 0, column > 0, left == second[column - 1], first[row - 1] == right {
                    least = min(least, rows[row - 1][column - 1] + 1)
                }
                next.append(least)
            }
            rows.append(next)
        }
        return rows[first.count][second.count]
    }
}
