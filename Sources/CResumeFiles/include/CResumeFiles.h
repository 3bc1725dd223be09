// System calls that Swift's C library modules leave out: GNU extensions and commands of variadic functions.
#ifndef CRESUMEFILES_H
#define CRESUMEFILES_H

#include <stdint.h>
#include <sys/types.h>

/// Locks or unlocks one byte as an open-file-description lock, without waiting.
/// `kind` is F_RDLCK, F_WRLCK or F_UNLCK. Returns -1 with `errno` set on failure.
int resume_files_lock_byte(int descriptor, int kind, int64_t byte);

/// Unlocks every byte that this open file description has locked. Returns -1 with `errno` set on failure.
int resume_files_unlock_all(int descriptor);

/// Returns 1 where another open file description holds a lock on the byte, 0 where none does, -1 on failure.
int resume_files_is_byte_locked(int descriptor, int64_t byte);

/// The name of the descriptor's file system where it is reached over a network, NULL where it is local or unknown.
const char *resume_files_network_file_system(int descriptor);

/// The name of the descriptor's file system where it is a well-known local one, NULL where it is not.
const char *resume_files_local_file_system(int descriptor);

/// Brings everything on the descriptor's file system to disk. Fails where that would not tell of bytes that could not be
/// written: the system must be Linux 5.8 or later, the file system ext4 or XFS, and the descriptor opened before the
/// writes. Returns -1 with `errno` set on failure.
int resume_files_sync_file_system(int descriptor);

/// Begins to write a file's bytes to disk without waiting, so that several files are written side by side. Returns -1 with
/// `errno` set where some cannot be written: the sync that follows may not tell it again.
int resume_files_begin_sync(int descriptor);

/// Makes `target` share the blocks of `source`. Returns -1 where the file system cannot.
int resume_files_clone(int source, int target);

/// Copies inside the kernel at the same offset in both files. Returns the bytes copied, -1 on failure.
ssize_t resume_files_copy_range(int source, int target, int64_t offset, size_t length);

/// Gives a file of a folder another name, unless there is one of that name: then it fails with EEXIST. Where the file
/// system has only second names for that, the old one stays as well.
int resume_files_rename_new(int folder, const char *old_name, const char *new_name);

/// The flags that open a file without a name in a folder, for reading and writing; 0 where the system has none.
extern const int resume_files_unnamed_flags;

/// Gives a file without a name its name, unless there is one of that name: then it fails with EEXIST.
int resume_files_name(int descriptor, int folder, const char *name);

/// Begins to watch for forks; called again it does nothing. To be called before anything is opened that a child of this
/// process must not use.
void resume_files_watch_forks(void);

/// What the mark points to is 1 in the process that began to watch and 0 in its forked children.
extern const volatile int *resume_files_fork_mark;

/// Whether this process is a forked child of the one that began to watch: one look at memory.
static inline int resume_files_is_forked(void) { return *resume_files_fork_mark == 0; }

#endif
