internal import ArgumentParser
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP

extension GetCommand {
    func validate() throws {
        if urls.isEmpty && files.inputFile == nil {
            throw ValidationError("at least one URL or --input-file is required")
        }
        // An error message about the path would reveal a password in the URL.
        let paths = [
            "--output": files.output, "--directory": files.directory, "--input-file": files.inputFile,
            "--cacert": connection.cacert, "--from": files.from,
        ]
        if let option = paths.first(where: { $0.value?.contains("://") == true })?.key {
            throw ValidationError("\(option) requires a path, not a URL")
        }
        if checks.checksums?.contains("://") == true, checksumsURL == nil {
            throw ValidationError("--checksums requires a path, or a URL with http or https")
        }
        if let output = files.output, output.hasSuffix("/") {
            throw ValidationError("--output requires a file; use --directory (-P) to choose a folder")
        }
        if files.output?.isEmpty == true { throw ValidationError("--output must not be empty") }
        if files.directory?.isEmpty == true { throw ValidationError("--directory must not be empty") }
        let digests = [checks.sha256, checks.sha512, checks.checksums, checks.checksum.map(\.hexadecimal)].count {
            $0 != nil
        }
        if digests > 1 {
            throw ValidationError("--sha256, --sha512, --checksum and --checksums cannot be combined")
        }
        if files.skipExisting, checks.restart || digests > 0 {
            throw ValidationError("--skip-existing cannot be combined with --restart or a checksum")
        }
        if files.skipExisting, files.from != nil {
            throw ValidationError("--skip-existing cannot be combined with --from")
        }
        if writesToOutput, files.directory != nil || messages.json || files.skipExisting {
            throw ValidationError("--output - cannot be combined with --directory, --json or --skip-existing")
        }
        if programs.onComplete != nil, writesToOutput {
            throw ValidationError("--on-complete cannot be combined with --output -")
        }
        if files.hold || files.keep, !writesToOutput {
            throw ValidationError("--hold and --keep require --output -")
        }
        if let output = files.output, output.hasPrefix("/"), files.directory != nil {
            throw ValidationError("--output must be a relative path if --directory is given")
        }
        if files.overwrite, files.autoRename || files.skipExisting {
            throw ValidationError("--overwrite cannot be combined with --auto-rename or --skip-existing")
        }
        if files.autoRename, files.remoteHeaderName {
            throw ValidationError("--auto-rename and --remote-header-name cannot be combined")
        }
        if files.remoteHeaderName, files.output != nil {
            throw ValidationError("--output and --remote-header-name cannot be combined")
        }
        if files.from != nil, requests.range != nil {
            throw ValidationError("--from cannot be combined with --range")
        }
        let isSingle = urls.count == 1 && files.inputFile == nil
        let ofOne: [(String, String?)] = [
            ("--output", files.output), ("--from", files.from), ("--key", requests.key), ("--sha256", checks.sha256),
            ("--sha512", checks.sha512), ("--head-url", checks.headUrl), ("--checksum", checks.checksum?.hexadecimal),
        ]
        if !isSingle, let option = ofOne.first(where: { $0.1 != nil })?.0 {
            let words = urls.prefix(3).map { url in Redaction.name(url).map { "'\($0)'" } ?? "…" }
            let several = "\(urls.count) were given: \(words.joined(separator: ", "))"
            let given = files.inputFile != nil ? "a list was given" : several
            throw ValidationError(
                "\(option) requires exactly one URL, but \(given). Names and URLs with spaces must be in quotes.")
        }
        if let headUrl = checks.headUrl {
            guard checks.condition == .head else { throw ValidationError("--head-url requires --condition head") }
            do {
                _ = try TypedURL.parse(headUrl)
            } catch {
                throw ValidationError("--head-url: \(Redaction.problem(error, with: headUrl))")
            }
        }
        if requests.key?.isEmpty == true { throw ValidationError("--key must not be empty") }
        if let key = requests.key, (try? DownloadURL(key)) == nil, DownloadURL.holdsSecret(key) {
            throw ValidationError("--key must not contain a password or token; use a name or a complete URL")
        }
        if let key = requests.key, ConnectionTrust.isMarked(key) {
            throw ValidationError("--key must not contain '#connection:', which resumectl adds to keys itself")
        }
        if let sha256 = checks.sha256, digest == nil {
            let hint = sha256.utf8.count == 32 ? "; this may be an MD5, which is not supported (use md5sum)" : ""
            throw ValidationError("--sha256 requires 64 hexadecimal digits\(hint)")
        }
        if checks.sha512 != nil, digest == nil { throw ValidationError("--sha512 requires 128 hexadecimal digits") }
        if let acceptEncoding = requests.acceptEncoding,
            acceptEncoding.isEmpty || !HTTPField.isValidValue(acceptEncoding)
        {
            throw ValidationError("--accept-encoding requires content codings such as gzip")
        }
        guard (1...DownloadRequest.mostConnections).contains(pace.connections) else {
            throw ValidationError("--connections must be between 1 and \(DownloadRequest.mostConnections)")
        }
        guard (0...1000).contains(pace.retries) else { throw ValidationError("--retries must be between 0 and 1000") }
        let (least, day) = (Duration.milliseconds(100), Duration.seconds(86_400))
        guard [pace.stallTimeout, pace.connectTimeout].allSatisfy({ (least...day).contains(PaceOptions.limit($0)) })
        else {
            throw ValidationError("--stall-timeout and --connect-timeout must be between 0.1 and 86400 seconds")
        }
        guard (least...(day * 365)).contains(PaceOptions.limit(pace.maxTime)) else {
            throw ValidationError("--max-time must be between 0.1 seconds and 365 days")
        }
        if let perHost = load.perHost, perHost < pace.connections {
            throw ValidationError("--per-host must not be less than --connections")
        }
    }
}
