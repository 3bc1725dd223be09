import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// Takes over bytes that another program has received.
extension Transfer {
    /// Copies the bytes of a partial file into the store, as the beginning of this download.
    ///
    /// The file itself is only read. The bytes are synced before a row names them; if the process dies, the store has
    /// all of them or none. Unless the caller's digest of the whole file proves them, they are compared with the server's
    /// file before they are used. A digest in the file's name proves nothing, since its writer has named it;
    /// but if the complete file does not have it, the file has changed.
    ///
    /// - Parameters:
    ///   - foreign: The partial file.
    ///   - digest: The digest that the whole file must have; nil if the caller knows none.
    /// - Returns: Whether the file is complete and has the caller's digest.
    /// - Throws: ``StoreError``: `holdsMore` if the store has bytes of this download, `misuse` for a download of ranges
    ///   or in memory, `noEntry` if nothing can be adopted, `noSpace`, `superseded`, `io`, `database`.
    package func adopt(_ foreign: ForeignPartial, digest: HTTPDigest? = nil) async throws -> Bool {
        try requireOpen()
        guard entry.selection == nil else {
            throw StoreError(.misuse, "a download of ranges cannot begin with the file of another program")
        }
        guard receivedBytes == 0, !hasAllBytes else {
            throw StoreError(
                .holdsMore, "the store already has \(receivedBytes) bytes of \(StoreError.shown(key))",
                remedy: .continueOrRemove)
        }
        let (source, isWhole) = try await Blocking.run {
            let source = try StoreError.wrapping { try foreign.reopened() }
            let found = try digest.flatMap { try HeldBytes(blob: source).digest($0.algorithm, of: 0..<foreign.size) }
            return (source, digest != nil && found == digest)
        }
        let ranges = isWhole ? [0..<foreign.size] : foreign.ranges
        guard isWhole || !ranges.isEmpty else {
            throw StoreError(
                .noEntry, "\(Printable.escaped(foreign.path)) has no bytes that can be adopted",
                advice: "Its last 64 KiB are never adopted, since the other program may not have synced them.")
        }
        var representation = Representation(completeLength: isWhole ? foreign.size : foreign.totalBytes)
        representation.reprDigest = (digest ?? foreign.digest)?.fieldValue
        try claim()
        let held = isWhole ? foreign.size : foreign.heldBytes
        try await store.makeRoom(forCopy: held)
        try await rewrite(
            with: representation, because: .adopted(held, from: foreign), replacing: 0, bytes: held, holding: ranges,
            agreedSamples: isWhole ? nil : 0, mayGrow: false
        ) { file in
            for range in ranges { try source.copy(range, to: file) }
            try file.synchronizeData()
        }
        exchange.bodies.isSpliced = nil
        earlier.count = receivedBytes
        exchange.access = .granted
        writer.grant()
        try await noteDestination()
        return isWhole
    }
}

extension ForeignPartial {
    /// Opens the file again.
    ///
    /// - Throws: ``StoreError`` if it was replaced or is shorter than when it was examined.
    fileprivate func reopened() throws -> OpenFile {
        let file = try OpenFile(path, flags: O_RDONLY)
        let status = try file.status()
        guard status.kind == .regular, status.identity == identity, status.size >= size else {
            throw StoreError(
                .misuse, "\(Printable.escaped(path)) was changed in the meantime",
                advice: "End the program that downloads it, and try again.")
        }
        return file
    }
}

extension Reason {
    static func adopted(_ count: Int64, from foreign: ForeignPartial) -> Reason {
        Reason("adopted", with: count, foreign.program.rawValue, Printable.escaped(foreign.path))
    }
}
