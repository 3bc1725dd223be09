import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// The lines about the events of downloads.
extension GetReporter {
    /// The name of a download in messages.
    func name(of request: DownloadRequest) -> String {
        showsURLs ? Redaction.url(request.url) : request.destination
    }

    /// Returns the line about an event; nil if there is none.
    ///
    /// Retries for the same reason are counted in the last line, so that a bad connection does not fill a log.
    func line(
        for event: DownloadEvent, of request: DownloadRequest, replacing replaced: Replaced?,
        after retries: ProgressState.Retries
    ) -> String? {
        let name = name(of: request)
        switch event {
        case .waiting:
            return "\(name): \(Reason.sameResource.text)"
        case .started(let total):
            return isVerbose ? "\(name): started, \(total.map(ByteCount.text) ?? "length unknown")" : nil
        case .resumed(let offset, let total):
            guard isVerbose || retries.count == 0 else { return nil }
            let length = total == nil ? ", length unknown" : ""
            return "\(name): resumed at \(ByteCount.text(offset, of: total))\(length)"
        case .damaged(let reason), .resumeDataOutdated(let reason):
            return "\(name): \(reason.text)"
        case .restarted(let reason, _):
            return "\(name): restarted: \(reason.text)"
        case .retrying(let reason, let delay):
            guard isVerbose || !retries.isSameReason || delay >= .seconds(60) else { return nil }
            let tenths = Int64(delay / .milliseconds(100))
            // The reason says what it waits for.
            if reason.code == .noFurtherConnection { return "\(name): \(reason.clause)" }
            let clock = delay >= .seconds(60) ? ", at \(WallClock.text(afterSeconds: tenths / 10))" : ""
            let wait = tenths > 0 ? "retrying in \(tenths / 10).\(tenths % 10) s\(clock)" : "retrying at once"
            return "\(name): \(reason.clause); \(wait)"
        case .progress:
            return nil
        case .finished(let result):
            let reused = result.reusedBytes > 0 ? ", \(ByteCount.text(result.reusedBytes)) of it reused" : ""
            let unverified = result.isLengthVerified ? "" : sentence("no-length")
            let unproved = Self.doubt(result).map { " \($0.text)" } ?? ""
            let name = request.usesServerFilename ? result.path : name
            let digest =
                request.digest == nil ? nil : result.digest.map { ", \($0.algorithm.rawValue.uppercased()) verified" }
            let facts = reused + (digest ?? "") + (replaced?.text ?? "") + retries.text
            return "\(name): done, \(ByteCount.text(result.totalBytes))\(facts)\(unverified)\(unproved)"
        }
    }

    /// Says why a file that was fetched is not proved; nil if it is.
    static func doubt(_ result: DownloadResult) -> Reason? {
        if result.isProved { return nil }
        if result.digest?.isProof == false { return Reason("weak-digest") }
        return result.agreedSamples.map { Reason("only-sampled", with: $0) } ?? Reason("unproved")
    }

    /// Says that a file is a page, such as one that asks to log in, if its URL names an archive or the like.
    static func doubtfulType(of result: DownloadResult, for request: DownloadRequest) -> String? {
        let type = result.contentType?.prefix { $0 != ";" }.filter { $0 != " " }.lowercased() ?? ""
        guard ["text/html", "application/xhtml+xml"].contains(type), AnswerContext(url: request.url).isNameOfFile,
            let name = request.url.lastPathComponent
        else { return nil }
        return sentence("note-page", name, type)
    }

    /// Says how to continue a file at the destination, if a download that starts may be the rest of it.
    ///
    /// curl and wget write the beginning of a file under its name, so that only its length shows that it is not whole.
    func mention(_ replaced: Replaced?, at event: DownloadEvent, of request: DownloadRequest) -> String? {
        guard case .started(let total?) = event, case .other(let size, true)? = replaced, size > 0, size < total else {
            return nil
        }
        let word = ShellWord.quoted(request.destination)
        let command = Hint.run("get", "--restart --from \(word) -o \(word)")
        return sentence("replaces-file", request.destination, ByteCount.text(size), command)
    }

    /// What a download replaces at its destination.
    enum Replaced {
        /// What this program delivered there, unchanged.
        case version
        /// The same, which no longer has the digest that it was delivered with.
        case damaged
        /// Another file; foreign if this program never delivered one there.
        case other(bytes: Int64, isForeign: Bool)
        /// A symbolic link; the file that it leads to stays.
        case link

        fileprivate var text: String {
            switch self {
            case .version: sentence("new-version")
            case .damaged: sentence("replaced-damaged")
            case .other: sentence("replaced-other")
            case .link: sentence("replaced-link")
            }
        }
    }
}

extension DownloadResult.Kept {
    /// The reason, as in JSON and in words.
    var reason: (code: String, text: String) {
        switch self {
        case .exists: ("exists", "already exists, skipped")
        case .done: ("done", "done before, skipped")
        case .unchanged: ("unchanged", "unchanged on the server")
        case .right(0): ("right", "already right, digest verified")
        case .right(let time): ("right", "unchanged, checked on \(Rendering.time(time).prefix(10))")
        case .same: ("right", "already right, the server has the same bytes")
        }
    }
}

extension GetReporter {
    /// Says that a large file is read to compare its digest.
    func checks(_ path: String, bytes: Int64) {
        guard bytes >= NameDecision.comparedWhole else { return }
        note("\(path): comparing the digest of \(ByteCount.text(bytes))")
    }
}
