// System calls that are missing in Swift's C library modules: GNU extensions and commands of variadic functions.
#ifndef CRESUMEFILES_H
#define CRESUMEFILES_H

#include <stdint.h>
#include <sys/types.h>

/// Locks or unlocks bytes as an open-file-description lock, without waiting. A count of 0 is that to the end of the file,
/// even if it grows. `kind` is F_RDLCK, F_WRLCK or F_UNLCK. Returns -1 with `errno` set on failure.
int resume_files_lock_bytes(int descriptor, int kind, int64_t first, int64_t count);

/// Returns 1 if another open file description holds a lock on the byte, 0 if none does, -1 on failure.
int resume_files_is_byte_locked(int descriptor, int64_t byte);

/// Returns the name of the descriptor's file system if it is a network file system, or if it is a well-known local one;
/// otherwise NULL.
const char *resume_files_file_system(int descriptor, int is_network);

/// Flushes everything on the descriptor's file system to disk. Fails if write errors would not be reported: it requires
/// Linux 5.8 or later, ext4 or XFS, and that the descriptor was opened before the writes. Returns -1 with `errno` set
/// on failure.
int resume_files_sync_file_system(int descriptor);

/// Begins to write a file's bytes to disk without waiting, so that several files are written concurrently. Returns -1
/// with `errno` set if some cannot be written; the following sync may not report that error again.
int resume_files_begin_sync(int descriptor);

#if defined(__linux__)
/// Makes `target` share the blocks of `source`. Returns -1 if the file system does not support it.
int resume_files_clone(int source, int target);

/// Copies inside the kernel at the same offset in both files. Returns the number of bytes copied, -1 on failure.
ssize_t resume_files_copy_range(int source, int target, int64_t offset, size_t length);
#endif

/// Makes a pipe that other programs do not inherit. Returns -1 with `errno` set on failure.
int resume_files_pipe(int ends[2]);

/// Starts a program with a standard input and output. It inherits the descriptors 0 to 2 only, since libraries open
/// sockets that would keep a server's connection open, and none of the signals that this program blocks or ignores.
/// Returns 0, or the number of an error.
int resume_files_spawn(pid_t *process, char *const words[], char *const variables[], int input, int output);

/// Renames a file in a folder; fails with EEXIST if the new name is in use. If the file system does not support that, a
/// second name is added and the old one is kept, or an empty file is created under the new name and replaced.
int resume_files_rename_new(int folder, const char *old_name, const char *new_name);

/// Whether something is mounted on a name, which can then not be given to another file.
int resume_files_is_mount(int folder, const char *name);

/// Whether a folder has an access control list: "system.posix_acl_access" for the folder, "system.posix_acl_default" for
/// files that are created in it.
int resume_files_has_list(int folder, const char *name);

/// Gives a file the access control list of another one, or none if that has none; returns -1 if that fails.
int resume_files_copy_list(int folder, const char *name, int target);

/// The flags to open an unnamed file in a folder, for reading and writing; 0 if the system does not support them.
extern const int resume_files_unnamed_flags;

/// Gives an unnamed file a name; fails with EEXIST if the name is in use.
int resume_files_name(int descriptor, int folder, const char *name);

/// Points to a value of the calling thread, for checks of the order of locks; 0 at first.
int *resume_files_lock_place(void);

/// Begins to watch for forks; later calls do nothing. It must be called before anything is opened that children of this
/// process must not use.
void resume_files_watch_forks(void);

/// Points to a value that is 1 in the process that began to watch and 0 in its forked children.
extern const volatile int *resume_files_fork_mark;

/// Whether this process is a forked child of the one that began to watch; only reads memory.
static inline int resume_files_is_forked(void) { return *resume_files_fork_mark == 0; }

/// Finds the next bytes at or behind an offset that were written, and not only reserved. Returns 1 and sets `start` and
/// `end`, 0 if there are none; -1 if the file system cannot tell.
int resume_files_next_data(int descriptor, int64_t offset, int64_t *start, int64_t *end);

/// Reads the extended attribute in which other programs record the URL of a file. Returns its length, -1 if there is
/// none.
ssize_t resume_files_origin_url(int descriptor, char *buffer, size_t size);

/// Starts a detached thread that no signal is delivered to; on Linux it has a name. Returns 0, or an error number.
int resume_files_start_thread(const char *name, void *(*function)(void *), void *context);

#endif
