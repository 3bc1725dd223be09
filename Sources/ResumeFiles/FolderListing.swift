/// The names in a folder, read in parts: a folder may have a million.
@safe
package final class FolderListing {
    private let stream: OpaquePointer

    /// Begins to read a folder; another listing of the same open folder must not be read at the same time.
    package init(of folder: Folder) throws(SystemError) {
        // Opened again, since `closedir` closes its descriptor, and a duplicate would share its position.
        let copy = try SystemError.check("open", folder.file.path) {
            unsafe openat(folder.file.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard let stream = unsafe fdopendir(copy) else {
            let number = errno
            close(copy)
            throw SystemError(number: number, call: "opendir", path: folder.file.path)
        }
        unsafe self.stream = stream
    }

    deinit { unsafe closedir(stream) }

    /// Returns at most `count` of the next names, without `.` and `..`; none at the end.
    package func next(_ count: Int) -> [String] {
        var names: [String] = []
        while names.count < count, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}
