import ResumeFiles
import ResumeStore

extension StoreError {
    /// Returns the error with the folder of a file that is named without its folder.
    ///
    /// - Parameters:
    ///   - destination: The place to which a download is delivered; nil if there is none.
    ///   - store: The path of the store.
    /// - Returns: The error with the place added to its message, or as it is.
    func naming(destination: Destination? = nil, store: String) -> StoreError {
        guard let file = (cause as? SystemError)?.path, !file.hasPrefix("/"), message.contains(file) else {
            return self
        }
        var folder = store
        var place = ", in the store at "
        // A delivery writes to a hidden file beside the destination, and then renames that.
        if let destination, file == destination.name || file.hasPrefix(".") && file.hasSuffix(".resumectl") {
            (folder, place) = (destination.folder, ", in the folder ")
        }
        guard !message.contains(folder) else { return self }
        var error = self
        error.message += place + folder
        return error
    }
}
