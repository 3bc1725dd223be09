import ResumeFiles
package import ResumeHTTP
package import ResumeStore

extension Downloader {
    /// Copies the partial file of another program into the store, and compares samples of it with the server's file.
    ///
    /// The rest of the file is not requested: the next ``download(_:onEvent:)`` continues there.
    ///
    /// - Parameter request: The download, with ``DownloadRequest/adopts``.
    /// - Returns: What was adopted, and what proves it.
    /// - Throws: `StoreError`: `holdsMore` if the store has bytes of this download, `noEntry` if nothing can be adopted,
    ///   and others; `CancellationError`; `DownloadError` if the server does not have the file. Other failures of
    ///   requests are part of the result.
    package func adopt(_ request: DownloadRequest) async throws -> Adoption {
        guard let path = request.adopts else { throw StoreError(.misuse, "no partial file is named") }
        let (foreign, destination) = try await Blocking.run {
            (try ForeignPartial(examining: path), try request.checkedDestination())
        }
        return try await withTransfer(request, to: destination) { loop in
            let transfer = loop.client.transfer
            let isWhole = try await transfer.adopt(foreign, digest: request.policy.proof)
            let proof: Adoption.Proof = isWhole ? .digest : try await Self.compared(&loop)
            return Adoption(
                program: foreign.program, heldBytes: await transfer.receivedBytes,
                totalBytes: await transfer.partial.totalLength, proof: proof)
        }
    }

    /// Compares samples of the bytes in the store with the server's file.
    ///
    /// Changes nothing in the store, except that adopted bytes are known to be right afterwards.
    ///
    /// - Parameters:
    ///   - request: The download; its destination is not used.
    ///   - variant: The number of the stored representation; nil for the one that the server is most likely to send.
    /// - Returns: What the comparison has shown.
    /// - Throws: `DownloadError` if the server refuses the request or cannot be reached; `StoreError`: `inUse` if it is
    ///   being downloaded; `CancellationError`.
    package func compare(_ request: DownloadRequest, variant: Int? = nil) async throws -> SampleVerdict {
        try await withTransfer(request, variant: variant, to: nil) { try await $0.compareAll() }
    }

    /// Begins a download with a partial file, if any of it can be adopted.
    func adopt(_ path: String, for transfer: Transfer, digest: HTTPDigest?) async throws {
        let foreign = try await Blocking.run { try ForeignPartial(examining: path) }
        do {
            _ = try await transfer.adopt(foreign, digest: digest)
        } catch let error as StoreError where error.code == .noEntry {
            try await transfer.note(Reason("nothing-adopted", with: error))
        }
    }

    private static func compared(_ loop: inout RequestLoop<DownloadRun>) async throws -> Adoption.Proof {
        do {
            switch try await loop.compareAll() {
            case .agree(let count): return .samples(count)
            case .unproved(let reason): return .pending(reason)
            case .differ(let reason):
                try await loop.client.transfer.discard(reason: reason)
                return .differs(reason)
            }
        } catch let error as DownloadError {
            // Others may pass, or end with other credentials.
            guard error.status == 404 || error.status == 410 else { return .pending(error.reason) }
            try await loop.client.transfer.discard(reason: error.reason)
            throw error
        }
    }

    private func withTransfer<Result: Sendable>(
        _ request: DownloadRequest, variant: Int? = nil, to destination: Destination?,
        _ body: (inout RequestLoop<DownloadRun>) async throws -> Result
    ) async throws -> Result {
        let transfer = try await open(
            request, variant: variant, request.policy, to: destination, on: TransferQueue(of: store))
        return try await request.exchange(for: transfer, over: transport, body)
    }

    /// What is known of bytes that another program has received.
    package struct Adoption: Sendable, Hashable {
        /// What proves that the server has the same bytes.
        package enum Proof: Sendable, Hashable {
            /// The whole file has the expected digest.
            case digest
            /// This number of samples was compared with the server's file, and all of them agree.
            case samples(Int)
            /// Nothing was compared yet, for this reason; the next download compares samples first.
            case pending(Reason)
            /// The server has another file; nothing was adopted.
            case differs(Reason)
        }

        /// The program that has received them, as far as its file tells.
        package var program: ForeignPartial.Program
        /// The number of bytes in the store.
        package var heldBytes: Int64
        /// The length of the whole file; nil if it is not known.
        package var totalBytes: Int64?
        /// What proves them.
        package var proof: Proof
    }
}
