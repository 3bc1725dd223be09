extension DownloadURL {
    /// The URL as it may be stored and shown: without user info, fragment and whatever signs or authorises it.
    ///
    /// It is also the default key of a download, so that a signed URL that is made anew names the same one. A
    /// parameter that is taken for a signature by mistake costs a restart, never a wrong byte: the validator
    /// decides whether bytes are used.
    public var redacted: String {
        let parts = requestTarget.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return absoluteString }
        let parameters = parts[1].split(separator: "&", omittingEmptySubsequences: false)
        let names = Set(parameters.map(Self.parameterName))
        let kept = parameters.filter { !Self.isSecret(Self.parameterName($0), among: names) }
        return origin + parts[0] + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
    }

    private static func parameterName(_ parameter: Substring) -> String {
        let name = String(parameter.prefix { $0 != "=" })
        return (DownloadURL.percentDecoded(name) ?? name).lowercased()
    }

    /// Parameters that are secret wherever they stand.
    private static let secrets: Set<String> = [
        "signature", "sig", "token", "access_token", "auth_token", "auth", "api_key", "apikey", "key-pair-id",
        "password", "passwd", "secret", "client_secret", "awsaccesskeyid", "ossaccesskeyid", "googleaccessid",
        "security-token", "jwt", "session", "sessionid", "private_token", "authorization", "api-key", "x-api-key",
        "access_key", "job_token", "pwd", "hmac", "hdnts", "id_token", "refresh_token",
        "x-oss-signature", "x-oss-signature-version", "x-oss-credential", "x-oss-date", "x-oss-expires",
        "x-oss-security-token", "x-oss-additional-headers",
    ]

    /// Parameters that belong to a signature only where its main one is there too.
    private static let companions: [(main: String, others: Set<String>)] = [
        ("awsaccesskeyid", ["expires"]),
        ("ossaccesskeyid", ["expires"]),
        ("googleaccessid", ["expires"]),
        ("key-pair-id", ["expires", "policy"]),
        (
            "sig",
            [
                "sv", "ss", "srt", "sp", "st", "se", "spr", "sip", "sr", "skoid", "sktid", "skt", "ske", "sks", "skv",
                "si", "saoid", "suoid", "scid",
            ]
        ),
    ]

    private static func isSecret(_ name: String, among names: Set<String>) -> Bool {
        secrets.contains(name) || name.hasPrefix("x-amz-") || name.hasPrefix("x-goog-")
            || companions.contains { names.contains($0.main) && $0.others.contains(name) }
    }
}

extension DownloadURL: CustomStringConvertible, CustomDebugStringConvertible {
    /// The URL as it may be shown: without user info and signature.
    public var description: String { redacted }

    /// The same.
    public var debugDescription: String { redacted }
}
