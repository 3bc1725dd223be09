// A library for LD_PRELOAD that kills a program at one of its calls to the file system, or lets calls fail, be short,
// be slow, or only seem to succeed. Tests build it on demand; `FaultShim` in Tests/FaultInjection makes its variables
// and says what they mean.
//
// Calls go to the kernel by syscall(2), not to the C library's functions: nothing has to be looked up, so a call from
// any constructor works. For 64-bit Linux, where struct flock and struct statfs are the kernel's own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum action { NONE, COUNT, KILL, KILL_AFTER, ERROR, SHORT, DELAY, HOLD, SUCCEED, NETWORK, FULL };
static const char *const action_names[] = {"",      "count", "kill",    "killafter", "error",
                                           "short", "delay", "hold",    "succeed",   "network", "full"};

// Calls of the names in `calls` on paths with `part`, from the first to the last matching one.
struct rule {
    char calls[256], part[256];
    enum action action;
    long number; // errno, or microseconds
    const char *gate; // of `hold`: the file whose appearance ends it
    long first, last;
    atomic_long matched;
};

struct call {
    const char *name;
    int changes; // whether `*` means it
    int is_look; // in the trace only where a rule meant it
    char path[PATH_MAX], to[PATH_MAX];
    long long offset, length; // -1 where there is none
    enum action action;
    long number;
    long start;
};

#define MOST_RULES 32
static struct rule rules[MOST_RULES];
static char *roots[MOST_RULES];
static int rule_count, root_count, trace = -1;
static const char *boot_id, *count_file;
static atomic_long counted, ticks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const char *name;
    int number;
} errors[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EINTR", EINTR},   {"EDQUOT", EDQUOT},   {"EROFS", EROFS},
    {"EACCES", EACCES}, {"EPERM", EPERM},   {"EFBIG", EFBIG},   {"EMFILE", EMFILE},   {"ENOMEM", ENOMEM},
    {"EXDEV", EXDEV},   {"EAGAIN", EAGAIN}, {"ENOLCK", ENOLCK}, {"EINVAL", EINVAL},   {"ENOENT", ENOENT},
    {"EEXIST", EEXIST}, {"EBUSY", EBUSY},   {"ENXIO", ENXIO},   {"ENOTSUP", ENOTSUP}, {"EMLINK", EMLINK},
    {"EBADF", EBADF},   {"ELOOP", ELOOP},   {"ESTALE", ESTALE}, {"ENODEV", ENODEV},   {"ENOTDIR", ENOTDIR},
};
#define ERROR_COUNT (int)(sizeof errors / sizeof *errors)

// MARK: Variables

static void refuse(const char *why, const char *text) {
    dprintf(2, "fault shim: %s: %s\n", why, text);
    _exit(99);
}

static void read_rule(char *text) {
    if (rule_count == MOST_RULES) refuse("too many rules", text);
    struct rule *rule = &rules[rule_count++];
    char *when = text, *calls = strsep(&when, ":"), *action = strsep(&when, ":");
    if (!action) refuse("a rule without an action", text);
    char *part = calls, *names = strsep(&part, "@"), *value = action;
    snprintf(rule->calls, sizeof rule->calls, ",%s,", names);
    snprintf(rule->part, sizeof rule->part, "%s", part ? part : "");
    action = strsep(&value, "=");
    for (int index = COUNT; index <= FULL; index++)
        if (!strcmp(action, action_names[index])) rule->action = (enum action)index;
    if (rule->action == NONE) refuse("unknown action", action);
    if (rule->action == ERROR) {
        for (int index = 0; value && index < ERROR_COUNT; index++)
            if (!strcmp(value, errors[index].name)) rule->number = errors[index].number;
        if (!rule->number) refuse("unknown error", value ? value : "");
    }
    if (rule->action == DELAY) rule->number = value ? atol(value) : 1000;
    if (rule->action == HOLD && !(rule->gate = value)) refuse("hold without a file", text);
    int has_when = when && *when;
    rule->first = has_when ? atol(when) : 1;
    rule->last = !has_when || strchr(when, '+') ? LONG_MAX : rule->first;
    if (rule->first < 1) refuse("calls count from 1", when);
}

static void read_variables(void) {
    static char rule_text[8192], root_text[8192];
    const char *text = getenv("FAULT_RULES");
    char *rest = rule_text, *part;
    snprintf(rule_text, sizeof rule_text, "%s", text ? text : "");
    while ((part = strsep(&rest, ";")))
        if (*part) read_rule(part);
    text = getenv("FAULT_ROOT");
    rest = root_text;
    snprintf(root_text, sizeof root_text, "%s", text ? text : "");
    while ((part = strsep(&rest, ":")))
        if (*part && root_count < MOST_RULES) roots[root_count++] = part;
    boot_id = getenv("FAULT_BOOT_ID");
    count_file = getenv("FAULT_COUNT");
    const char *file = getenv("FAULT_TRACE");
    if (!file) return;
    long low = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (low < 0) refuse("the trace cannot be opened", file);
    // Out of the way of a program whose descriptors are counted.
    long high = syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 200);
    trace = (int)(high < 0 ? low : high);
    if (high >= 0) syscall(SYS_close, low);
}

static void write_counts(void) {
    if (!count_file || counted == 0) return;
    char text[MOST_RULES * 24];
    int length = snprintf(text, sizeof text, "%ld\n", (long)counted);
    for (int index = 0; index < rule_count; index++)
        if (rules[index].action == COUNT)
            length += snprintf(text + length, sizeof text - (size_t)length, "%ld\n", (long)rules[index].matched);
    long file = syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    syscall(SYS_write, file, text, length);
    syscall(SYS_close, file);
}

__attribute__((destructor)) static void at_exit(void) {
    pthread_once(&once, read_variables);
    write_counts();
}

// MARK: Paths

static void path_of_descriptor(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

static void path_in_folder(int folder, const char *name, char *path) {
    path[0] = 0;
    // What linkat calls a file without a name.
    static const char descriptors[] = "/proc/self/fd/";
    if (name && !strncmp(name, descriptors, sizeof descriptors - 1)) {
        path_of_descriptor(atoi(name + sizeof descriptors - 1), path);
        return;
    }
    if (name && name[0] != '/') {
        if (folder != AT_FDCWD)
            path_of_descriptor(folder, path);
        else if (syscall(SYS_getcwd, path, PATH_MAX) < 0)
            path[0] = 0;
    }
    size_t length = strlen(path);
    snprintf(path + length, PATH_MAX - length, "%s%s", length ? "/" : "", name ? name : "");
}

static int is_under_root(const char *path) {
    for (int index = 0; index < root_count; index++) {
        size_t length = strlen(roots[index]);
        if (!strncmp(path, roots[index], length) && (path[length] == '/' || path[length] == 0)) return 1;
    }
    return 0;
}

// Whether the call is one that counts. A null `name` means the descriptor itself, a null `other` that there is none.
static int is_watched(
    struct call *call, const char *what, int changes, int folder, const char *name, int other_folder,
    const char *other) {
    pthread_once(&once, read_variables);
    if (root_count == 0) return 0;
    int saved = errno;
    call->name = what;
    call->changes = changes;
    call->is_look = !strcmp(what, "stat") || !strcmp(what, "fstatvfs");
    call->to[0] = 0;
    call->offset = call->length = -1;
    if (name)
        path_in_folder(folder, name, call->path);
    else
        path_of_descriptor(folder, call->path);
    if (other) path_in_folder(other_folder, other, call->to);
    errno = saved;
    return is_under_root(call->path) || is_under_root(call->to);
}

// MARK: Before and after a call

static void write_line(struct call *call, long end, const char *result) {
    if (trace < 0) return;
    char line[2 * PATH_MAX + 512];
    for (char *text = call->path; *text; text++)
        if (*text < ' ') *text = '?';
    int length = snprintf(
        line, sizeof line, "%ld\t%ld\t%ld\t%s\t%s\t%s\t%lld\t%lld\t%s\t%s\n", call->start, end,
        (long)syscall(SYS_gettid), call->name, call->path, call->to[0] ? call->to : "-", call->offset, call->length,
        result, call->action == NONE ? "-" : action_names[call->action]);
    syscall(SYS_write, trace, line, length);
}

static void die(struct call *call, const char *result) {
    write_line(call, ++ticks, result);
    write_counts();
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) syscall(SYS_sched_yield);
}

static int is_meant(const struct rule *rule, const struct call *call) {
    char name[32];
    snprintf(name, sizeof name, ",%s,", call->name);
    int is_named = strstr(rule->calls, name) || (call->changes && strstr(rule->calls, ",*,"));
    return is_named && (strstr(call->path, rule->part) || strstr(call->to, rule->part));
}

static void wait_up_to(long microseconds) {
    static atomic_ulong state = 1;
    uint64_t word = state += 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    long time = microseconds > 0 ? (long)((word >> 16) % (uint64_t)microseconds) : 0;
    struct timespec pause = {time / 1000000, time % 1000000 * 1000};
    syscall(SYS_nanosleep, &pause, NULL);
}

// Says with a file beside the gate that the call is reached, then waits until the gate is there, for ten minutes at most.
static void wait_for(const char *gate) {
    char reached[PATH_MAX];
    snprintf(reached, sizeof reached, "%s.reached", gate);
    long file = syscall(SYS_openat, AT_FDCWD, reached, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) syscall(SYS_close, file);
    struct timespec pause = {0, 1000000};
    for (int count = 0; count < 600000 && syscall(SYS_faccessat, AT_FDCWD, gate, F_OK); count++)
        syscall(SYS_nanosleep, &pause, NULL);
}

static void before(struct call *call) {
    int saved = errno;
    call->action = NONE;
    if (call->changes) counted++;
    call->start = ++ticks;
    for (int index = 0; index < rule_count; index++) {
        struct rule *rule = &rules[index];
        if (!is_meant(rule, call)) continue;
        long number = ++rule->matched;
        if (rule->action == COUNT || number < rule->first || number > rule->last) continue;
        if (rule->action == DELAY) wait_up_to(rule->number);
        if (rule->action == HOLD) wait_for(rule->gate);
        if (call->action == NONE || call->action == DELAY || call->action == HOLD) {
            call->action = rule->action;
            call->number = rule->number;
        }
    }
    if (call->action == KILL) die(call, "killed");
    errno = saved;
}

static void after(struct call *call, long result) {
    int saved = errno;
    char text[32];
    if (result < 0) {
        snprintf(text, sizeof text, "E%d", saved);
        for (int index = 0; index < ERROR_COUNT; index++)
            if (errors[index].number == saved) snprintf(text, sizeof text, "%s", errors[index].name);
    } else {
        snprintf(text, sizeof text, "%ld", result);
    }
    if (call->action == KILL_AFTER) die(call, text);
    if (!call->is_look || call->action != NONE) write_line(call, ++ticks, text);
    errno = saved;
}

// Does a call as its rules want it; `seeming` is what it returns where it is only to seem to succeed.
#define DO(call, seeming, real)                                                                                        \
    ({                                                                                                                 \
        before(call);                                                                                                  \
        long result_ = -1;                                                                                             \
        if ((call)->action == ERROR)                                                                                   \
            errno = (int)(call)->number;                                                                               \
        else                                                                                                           \
            result_ = (call)->action == SUCCEED ? (long)(seeming) : (real);                                            \
        after(call, result_);                                                                                          \
        result_;                                                                                                       \
    })
#define HALF(call, count) ((call)->action == SHORT && (count) > 1 ? (count) / 2 : (count))
#define WATCH_FILE(what, changes, file) is_watched(&call, what, changes, file, NULL, 0, NULL)
#define WATCH_NAME(what, changes, folder, name) is_watched(&call, what, changes, folder, name, 0, NULL)
// The second name of a call with off_t in it: the same type here.
#define TWIN(type, name, twin, parameters) type twin parameters __attribute__((alias(#name)))

// MARK: Opening

static int open_file(int folder, const char *path, int flags, mode_t mode) {
    struct call call;
    pthread_once(&once, read_variables);
    if (boot_id && path && !strcmp(path, "/proc/sys/kernel/random/boot_id")) path = boot_id;
    if (!WATCH_NAME("open", (flags & O_CREAT) != 0, folder, path))
        return (int)syscall(SYS_openat, folder, path, flags, mode);
    call.offset = flags;
    // An open is done in any case but an error: there is no descriptor to give for one that was not.
    return (int)DO(&call, syscall(SYS_openat, folder, path, flags, mode), syscall(SYS_openat, folder, path, flags, mode));
}

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                           \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                              \
        va_end(arguments);                                                                                             \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return open_file(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return open_file(folder, path, flags, mode);
}
int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
TWIN(int, open, open64, (const char *, int, ...));
TWIN(int, openat, openat64, (int, const char *, int, ...));
TWIN(int, creat, creat64, (const char *, mode_t));
// What a fortified program calls.
int __open_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags) { return open_file(folder, path, flags, 0); }
TWIN(int, __open_2, __open64_2, (const char *, int));
TWIN(int, __openat_2, __openat64_2, (int, const char *, int));

// MARK: Bytes

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    struct call call;
    if (!WATCH_FILE("pwrite", 1, file)) return syscall(SYS_pwrite64, file, bytes, count, offset);
    call.offset = offset;
    call.length = (long long)count;
    return DO(&call, count, syscall(SYS_pwrite64, file, bytes, HALF(&call, count), offset));
}
TWIN(ssize_t, pwrite, pwrite64, (int, const void *, size_t, off_t));

ssize_t write(int file, const void *bytes, size_t count) {
    struct call call;
    int saved = errno;
    struct stat status;
    int is_regular = syscall(SYS_fstat, file, &status) == 0 && S_ISREG(status.st_mode);
    errno = saved;
    if (!is_regular || !WATCH_FILE("write", 1, file)) return syscall(SYS_write, file, bytes, count);
    call.length = (long long)count;
    return DO(&call, count, syscall(SYS_write, file, bytes, HALF(&call, count)));
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    struct call call;
    if (!WATCH_FILE("pread", 0, file)) return syscall(SYS_pread64, file, bytes, count, offset);
    call.offset = offset;
    call.length = (long long)count;
    return DO(&call, 0, syscall(SYS_pread64, file, bytes, HALF(&call, count), offset));
}
TWIN(ssize_t, pread, pread64, (int, void *, size_t, off_t));
ssize_t __pread_chk(int file, void *bytes, size_t count, off_t offset, size_t room) {
    (void)room;
    return pread(file, bytes, count, offset);
}
TWIN(ssize_t, __pread_chk, __pread64_chk, (int, void *, size_t, off_t, size_t));

ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t count, unsigned flags) {
    struct call call;
    if (!WATCH_FILE("copy_file_range", 1, to))
        return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, count, flags);
    call.offset = to_offset ? *to_offset : -1;
    call.length = (long long)count;
    return DO(
        &call, count,
        syscall(SYS_copy_file_range, from, from_offset, to, to_offset, HALF(&call, count), flags));
}

int ioctl(int file, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct call call;
    if (request != 0x40049409 /* FICLONE */ || !WATCH_FILE("ficlone", 1, file))
        return (int)syscall(SYS_ioctl, file, request, argument);
    return (int)DO(&call, 0, syscall(SYS_ioctl, file, request, argument));
}

// MARK: Whole files

#define ON_FILE(name, number, parameters, length_, offset_, ...)                                                       \
    int name parameters {                                                                                              \
        struct call call;                                                                                              \
        if (!WATCH_FILE(#name, 1, file)) return (int)syscall(number, file, ##__VA_ARGS__);                             \
        call.length = (long long)(length_);                                                                            \
        call.offset = (long long)(offset_);                                                                            \
        return (int)DO(&call, 0, syscall(number, file, ##__VA_ARGS__));                                                \
    }
ON_FILE(fdatasync, SYS_fdatasync, (int file), -1, -1)
ON_FILE(fsync, SYS_fsync, (int file), -1, -1)
ON_FILE(syncfs, SYS_syncfs, (int file), -1, -1)
ON_FILE(ftruncate, SYS_ftruncate, (int file, off_t length), length, -1, length)
ON_FILE(fchmod, SYS_fchmod, (int file, mode_t mode), -1, mode, mode)
ON_FILE(fallocate, SYS_fallocate, (int file, int mode, off_t offset, off_t length), length, offset, mode, offset, length)
TWIN(int, ftruncate, ftruncate64, (int, off_t));
TWIN(int, fallocate, fallocate64, (int, int, off_t, off_t));

// MARK: Names

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    struct call call;
    if (!is_watched(&call, "rename", 1, from_folder, from, to_folder, to))
        return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    return (int)DO(&call, 0, syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return renameat2(from_folder, from, to_folder, to, 0);
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    struct call call;
    if (!is_watched(&call, "link", 1, from_folder, from, to_folder, to))
        return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    return (int)DO(&call, 0, syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *name, int flags) {
    struct call call;
    if (!WATCH_NAME("unlink", 1, folder, name)) return (int)syscall(SYS_unlinkat, folder, name, flags);
    return (int)DO(&call, 0, syscall(SYS_unlinkat, folder, name, flags));
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

int mkdirat(int folder, const char *name, mode_t mode) {
    struct call call;
    if (!WATCH_NAME("mkdir", 1, folder, name)) return (int)syscall(SYS_mkdirat, folder, name, mode);
    return (int)DO(&call, 0, syscall(SYS_mkdirat, folder, name, mode));
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

// MARK: What is there

int fstat(int file, struct stat *status) {
    struct call call;
    if (!WATCH_FILE("stat", 0, file)) return (int)syscall(SYS_fstat, file, status);
    return (int)DO(&call, 0, syscall(SYS_fstat, file, status));
}
TWIN(int, fstat, fstat64, (int, struct stat64 *));

int fstatat(int folder, const char *name, struct stat *status, int flags) {
    struct call call;
    if (!WATCH_NAME("stat", 0, folder, name)) return (int)syscall(SYS_newfstatat, folder, name, status, flags);
    return (int)DO(&call, 0, syscall(SYS_newfstatat, folder, name, status, flags));
}
TWIN(int, fstatat, fstatat64, (int, const char *, struct stat64 *, int));

// MARK: Locks

int flock(int file, int operation) {
    struct call call;
    if (!WATCH_FILE("flock", 0, file)) return (int)syscall(SYS_flock, file, operation);
    call.offset = operation;
    return (int)DO(&call, 0, syscall(SYS_flock, file, operation));
}

int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct call call;
    int is_open_file_lock = command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
    int is_process_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
    if (!(is_open_file_lock || is_process_lock) || !WATCH_FILE(is_open_file_lock ? "ofdlock" : "posixlock", 0, file))
        return (int)syscall(SYS_fcntl, file, command, argument);
    struct flock *lock = argument;
    call.offset = lock->l_start;
    call.length = lock->l_len;
    long result = DO(&call, 0, syscall(SYS_fcntl, file, command, argument));
    if (call.action == SUCCEED && (command == F_GETLK || command == F_OFD_GETLK)) lock->l_type = F_UNLCK;
    return (int)result;
}
TWIN(int, fcntl, fcntl64, (int, int, ...));

// MARK: File systems

static int say_network(struct call *call, struct statfs *status, long result) {
    if (call->action == NETWORK && result == 0) status->f_type = 0x6969; // NFS_SUPER_MAGIC
    return (int)result;
}

int fstatfs(int file, struct statfs *status) {
    struct call call;
    if (!WATCH_FILE("fstatfs", 0, file)) return (int)syscall(SYS_fstatfs, file, status);
    return say_network(&call, status, DO(&call, 0, syscall(SYS_fstatfs, file, status)));
}
int statfs(const char *path, struct statfs *status) {
    struct call call;
    if (!WATCH_NAME("fstatfs", 0, AT_FDCWD, path)) return (int)syscall(SYS_statfs, path, status);
    return say_network(&call, status, DO(&call, 0, syscall(SYS_statfs, path, status)));
}

// The kernel has no call of this name.
static int ask_for_space(int file, struct statvfs *status) {
    int (*real)(int, struct statvfs *) = (int (*)(int, struct statvfs *))dlsym(RTLD_NEXT, "fstatvfs");
    return real(file, status);
}
int fstatvfs(int file, struct statvfs *status) {
    struct call call;
    if (!WATCH_FILE("fstatvfs", 0, file)) return ask_for_space(file, status);
    long result = DO(&call, 0, ask_for_space(file, status));
    if (call.action == FULL && result == 0) status->f_bavail = status->f_bfree = 0;
    return (int)result;
}
TWIN(int, fstatvfs, fstatvfs64, (int, struct statvfs64 *));
