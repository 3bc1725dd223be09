/// Detects a process that was forked from one with an open store: it inherits the memory, but neither threads nor
/// locks.
///
/// SQLite forbids using or even closing a connection there (<https://www.sqlite.org/howtocorrupt.html>, 2.6). No job of
/// an actor ever runs, since the threads of Dispatch and of Swift's pool exist only in the parent.
package enum ForkedChild {
    /// Starts the detection; must be called before a connection is opened.
    package static func watch() {
        resume_files_watch_forks()
    }

    /// Whether this process is such a child; costs one memory access.
    package static var isCurrent: Bool {
        resume_files_is_forked() != 0
    }
}
