extension Signals {
    /// Decides what a signal does to a command that ends by itself after the first one.
    struct Course {
        /// What a signal does.
        enum Action: Equatable {
            /// Cancels the command, which records what has been received and ends.
            case cancel
            case ignore
            /// Ends the process at once.
            case exit
        }

        /// A program that starts another one may pass on a signal that the terminal has sent to both; those that arrive within
        /// this time are one.
        static let pause = Duration.seconds(1)

        private var first: ContinuousClock.Instant?

        /// Returns what to do about a signal.
        mutating func receive(at now: ContinuousClock.Instant) -> Action {
            guard let first else {
                self.first = now
                return .cancel
            }
            return now - first < Self.pause ? .ignore : .exit
        }
    }
}
