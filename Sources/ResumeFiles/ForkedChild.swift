/// A process that was forked from one that had a store open: it has the memory, and none of the threads and locks.
///
/// SQLite forbids to use a connection there, or even to close it (<https://www.sqlite.org/howtocorrupt.html>, 2.6), and
/// no job of an actor ever runs, since the threads of Dispatch and of Swift's pool stayed with the parent.
package enum ForkedChild {
    /// Begins to watch; to be called before a connection is opened.
    package static func watch() {
        resume_files_watch_forks()
    }

    /// Whether this process is such a child: one look at memory.
    package static var isCurrent: Bool {
        resume_files_is_forked() != 0
    }
}
