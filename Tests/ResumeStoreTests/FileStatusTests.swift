import Foundation
import ResumeFiles
import TestSupport
import Testing

/// What a file system says about a file, however strange.
struct FileStatusTests {
    @Test("Times and sizes beyond all numbers are the nearest ones", arguments: [Int.min, -1, Int.max])
    func extremes(seconds: Int) {
        var status = stat()
        #if canImport(Darwin)
        status.st_mtimespec.tv_sec = seconds
        #else
        status.st_mtim.tv_sec = seconds
        #endif
        status.st_blocks = .max
        status.st_nlink = .max
        let read = FileStatus(status)
        #expect(read.modified == (seconds == -1 ? -1_000_000_000 : seconds < 0 ? .min : .max))
        #expect(read.bytesOnDisk == .max)
    }
}
