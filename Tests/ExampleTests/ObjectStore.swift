import Foundation
import TestSupport

/// `object_store.py` as a separate process of the test, with one object and the backend that signs URLs for it.
struct ObjectStore {
    private static let key = "folder/a b+c.bin"

    private let folder: TemporaryFolder
    private let port: Int

    /// The destination of the object.
    var output: String { folder["out"] }

    /// Starts one, runs the body, and ends it in any case.
    ///
    /// - Returns: Method and status of each answer to a GET or HEAD, in order.
    static func with(_ body: (ObjectStore) async throws -> Void) async throws -> [String] {
        try await TemporaryFolder.with { folder in
            let port = try Loopback.freePort()
            let script = "\(Example.root)/Tests/ExampleTests/object_store.py"
            // Output and errors are separate: the server logs to standard error.
            let process = try Shell.start(
                "sh", ["-c", "exec \"$1\" \"$2\" \"$3\" 2>\"$4\"", "sh", python, script, "\(port)", folder["errors"]],
                output: folder["told"])
            let result: Result<Void, any Error>
            do {
                guard try await Loopback.waits(for: process, at: port) else {
                    throw Shell.Failure(
                        description: "moto did not start; 'make setup-test' installs it: \(try text(folder["errors"]))")
                }
                try await body(ObjectStore(folder: folder, port: port))
                result = .success(())
            } catch {
                result = .failure(error)
            }
            process.send(SIGKILL)
            await process.wait()
            try result.get()
            return try text(folder["told"]).split(separator: "\n").map(String.init)
        }
    }

    /// The one that `make setup-test` created for moto, if the system's own has none.
    private static var python: String {
        let own = "\(Example.root)/.build/moto/bin/python3"
        return Files.exists(own) ? own : "python3"
    }

    /// Replaces the object.
    func put(_ bytes: [UInt8]) async throws {
        try Files.write(bytes, to: folder["body"])
        let script = """
            import sys, boto3
            port, key, path = sys.argv[1:]
            client = boto3.client(
                "s3", endpoint_url="http://127.0.0.1:" + port, region_name="us-east-1",
                aws_access_key_id="key", aws_secret_access_key="secret")
            client.create_bucket(Bucket="bucket")
            with open(path, "rb") as body:
                client.put_object(Bucket="bucket", Key=key, Body=body)
            """
        let outcome = try await Shell.outcome(
            Self.python, ["-c", script, "\(port)", Self.key, folder["body"]],
            environment: ["no_proxy": "127.0.0.1"])
        guard outcome.status == 0 else { throw Shell.Failure(description: "boto3: \(outcome.errors)") }
    }

    /// A setting of the store, as `object_store.py` describes it.
    enum Order: String { case slow, expire, secret }

    /// Changes a setting of the store.
    func order(_ order: Order, _ value: String) async throws {
        try await Shell.run(
            "curl", "--fail", "--silent", "--noproxy", "*", "--request", "PUT", "--data-binary", value,
            "http://127.0.0.1:\(port)/-/\(order)")
    }

    /// Runs the program to its end.
    func download(_ options: [String] = [], key: String = key) async throws -> Shell.Outcome {
        try await Example.presignedObjects.run(options + [backend, key, output])
    }

    /// Starts the program, and kills it when most of the object is stored and the rest is slow.
    func killed() async throws {
        try await order(.slow, "\(4 << 20)")
        let printed = folder["killed"]
        let process = try Example.presignedObjects.start([backend, Self.key, output], output: printed)
        try await wait(for: "most of the object", while: process) {
            try text(printed).split(separator: "\n").contains { Int($0.prefix { $0 != " " }) ?? 0 >= 4 << 20 }
        }
        process.send(SIGKILL)
        await process.wait()
    }

    /// The endpoint for URLs.
    private var backend: String { "http://127.0.0.1:\(port)/-/sign" }
}
