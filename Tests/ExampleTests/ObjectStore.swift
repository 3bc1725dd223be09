import Foundation
import TestSupport

/// `object_store.py` as a process of a test's own, with one object.
struct ObjectStore {
    private static let object = ["bucket", "folder/a b+c.bin"]

    private let folder: TemporaryFolder
    private let port: Int

    /// Where the program puts the object.
    var output: String { folder["out"] }

    /// Starts one, runs the body, and ends it whatever happened.
    ///
    /// - Returns: Method and status of each answer to a GET or HEAD, in order.
    static func with(_ body: (ObjectStore) async throws -> Void) async throws -> [String] {
        try await TemporaryFolder.with { folder in
            let port = try Loopback.freePort()
            let script = "\(Example.root)/Tests/ExampleTests/object_store.py"
            // What is told and what goes wrong, apart: the server talks on standard error.
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

    /// The one that `make setup-test` made for moto, where the system's own has none.
    private static var python: String {
        let own = "\(Example.root)/.build/moto/bin/python3"
        return Files.exists(own) ? own : "python3"
    }

    /// Puts the object there, in place of what was there.
    func put(_ bytes: [UInt8]) async throws {
        try Files.write(bytes, to: folder["body"])
        let script = """
            import sys, boto3
            port, key, path = sys.argv[1:]
            client = boto3.client(
                "s3", endpoint_url="http://127.0.0.1:" + port, region_name="us-east-1",
                aws_access_key_id="key", aws_secret_access_key="secret")
            client.create_bucket(Bucket="\(Self.object[0])")
            with open(path, "rb") as body:
                client.put_object(Bucket="\(Self.object[0])", Key=key, Body=body)
            """
        let outcome = try await Shell.outcome(
            Self.python, ["-c", script, "\(port)", Self.object[1], folder["body"]],
            environment: ["no_proxy": "127.0.0.1"])
        guard outcome.status == 0 else { throw Shell.Failure(description: "boto3: \(outcome.errors)") }
    }

    /// Lets the next whole answer go on slowly after so many bytes, and end when its URL has expired.
    func cutNext(after count: Int) async throws {
        try await Shell.run(
            "curl", "--fail", "--silent", "--noproxy", "*", "--request", "PUT", "--data-binary", "\(count)",
            "http://127.0.0.1:\(port)/-/cut")
    }

    /// Runs the program to its end.
    func download(lifetime: Int, secret: String = "secret", options: [String] = []) async throws -> Shell.Outcome {
        try await Example.presignedObjects.run(
            options + Self.object + [output], environment: environment(lifetime: lifetime, secret: secret))
    }

    /// Starts the program, and kills it when most of the object is there and the rest comes slowly.
    func killed(lifetime: Int) async throws {
        try await cutNext(after: 4 << 20)
        let told = folder["killed"]
        let process = try Example.presignedObjects.start(
            Self.object + [output], environment: environment(lifetime: lifetime, secret: "secret"), output: told)
        try await wait {
            try text(told).split(separator: "\n").contains { Int($0.prefix { $0 != " " }) ?? 0 >= 4 << 20 }
        }
        process.send(SIGKILL)
        await process.wait()
    }

    private func environment(lifetime: Int, secret: String) -> [String: String] {
        [
            "AWS_ENDPOINT_URL": "http://127.0.0.1:\(port)", "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1", "URL_LIFETIME": "\(lifetime)",
        ]
    }
}
