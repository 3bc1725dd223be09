#define _GNU_SOURCE
#include "CResumeFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <mach/vm_inherit.h>
#include <sys/mount.h>
#include <sys/param.h>
#else
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#endif

static struct flock lock_request(int kind, int64_t first, int64_t count) {
    struct flock request = {.l_type = (short)kind, .l_whence = SEEK_SET};
    request.l_start = (off_t)first;
    request.l_len = (off_t)count;
    return request;
}

int resume_files_lock_bytes(int descriptor, int kind, int64_t first, int64_t count) {
    struct flock request = lock_request(kind, first, count);
    return fcntl(descriptor, F_OFD_SETLK, &request);
}

int resume_files_is_byte_locked(int descriptor, int64_t byte) {
    struct flock request = lock_request(F_WRLCK, byte, 1);
    if (fcntl(descriptor, F_OFD_GETLK, &request) == -1) return -1;
    return request.l_type != F_UNLCK;
}

#if defined(__linux__)
static const struct {
    uint32_t type;
    int is_network;
    const char *name;
} file_systems[] = {
    {0x6969, 1, "NFS"}, {0x517B, 1, "SMB"}, {0xFF534D42, 1, "CIFS"}, {0xFE534D42, 1, "SMB2"},
    {0x00C36400, 1, "Ceph"}, {0x5346414F, 1, "AFS"}, {0x73757245, 1, "Coda"}, {0x0BD00BD0, 1, "Lustre"},
    {0x01021997, 1, "9P"}, {0xEF53, 0, "ext4"}, {0x58465342, 0, "XFS"}, {0x9123683E, 0, "Btrfs"},
    {0x01021994, 0, "tmpfs"}, {0x794C7630, 0, "overlayfs"}, {0x2FC12FC1, 0, "ZFS"}, {0xF2F52010, 0, "F2FS"},
    {0x65735546, 0, "FUSE"},
};
#endif

const char *resume_files_file_system(int descriptor, int is_network) {
    struct statfs status;
    if (fstatfs(descriptor, &status) == -1) return NULL;
#if defined(__APPLE__)
    if (is_network) return status.f_flags & MNT_LOCAL ? NULL : "network";
    return strncmp(status.f_fstypename, "apfs", 4) == 0 ? "APFS" : NULL;
#else
    for (size_t i = 0; i < sizeof file_systems / sizeof *file_systems; i++)
        if (file_systems[i].type == (uint32_t)status.f_type && file_systems[i].is_network == is_network)
            return file_systems[i].name;
    return NULL;
#endif
}

#if defined(__linux__)
// Since Linux 5.8, a failed write is reported to each descriptor that was opened before it.
static int tells_errors(void) {
    struct utsname system;
    int major = 0, minor = 0;
    if (uname(&system) == -1 || sscanf(system.release, "%d.%d", &major, &minor) != 2) return 0;
    return major > 5 || (major == 5 && minor >= 8);
}
#endif

int resume_files_sync_file_system(int descriptor) {
#if defined(__linux__)
    struct statfs status;
    if (fstatfs(descriptor, &status) == -1) return -1;
    uint32_t type = (uint32_t)status.f_type;
    if ((type == 0xEF53 || type == 0x58465342) && tells_errors()) return syncfs(descriptor);
#endif
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
}

int resume_files_begin_sync(int descriptor) {
#if defined(__linux__)
    if (sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE) == 0) return 0;
    // A write error may be reported only once. If the call is not supported, the following sync does everything.
    return errno == EIO || errno == ENOSPC || errno == EDQUOT ? -1 : 0;
#else
    (void)descriptor;
    return 0;
#endif
}

#if defined(__linux__)
int resume_files_clone(int source, int target) {
    return ioctl(target, _IOW(0x94, 9, int) /* FICLONE */, source);
}

ssize_t resume_files_copy_range(int source, int target, int64_t offset, size_t length) {
    off_t from = (off_t)offset;
    off_t to = (off_t)offset;
    return copy_file_range(source, &from, target, &to, length, 0);
}
#endif

int resume_files_pipe(int ends[2]) {
#if defined(__linux__)
    return pipe2(ends, O_CLOEXEC);
#else
    // A program that is started at the same time may inherit it.
    if (pipe(ends) != 0) return -1;
    for (int end = 0; end < 2; end++) fcntl(ends[end], F_SETFD, FD_CLOEXEC);
    return 0;
#endif
}

int resume_files_rename_new(int folder, const char *old_name, const char *new_name) {
#if defined(__APPLE__)
    int failed = renameatx_np(folder, old_name, folder, new_name, RENAME_EXCL);
#elif defined(RENAME_NOREPLACE)
    int failed = renameat2(folder, old_name, folder, new_name, RENAME_NOREPLACE);
#else
    int failed = (int)syscall(SYS_renameat2, folder, old_name, folder, new_name, 1 /* RENAME_NOREPLACE */);
#endif
    if (failed == 0 || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)) return failed;
    // For example NFS. Creating a second name does not replace an existing file either.
    failed = linkat(folder, old_name, folder, new_name, 0);
    if (failed == 0 || errno == EEXIST || errno == EXDEV || errno == ENOENT) return failed;
    // For example exFAT, which has no links. An empty file that is created exclusively keeps the name free of others.
    int place = openat(folder, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (place == -1) return -1;
    close(place);
    failed = renameat(folder, old_name, folder, new_name);
    if (failed == -1) {
        int reason = errno;
        unlinkat(folder, new_name, 0);
        errno = reason;
    }
    return failed;
}

int resume_files_is_mount(int folder, const char *name) {
#if defined(STATX_TYPE)
    struct statx status;
    // STATX_ATTR_MOUNT_ROOT, since Linux 5.8.
    return statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &status) == 0
        && (status.stx_attributes & status.stx_attributes_mask & 0x2000) != 0;
#else
    (void)folder;
    (void)name;
    return 0;
#endif
}

int resume_files_has_list(int folder, const char *name) {
#if defined(__linux__)
    return fgetxattr(folder, name, NULL, 0) > 0;
#else
    (void)folder;
    (void)name;
    return 0;
#endif
}

int resume_files_copy_list(int folder, const char *name, int target) {
#if defined(__linux__)
    char path[512], list[8192];
    if (snprintf(path, sizeof path, "/proc/self/fd/%d/%s", folder, name) >= (int)sizeof path) return -1;
    ssize_t size = lgetxattr(path, "system.posix_acl_access", list, sizeof list);
    if (size >= 0) return fsetxattr(target, "system.posix_acl_access", list, (size_t)size, 0);
    if (errno != ENODATA && errno != ENOTSUP) return -1;
    // The folder may have given it one.
    if (fremovexattr(target, "system.posix_acl_access") == 0 || errno == ENODATA || errno == ENOTSUP) return 0;
    return -1;
#else
    (void)folder;
    (void)name;
    (void)target;
    return 0;
#endif
}

#if defined(O_TMPFILE)
const int resume_files_unnamed_flags = O_TMPFILE | O_RDWR;
#else
const int resume_files_unnamed_flags = 0;
#endif

int resume_files_name(int descriptor, int folder, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
}

int *resume_files_lock_place(void) {
    static _Thread_local int place;
    return &place;
}

// Until forks are watched, nothing is open that a child could misuse.
static volatile int ordinary_mark = 1;
const volatile int *resume_files_fork_mark = &ordinary_mark;

static void clear_ordinary_mark(void) { ordinary_mark = 0; }

static void watch_forks(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (page != MAP_FAILED) {
#if defined(__APPLE__)
        int failed = minherit(page, size, VM_INHERIT_ZERO);
#elif defined(MADV_WIPEONFORK)
        int failed = madvise(page, size, MADV_WIPEONFORK);
#else
        int failed = -1;
#endif
        if (failed == 0) {
            *page = 1;
            resume_files_fork_mark = page;
            return;
        }
        munmap(page, size);
    }
    // The handler runs only in `fork` itself, not in a direct system call, but programs rarely use that.
    pthread_atfork(NULL, NULL, clear_ordinary_mark);
}

void resume_files_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

int resume_files_next_data(int descriptor, int64_t offset, int64_t *start, int64_t *end) {
    off_t data = lseek(descriptor, (off_t)offset, SEEK_DATA);
    if (data == -1) return errno == ENXIO ? 0 : -1;
    off_t hole = lseek(descriptor, data, SEEK_HOLE);
    if (hole == -1) return -1;
    *start = data;
    *end = hole;
    return 1;
}

ssize_t resume_files_origin_url(int descriptor, char *buffer, size_t size) {
#if defined(__APPLE__)
    return fgetxattr(descriptor, "user.xdg.origin.url", buffer, size, 0, 0);
#else
    return fgetxattr(descriptor, "user.xdg.origin.url", buffer, size);
#endif
}

int resume_files_spawn(pid_t *process, char *const words[], char *const variables[], int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, changed;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int failure = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
#if defined(__APPLE__)
    posix_spawn_file_actions_addinherit_np(&actions, 2);
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#elif defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    failure = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#else
    // Descriptors that other threads open from now on are opened with O_CLOEXEC.
    for (int descriptor = 3; descriptor < getdtablesize(); descriptor++)
        if (fcntl(descriptor, F_GETFD) >= 0) posix_spawn_file_actions_addclose(&actions, descriptor);
#endif
    sigemptyset(&none);
    sigemptyset(&changed);
    sigaddset(&changed, SIGPIPE);
    sigaddset(&changed, SIGINT);
    sigaddset(&changed, SIGTERM);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &changed);
    posix_spawnattr_setflags(&attributes, flags);
    if (!failure) failure = posix_spawnp(process, words[0], &actions, &attributes, words, variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

int resume_files_start_thread(const char *name, void *(*function)(void *), void *context) {
    // A thread begins with the mask of the one that starts it.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    int result = pthread_create(&thread, NULL, function, context);
    if (result == 0) {
#if defined(__linux__)
        pthread_setname_np(thread, name);
#endif
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return result;
}
