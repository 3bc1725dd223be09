import ResumeFiles
import ResumeStore

extension StoreError {
    /// Returns the error with the folder of the store, if a file in it is named without its folder.
    func naming(store path: String) -> StoreError {
        guard let file = fileWithoutFolder, !message.contains(path) else { return self }
        return adding(", in the store at \(path)", after: file)
    }

    /// Returns the error with the folder of a file that is named without its folder.
    ///
    /// - Parameters:
    ///   - destination: The path to which a download is delivered.
    ///   - store: The path of the store.
    /// - Returns: The error with the place added to its message, or as it is.
    func naming(destination: String, store: String) -> StoreError {
        guard let file = fileWithoutFolder, let place = try? Destination(destination) else { return self }
        // A delivery writes to a hidden file beside the destination, and then renames that.
        guard file == place.name || file.hasPrefix(".") && file.hasSuffix(".resumectl") else {
            return naming(store: store)
        }
        return message.contains(place.folder) ? self : adding(", in the folder \(place.folder)", after: file)
    }

    /// The name that a failed call of the system was given, unless it is an absolute path.
    private var fileWithoutFolder: String? {
        guard let path = (cause as? SystemError)?.path, !path.hasPrefix("/") else { return nil }
        return path
    }

    private func adding(_ place: String, after file: String) -> StoreError {
        guard message.contains(file) else { return self }
        var error = self
        error.message += place
        return error
    }
}
