import ResumeFiles
package import ResumeHTTP

/// A file as it was delivered, by which a later run recognizes it.
package struct DeliveredFile: Sendable, Hashable {
    /// When it was delivered, in milliseconds since 1970.
    package var deliveredAt = WallClock.milliseconds
    /// The file as it was then.
    package var stamp: FileStamp
    /// The bytes of its entity tag, which may be weak; nil if the server sent none.
    package var entityTag: [UInt8]?
    /// The field Last-Modified; nil if the server sent none.
    package var lastModified: String?
    /// The hash of the request that brought it; nil if it is unknown.
    var requester: [UInt8]?
    /// The digest that it was found to have; nil if none was compared.
    package var digest: HTTPDigest?
    /// When it was compared, in milliseconds since 1970.
    package var checkedAt: Int64 = 0
    /// What its last response came from; nil if it is unknown.
    var resource: Provenance?
    /// Its path if the server has named it; nil for the destination of its job.
    package var path: String?

    /// The digest that was proved, and of which file.
    package var proof: InPlaceDigest.Proof? { digest.map { ($0, stamp, checkedAt) } }
}

extension DeliveredFile {
    /// A file that this program has not delivered, but that counts as its own from now on.
    package init(found stamp: FileStamp) { self.init(deliveredAt: 0, stamp: stamp) }

    /// A file of the user that a download of the URL in its record may replace.
    init(replaceable stamp: FileStamp) { self.init(deliveredAt: -1, stamp: stamp) }

    /// A file that a download is writing over, so that only its inode stays the same.
    init(beingWritten stamp: FileStamp) { self.init(deliveredAt: -2, stamp: stamp) }

    /// Whether only that download may replace it.
    var isReplaceable: Bool { deliveredAt < 0 }

    /// Returns the same with the present stamp of a file that is being written; nil if it is not the file at a place.
    func found(_ now: FileStamp, at place: Destination) -> DeliveredFile? {
        guard deliveredAt == -2 else {
            return now.isUnmodified(since: place.comparable(stamp, with: now)) ? self : nil
        }
        return stamp.inode == now.inode ? DeliveredFile(beingWritten: now) : nil
    }

    /// Whether it is still there as it was delivered.
    package func isInPlace(at path: String) -> Bool {
        guard let place = try? Destination(self.path ?? path), case .file(let now) = place.found else {
            return false
        }
        return now.isUnmodified(since: place.comparable(stamp, with: now))
    }
}

extension FileStatus {
    /// What tells whether the file has changed.
    var stamp: FileStamp {
        FileStamp(size: size, modified: modified, changed: changed, inode: identity.inode)
    }
}

/// The file of a job as a text.
extension DeliveredFile {
    /// The words, of which the last one may contain spaces.
    ///
    /// Bytes are hexadecimal digits, and nil is `-`. The third word has slashes between its numbers.
    var stored: String {
        var text: [UInt8] = []
        text.reserveCapacity(512)
        func add(_ number: Int64, _ end: Character) {
            text.append(contentsOf: String(number).utf8)
            text.append(contentsOf: end.utf8)
        }
        add(deliveredAt, " ")
        add(stamp.size, " ")
        add(stamp.modified, "/")
        add(stamp.changed ?? -1, "/")
        add(stamp.inode.map { Int64(bitPattern: $0) } ?? -1, "/")
        add(checkedAt, " ")
        for bytes in [
            requester, entityTag, digest?.bytes, path.map { Array($0.utf8) }, resource.map { Array($0.stored.utf8) },
        ] {
            text.append(UInt8(ascii: bytes == nil ? "-" : "x"))
            if let bytes { text += Hexadecimal.digits(bytes) }
            text.append(.space)
        }
        text.append(contentsOf: (lastModified ?? "-").utf8)
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses a stored text; nil if it was damaged or manipulated.
    init?(stored: String) {
        // Earlier releases recorded the time in milliseconds, and neither digest nor path nor resource.
        // Bytes, since characters would take longer than the query.
        let text = Array(stored.utf8)
        let hasNumbers = text.split(separator: .space, maxSplits: 3).dropFirst(2).first?.contains(.slash) == true
        // Earlier releases also recorded an empty last word.
        let words = text.split(separator: .space, maxSplits: hasNumbers ? 8 : 5, omittingEmptySubsequences: false)
        let number: (ArraySlice<UInt8>) -> Int64? = { Int64(String(decoding: $0, as: UTF8.self)) }
        guard words.count == (hasNumbers ? 9 : 6), let time = number(words[0]), let size = number(words[1]) else {
            return nil
        }
        let last = String(decoding: words[words.count - 1], as: UTF8.self)
        let numbers = words[2].split(separator: .slash).map { number($0) ?? -1 }
        guard let first = numbers.first, numbers.count == (hasNumbers ? 4 : 1) else { return nil }
        let bytes: (ArraySlice<UInt8>) -> [UInt8]? = { word in
            word.first == UInt8(ascii: "x") ? Hexadecimal.bytes(word.dropFirst()) : nil
        }
        stamp = FileStamp(size: size, modified: hasNumbers ? first : first.multipliedReportingOverflow(by: 1_000_000).0)
        deliveredAt = time
        requester = bytes(words[3])
        entityTag = bytes(words[4])
        lastModified = ["-", ""].contains(last) ? nil : last
        guard hasNumbers else { return }
        stamp.changed = numbers[1] == -1 ? nil : numbers[1]
        stamp.inode = numbers[2] == -1 ? nil : UInt64(bitPattern: numbers[2])
        checkedAt = numbers[3]
        digest = bytes(words[5]).flatMap { bytes in
            HTTPDigest.Algorithm.allCases.lazy.compactMap { HTTPDigest($0, bytes: bytes) }.first
        }
        path = bytes(words[6]).map { String(decoding: $0, as: UTF8.self) }
        resource = bytes(words[7]).flatMap { Provenance(stored: String(decoding: $0, as: UTF8.self)) }
    }

    /// A delivered file and its text, which is made once for all rows that have it.
    struct Text {
        let file: DeliveredFile
        let text: String

        init(_ file: DeliveredFile) {
            self.file = file
            text = file.stored
        }

        /// Returns the same, without its digest if more has changed since an earlier status than the time of the status:
        /// somebody has written to the file, or its file system has times of its own.
        func since(_ earlier: Text?) -> Text {
            guard let earlier, earlier.renewed(with: self).file.stamp != file.stamp else { return self }
            var file = file
            file.digest = nil
            return Text(file)
        }

        /// Returns the same with a later status, or this one if more has changed than the time of the status.
        func renewed(with later: Text?) -> Text {
            var stamp = file.stamp
            stamp.changed = later?.file.stamp.changed
            return later.flatMap { $0.file.stamp == stamp ? $0 : nil } ?? self
        }
    }
}
