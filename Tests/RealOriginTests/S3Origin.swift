import Foundation
import Synchronization
import TestSupport

/// An object in moto's S3, with presigned URLs from boto3.
final class S3Origin: RealOrigin {
    private struct State {
        var file: PublishedFile?
        /// Created in advance, because each start of Python costs a second.
        var urls: [String] = []
    }

    private let folder: TemporaryFolder
    private let port: Int
    private let process: ChildProcess
    private let state = Mutex(State())

    init() async throws {
        folder = try TemporaryFolder()
        port = try Loopback.freePort()
        process = try Shell.start(
            Self.python, ["-m", "moto.server", "-H", "127.0.0.1", "-p", "\(port)"], output: folder["output"])
        guard try await Loopback.waits(for: process, at: port) else {
            let said = String(decoding: try Files.bytes(folder["output"]).suffix(2000), as: UTF8.self)
            throw Shell.Failure(description: "moto's server did not start; 'make setup-test' installs it: \(said)")
        }
    }

    /// The one that `make setup-test` created for moto, if the system's own has none.
    private static let python: String = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let own = root.appendingPathComponent(".build/moto/bin/python3").standardizedFileURL.path
        return Files.exists(own) ? own : "python3"
    }()

    func publish(_ file: PublishedFile) async throws {
        try Files.write(file.bytes, to: folder["body"])
        let urls = try await put(folder["body"], coding: "")
        state.withLock { $0 = State(file: file, urls: urls) }
    }

    /// S3 does not compress: the uploader does, and sets the object's own field.
    func configure(_ settings: OriginSettings) async throws {
        guard let file = state.withLock(\.file) else { return }
        try await publish(file)
        guard settings.compression == .always else { return }
        try await Shell.run("gzip", "--fast", folder["body"])
        let urls = try await put(folder["body.gz"], coding: "gzip")
        state.withLock { $0.urls = urls }
        try await Shell.run("rm", folder["body.gz"])
    }

    func url() throws -> String {
        try state.withLock { state in
            guard let url = state.urls.popLast() else { throw Shell.Failure(description: "no presigned URL is left") }
            return url
        }
    }

    deinit {
        process.end()
        folder.remove()
    }

    func stop() async throws -> [Int] {
        process.send(SIGTERM)
        await process.wait()
        let log = String(decoding: try Files.bytes(folder["output"]), as: UTF8.self)
        return log.split(separator: "\n").filter { $0.contains("\"GET /") }.compactMap { line in
            line.hasSuffix(" -") ? Int(line.dropLast(2).suffix(3)) : nil
        }
    }

    private func put(_ path: String, coding: String) async throws -> [String] {
        // Network access must not depend on the machine's proxies.
        let outcome = try await Shell.outcome(
            Self.python, ["-c", Self.script, "\(port)", path, coding], environment: ["no_proxy": "127.0.0.1"])
        guard outcome.status == 0 else { throw Shell.Failure(description: "boto3: \(outcome.errors)") }
        return outcome.output.split(separator: "\n").map(String.init)
    }

    /// Uploads a file as an object and prints URLs for it; their times differ, and so their signatures.
    private static let script = """
        import sys, boto3
        from botocore.config import Config
        port, path, coding = sys.argv[1:]
        client = boto3.client(
            "s3", endpoint_url="http://127.0.0.1:" + port, region_name="us-east-1",
            aws_access_key_id="key", aws_secret_access_key="secret",
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
        client.create_bucket(Bucket="bucket")
        name = {"Bucket": "bucket", "Key": "data.json"}
        coding = {"ContentEncoding": coding} if coding else {}
        with open(path, "rb") as body:
            client.put_object(**name, **coding, Body=body, ContentType="application/json")
        for seconds in range(600, 608):
            print(client.generate_presigned_url("get_object", Params=name, ExpiresIn=seconds))
        """
}
