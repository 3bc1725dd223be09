package import HTTPTypes

extension HTTPResponse {
    /// Makes the head of another client's response; fields that HTTP does not permit are left out.
    package init(code: Int, phrase: String = "", fields: some Sequence<(String, String)>) {
        self.init(status: .init(code: (100...999).contains(code) ? code : 999, reasonPhrase: phrase))
        for (name, value) in fields {
            if let name = HTTPField.Name(name) { headerFields.append(HTTPField(name: name, value: value)) }
        }
    }
}
