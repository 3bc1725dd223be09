import ResumeFiles
import ResumeHTTP

/// A kernel lock that indicates that a store is open.
///
/// All instances that have the store open share it; replacing the database requires it exclusively.
package struct Presence: Sendable {
    private let locks: ByteLocks

    /// The locked byte; no entry has this number.
    private static let byte: Int64 = 0

    /// Indicates that the store is open, until ``end()`` or until this value is released.
    ///
    /// - Parameters:
    ///   - folder: The store.
    ///   - isAlone: Whether to prevent all others from opening it.
    /// - Throws: ``StoreError`` with `busy` while the store is being rebuilt, or `inUse` if another has it open and must
    ///   not; ``SystemError``.
    package init(in folder: StoreFolder, isAlone: Bool = false) throws {
        try folder.requireOwn(StoreFolder.LockFile.waiters.rawValue)
        locks = try folder.locks(.waiters)
        guard try !locks.tryLock(Self.byte, exclusively: isAlone) else { return }
        throw isAlone
            ? StoreError(.inUse, Reason("store-open", with: folder.path))
            : StoreError(.busy, Reason("store-rebuilding", with: folder.path))
    }

    func end() { locks.unlock(Self.byte) }
}
