import Foundation
import ResumeFiles
import Synchronization
import TestSupport
import Testing

/// Folders that others may write to.
@Suite(.timeLimit(.minutes(5)))
struct SharedFolderTests {
    @Temporary private var folder

    @Test("What others put in the place of a new folder does not get its permissions")
    func exchanged() throws {
        let (path, aside, victim) = (folder["made"], folder["aside"], folder["victim"])
        mkdir(victim, 0o700)
        let isDone = Atomic(false)
        let links = Atomic(0)
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            while !isDone.load(ordering: .relaxed) {
                if rename(path, aside) == 0, symlink(victim, path) == 0 { links.add(1, ordering: .relaxed) }
            }
        }
        for _ in 0..<2000 {
            _ = try? Folder.create(path, isShared: true)
            unlink(path)
            rmdir(path)
            rmdir(aside)
            unlink(aside)
        }
        isDone.store(true, ordering: .relaxed)
        group.wait()
        #expect(links.load(ordering: .relaxed) > 0)
        #expect(try Files.mode(victim) == 0o700)
    }
}
