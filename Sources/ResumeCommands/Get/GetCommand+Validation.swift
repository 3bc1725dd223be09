import ArgumentParser
import HTTPTypes
import ResumeDownload
import ResumeHTTP

extension GetCommand {
    func validate() throws {
        try refuse(urls.isEmpty && files.inputFile == nil, "at least one URL or --input-file is required")
        // An error message about the path would reveal a password in the URL.
        let paths: KeyValuePairs = [
            "--output": files.output, "--directory": files.directory, "--input-file": files.inputFile,
            "--cacert": connection.cacert, "--from": files.from, "--cookie-jar": familiar.cookies.cookieJar,
        ]
        if let option = paths.first(where: { $0.value?.contains("://") == true })?.key {
            let advice = option == "--input-file" ? "; \(sentence("list-of-url"))" : ""
            throw ValidationError("\(option) requires a path, not a URL\(advice)")
        }
        try refuse(checks.checksums?.contains("://") == true && checksumsURL == nil, sentence("checksums-place"))
        try refuse(files.output?.hasSuffix("/") == true, sentence("output-folder"))
        try refuse(files.output?.isEmpty == true, "--output must not be empty")
        try refuse(files.directory?.isEmpty == true, "--directory must not be empty")
        let (sha256, sha512) = (checks.digests.sha256, checks.digests.sha512)
        let digests = [sha256, sha512, checks.checksums, checks.checksum?.hexadecimal].count { $0 != nil }
        try exclude(digests > 1, "--sha256, --sha512, --checksum and --checksums")
        try exclude(
            files.skipExisting && (checks.restart || digests > 0), "--skip-existing", with: "--restart or a checksum")
        try exclude(files.skipExisting && files.from != nil, "--skip-existing", with: "--from")
        try exclude(
            writesToOutput && (files.directory != nil || messages.json || files.skipExisting),
            "--output -", with: "--directory, --json or --skip-existing")
        try exclude(programs.onComplete != nil && writesToOutput, "--on-complete", with: "--output -")
        try refuse((files.hold || files.keep) && !writesToOutput, "--hold and --keep require --output -")
        try refuse(files.output?.hasPrefix("/") == true && files.directory != nil, sentence("output-absolute"))
        try exclude(
            files.overwrite && (files.autoRename || files.skipExisting), "--overwrite",
            with: "--auto-rename or --skip-existing")
        try exclude(files.remoteHeaderName && files.output != nil, "--output and --remote-header-name")
        try exclude(files.from != nil && requests.range != nil, "--from", with: "--range")
        try refuse(
            connection.cert != nil && requests.key.map { $0.hasSuffix(".pem") || $0.hasSuffix(".key") } == true,
            sentence("key-file"))
        let isSingle = urls.count == 1 && files.inputFile == nil
        let ofOne: KeyValuePairs = [
            "--output": files.output, "--from": files.from, "--key": requests.key, "--sha256": sha256,
            "--sha512": sha512, "--head-url": checks.headUrl, "--checksum": checks.checksum?.hexadecimal,
        ]
        if !isSingle, let option = ofOne.first(where: { $0.value != nil })?.key {
            let words = urls.prefix(3).map { url in Redaction.name(url).map { "'\($0)'" } ?? "…" }
            let several = "\(urls.count) were given: \(words.joined(separator: ", "))"
            let given = files.inputFile != nil ? "a list was given" : several
            throw ValidationError(sentence("one-url", option, given))
        }
        if let headUrl = checks.headUrl {
            try require(checks.condition == .head, "--head-url requires --condition head")
            try Redaction.requireURL(headUrl, of: "--head-url")
        }
        if let key = requests.key {
            try refuse(key.isEmpty, "--key must not be empty")
            try refuse((try? DownloadURL(key)) == nil && DownloadURL.holdsSecret(key), sentence("key-secret"))
            try refuse(ConnectionTrust.isMarked(key), sentence("key-marked"))
        }
        try require(
            requests.acceptEncoding.map { !$0.isEmpty && HTTPField.isValidValue($0) } ?? true,
            "--accept-encoding requires content codings such as gzip")
        try require(requests.mostRedirects, in: 0...1000, "--max-redirs")
        try require(pace.connections, in: 1...DownloadRequest.mostConnections, "--connections")
        try require(TimeSpan.isLimit(pace.connectTimeout), sentence("limit-connect"))
        try require(TimeSpan.isLimit(pace.maxTime, days: 365), sentence("limit-time"))
        try refuse(load.perHost ?? .max < pace.connections, sentence("limit-host"))
    }
}
