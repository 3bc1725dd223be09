/// A certificate for a test server, created by the `openssl` program.
package struct TestCertificate: Sendable {
    package enum Issuer: Sendable {
        /// The authority that the test trusts.
        case trusted
        /// An authority under the trusted one, limited to the names of an extension `nameConstraints`.
        case constrained(String)
        /// An authority under the trusted one, whose expired certificate the server sends as well.
        case renewed
        /// Another authority.
        case unknown
        /// Self-signed.
        case itself
    }

    private let commonName: String
    private let names: String?
    private let issuer: Issuer
    private let usage: String
    private let start: String
    private let end: String
    private let key: String
    private let digest: String

    /// Describes a certificate.
    ///
    /// - Parameters:
    ///   - names: The value of subjectAltName in OpenSSL's notation (`DNS:a.example,IP:127.0.0.1`); nil for none.
    ///   - commonName: The common name of the subject.
    ///   - issuer: The issuer.
    ///   - usage: The extended key usage.
    ///   - start: The start of its validity, as `YYYYMMDDHHMMSSZ`.
    ///   - end: The end of its validity.
    ///   - key: The kind of its key, as OpenSSL names it.
    ///   - digest: The hash that it is signed with.
    package init(
        _ names: String?, commonName: String = "server", issuer: Issuer = .trusted, usage: String = "serverAuth",
        from start: String = "20200101000000Z", to end: String = "20491231000000Z", key: String = "ec",
        digest: String = "sha256"
    ) {
        (self.names, self.commonName, self.issuer) = (names, commonName, issuer)
        (self.usage, self.start, self.end) = (usage, start, end)
        (self.key, self.digest) = (key, digest)
    }

    /// Creates the certificate.
    ///
    /// - Parameter folder: The folder for the files.
    /// - Returns: The paths of the server's chain with its key, and of the authority to trust.
    /// - Throws: ``Shell/Failure`` if `openssl` fails.
    package func make(in folder: TemporaryFolder) async throws -> (server: String, trusted: String) {
        let authority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign"
        try await Self.makeKey("root", "Test Authority", authority, in: folder)
        try await Self.sign("root", by: "root", in: folder)
        var (signer, chain) = ("root", ["server"])
        switch issuer {
        case .trusted: break
        case .constrained(let limits):
            signer = "constrained"
            chain.append(signer)
            let extensions = "\(authority)\nnameConstraints=critical,\(limits)"
            try await Self.makeKey(signer, "Constrained Authority", extensions, in: folder)
            try await Self.sign(signer, by: "root", in: folder)
        case .renewed:
            signer = "renewed"
            chain += ["expired", signer]
            try await Self.makeKey(signer, "Renewed Authority", authority, in: folder)
            try await Self.sign(signer, by: "root", to: "20210101000000Z", in: folder)
            try Files.write(Files.bytes(folder["renewed.pem"]), to: folder["expired.pem"])
            try await Self.sign(signer, by: "root", in: folder)
        case .unknown:
            signer = "other"
            try await Self.makeKey(signer, "Other Authority", authority, in: folder)
            try await Self.sign(signer, by: signer, in: folder)
        case .itself: signer = "server"
        }
        let alternative = names.map { "\nsubjectAltName=\($0)" } ?? ""
        let extensions = "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=\(usage)\(alternative)"
        try await Self.makeKey("server", commonName, extensions, key, digest, in: folder)
        try await Self.sign("server", by: signer, from: start, to: end, in: folder)
        let parts = try (chain.map { "\($0).pem" } + ["server.key"]).flatMap { try Files.bytes(folder[$0]) }
        try Files.write(parts, to: folder["chain.pem"])
        return (folder["chain.pem"], folder["root.pem"])
    }

    /// Creates a key and a certificate request.
    private static func makeKey(
        _ name: String, _ commonName: String, _ extensions: String, _ key: String = "ec", _ digest: String = "sha256",
        in folder: TemporaryFolder
    ) async throws {
        let configuration = """
            [req]
            distinguished_name=subject
            prompt=no
            [subject]
            CN=\(commonName)
            [extensions]
            \(extensions)
            [ca]
            default_ca=authority
            [authority]
            database=\(folder["\(name).index"])
            new_certs_dir=\(folder.path)
            default_md=\(digest)
            policy=any
            rand_serial=yes
            unique_subject=no
            [any]
            commonName=optional

            """
        try Files.write(Array(configuration.utf8), to: folder["\(name).conf"])
        try Files.write([], to: folder["\(name).index"])
        let curve = key == "ec" ? ["-pkeyopt", "ec_paramgen_curve:prime256v1"] : []
        let request = ["req", "-new", "-newkey", key] + curve + ["-nodes", "-config", folder["\(name).conf"]]
        let outcome = try await Shell.outcome(
            "openssl", request + ["-keyout", folder["\(name).key"], "-out", folder["\(name).csr"]])
        guard outcome.status == 0 else { throw Shell.Failure(description: "openssl req: \(outcome.errors)") }
    }

    private static func sign(
        _ name: String, by issuer: String, from start: String = "20200101000000Z", to end: String = "20491231000000Z",
        in folder: TemporaryFolder
    ) async throws {
        let signer =
            name == issuer
            ? ["-selfsign", "-keyfile", folder["\(name).key"]]
            : ["-cert", folder["\(issuer).pem"], "-keyfile", folder["\(issuer).key"]]
        let outcome = try await Shell.outcome(
            "openssl",
            ["ca", "-batch", "-notext", "-config", folder["\(name).conf"]] + signer + [
                "-extfile", folder["\(name).conf"], "-extensions", "extensions", "-startdate", start, "-enddate", end,
                "-in", folder["\(name).csr"], "-out", folder["\(name).pem"],
            ])
        guard outcome.status == 0 else { throw Shell.Failure(description: "openssl ca: \(outcome.errors)") }
    }
}
