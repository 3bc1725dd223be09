internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import HTTPTypes

extension HTTPResponse {
    /// Converts a response of URLSession.
    init(_ response: HTTPURLResponse) {
        let isCode = (100...999).contains(response.statusCode)
        self.init(status: .init(code: isCode ? response.statusCode : 999))
        for (name, value) in response.allHeaderFields {
            if let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String {
                headerFields.append(HTTPField(name: name, value: value))
            }
        }
    }
}
