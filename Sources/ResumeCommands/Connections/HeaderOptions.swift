internal import ArgumentParser
internal import HTTPTypes
internal import ResumeHTTP

/// The header fields of the user.
struct HeaderOptions: ParsableArguments {
    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")],
        help: ArgumentHelp("Header field, sent to the URL's origin only.", valueName: "field"))
    var headers: [String] = []

    func validate() throws {
        for header in headers {
            guard let name = HeaderLine.field(header)?.name else {
                throw ValidationError("--header must have the form 'Name: value', without control characters")
            }
            guard !Plan.ownedFieldNames.contains(name) else {
                let instead =
                    name == .acceptEncoding ? "; use get --accept-encoding" : name == .range ? "; use get --range" : ""
                throw ValidationError("--header cannot set \(name), which resumectl sets\(instead)")
            }
        }
    }

    /// The fields in their order.
    var fields: [HTTPField] { headers.compactMap(HeaderLine.field) }

    /// Whether one of them has the credentials.
    var setsAuthorization: Bool { fields.contains { $0.name == .authorization } }
}
