import ResumeHTTP

extension Transfer {
    /// What a transfer has exclusive use of: a key, a row, or nothing any more.
    enum State {
        /// Called when a row has been created.
        typealias OnClaim = @Sendable (isolated Transfer) -> Void

        /// What no other transfer can use.
        enum Hold {
            /// The key, of which there is no row.
            case key(Lease, onClaim: OnClaim? = nil)
            /// The row; also the key, as long as others wait for it. In memory, where the store counts its users, neither
            /// needs a lease.
            case row(Lease? = nil, key: Lease? = nil)

            /// Whether another task or process waits for it.
            var isAwaited: Bool {
                switch self {
                case .key(let lease, _): lease.isAwaited
                case .row(let lease, let key): lease?.isAwaited == true || key?.isAwaited == true
                }
            }
        }

        case open(Hold)
        /// It records what it has received, and then ends.
        case closing(Hold)
        case closed

        /// What it holds; nil if it has ended.
        var hold: Hold? {
            switch self {
            case .open(let hold), .closing(let hold): hold
            case .closed: nil
            }
        }

        var isOpen: Bool { if case .open = self { true } else { false } }

        /// Begins to end.
        mutating func close() { if case .open(let hold) = self { self = .closing(hold) } }

        /// Goes on after all, if it has not ended.
        mutating func reopen() { if case .closing(let hold) = self { self = .open(hold) } }

        /// Continues with a row, which was created or takes the place of another one.
        ///
        /// - Parameter lease: Its lease.
        /// - Returns: What is called when the row is ready to be used.
        mutating func move(to lease: Lease) -> OnClaim? {
            guard let hold else { return nil }
            let (key, onClaim): (Lease?, OnClaim?) =
                switch hold {
                case .key(let key, let onClaim): (key, onClaim)
                case .row(_, let key): (key, nil)
                }
            self = isOpen ? .open(.row(lease, key: key)) : .closing(.row(lease, key: key))
            return onClaim
        }
    }

    /// What requests and responses have shown about the stored bytes.
    struct Exchange {
        /// The plan of the request whose response is expected, if a program issues each request itself.
        var sent: Plan?
        /// Whether the caller may use the stored bytes.
        var access: HeldPartial.Access
        /// Whether the stored bytes may be continued with the last response.
        var resource = ResourceVerdict.same
        /// The digest that all stored bytes were found to have.
        var proved: HTTPDigest?
        /// Whether URL or fields were renewed since the download was opened.
        var isRenewed = false
        /// Whether the caller restarts the download, whatever the server sends.
        var isRestart = false
        /// What was left in its entry until its replacement is delivered; nil if nothing was.
        var left: HeldPartial?
        /// What a body of unknown length is judged by when it ends; nil if its length was known.
        var doubt: AnswerContext?
        var bodies = BodyCount()

        /// Whether the last response is of another resource than the stored bytes.
        var isOfOther: Bool { ![.same, .underDigest].contains(resource) }
    }

    /// The bytes that were stored before this transfer.
    struct EarlierBytes {
        /// How many of the stored bytes an earlier transfer, or another program, has received.
        var count: Int64
        /// Why some were discarded when they were opened or compared; nil if none were.
        var damage: Reason?
        /// Compares them with their checksums; nil if that is finished or there are none.
        var check: HeldCheck?

        /// Counts bytes that were discarded.
        mutating func lose(_ bytes: Int64) { count -= min(bytes, count) }
    }
}
