internal import Foundation
internal import Glibc
internal import TestSupport

/// The kinds of file system that a sweep runs on.
package enum FileSystemKind: String, Sendable, CaseIterable {
    /// A folder on the machine's own disk, where only processes die.
    case plain
    /// An image with ext4, mounted through a loop device, which can lose power.
    case ext4
    /// An image with XFS.
    case xfs

    /// The smallest possible image.
    fileprivate var imageSize: Int { self == .xfs ? 320 << 20 : 96 << 20 }
}

/// A file system in an image file that can lose power: unsynced data is then lost.
///
/// The image is in memory if the machine has a memory file system.
final class LoopDisk: Sendable {
    let mountPoint: String
    private let kind: FileSystemKind
    private let image: String
    private let device: String
    private let descriptor: Int32

    /// Whether the required tools and permissions are available.
    static func isAvailable(_ kind: FileSystemKind) -> Bool {
        Shell.isRoot && Shell.has("mount") && Shell.has("mkfs.\(kind.rawValue)")
    }

    init(_ kind: FileSystemKind, name: String, in folder: String) async throws {
        self.kind = kind
        image = "\(folder)/\(name).image"
        mountPoint = "\(folder)/\(name)"
        try FileManager.default.createDirectory(atPath: mountPoint, withIntermediateDirectories: true)
        guard FileManager.default.createFile(atPath: image, contents: nil), truncate(image, kind.imageSize) == 0 else {
            throw SweepFailure("\(image) cannot be made")
        }
        do {
            (device, descriptor) = try await Self.mounted(kind, image, at: mountPoint)
        } catch {
            Self.remove(image, at: mountPoint)
            throw error
        }
    }

    /// Creates a file system in an image and mounts it.
    ///
    /// - Returns: Its device, and a descriptor that keeps the device while it is not mounted.
    private static func mounted(
        _ kind: FileSystemKind, _ image: String, at mountPoint: String
    ) async throws -> (device: String, descriptor: Int32) {
        let quiet = kind == .ext4 ? ["-q", "-F", "-m", "0"] : ["-q", "-f"]
        let made = try await Shell.outcome("mkfs.\(kind.rawValue)", quiet + [image])
        guard made.status == 0 else { throw SweepFailure("mkfs: \(made.errors)") }
        // The system releases a device created this way with its last user, however that user ends.
        try await Shell.run("mount", "-t", kind.rawValue, "-o", "loop", image, mountPoint)
        let device = try await Shell.run("findmnt", "--noheadings", "--output", "SOURCE", "--mountpoint", mountPoint)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let descriptor = open(device, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw SweepFailure("\(device) cannot be opened") }
        return (device, descriptor)
    }

    private func mount() throws {
        guard Glibc.mount(device, mountPoint, kind.rawValue, 0, nil) == 0 else {
            throw SweepFailure("\(mountPoint) cannot be mounted: error \(errno)")
        }
    }

    private func unmount() throws {
        for _ in 0..<12_000 {
            if umount2(mountPoint, 0) == 0 { return }
            guard errno == EBUSY else { break }
            // A killed process may still be exiting.
            usleep(5000)
        }
        throw SweepFailure("\(mountPoint) cannot be unmounted: error \(errno)")
    }

    /// Syncs everything to disk.
    func sync() throws {
        let folder = open(mountPoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(folder) }
        guard folder >= 0, syncFileSystem(folder) == 0 else { throw SweepFailure("\(mountPoint) cannot be synced") }
    }

    /// Cuts the power, and mounts the file system again.
    func cut() throws {
        let folder = open(mountPoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // XFS_IOC_GOINGDOWN, which is the same as EXT4_IOC_SHUTDOWN, without a flush of the journal.
        var flag: UInt32 = 2
        let result = ioctl(folder, 0x8004_587D, &flag)
        close(folder)
        guard result == 0 else { throw SweepFailure("\(mountPoint) cannot be shut down: error \(errno)") }
        try unmount()
        try mount()
    }

    /// Unmounts the file system and releases the device.
    func remove() {
        close(descriptor)
        Self.remove(image, at: mountPoint)
    }

    private static func remove(_ image: String, at mountPoint: String) {
        // Detached, because a killed process may still use it.
        umount2(mountPoint, Int32(MNT_DETACH))
        unlink(image)
        rmdir(mountPoint)
    }
}

@_silgen_name("syncfs") private func syncFileSystem(_ descriptor: Int32) -> Int32

/// A sweep that cannot run, as opposed to a finding.
package struct SweepFailure: Error, CustomStringConvertible {
    /// The reason.
    package var description: String

    init(_ description: String) { self.description = description }
}
