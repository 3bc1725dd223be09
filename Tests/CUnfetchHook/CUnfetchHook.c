#include "CUnfetchHook.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

static void (*armed)(void *);
static void *armed_context;

void unfetch_hook_arm(void (*callback)(void *), void *context) {
    armed = callback;
    armed_context = context;
}

typedef struct HookedFile {
    sqlite3_file base;
    sqlite3_file *real;
} HookedFile;

#define REAL(file) (((HookedFile *)(file))->real)
#define CALL(file, method) REAL(file)->pMethods->method

static int hook_close(sqlite3_file *f) { return CALL(f, xClose)(REAL(f)); }
static int hook_read(sqlite3_file *f, void *b, int n, sqlite3_int64 o) { return CALL(f, xRead)(REAL(f), b, n, o); }
static int hook_write(sqlite3_file *f, const void *b, int n, sqlite3_int64 o) { return CALL(f, xWrite)(REAL(f), b, n, o); }
static int hook_truncate(sqlite3_file *f, sqlite3_int64 n) { return CALL(f, xTruncate)(REAL(f), n); }
static int hook_sync(sqlite3_file *f, int flags) { return CALL(f, xSync)(REAL(f), flags); }
static int hook_size(sqlite3_file *f, sqlite3_int64 *n) { return CALL(f, xFileSize)(REAL(f), n); }
static int hook_lock(sqlite3_file *f, int l) { return CALL(f, xLock)(REAL(f), l); }
static int hook_unlock(sqlite3_file *f, int l) { return CALL(f, xUnlock)(REAL(f), l); }
static int hook_check(sqlite3_file *f, int *r) { return CALL(f, xCheckReservedLock)(REAL(f), r); }
static int hook_control(sqlite3_file *f, int op, void *a) { return CALL(f, xFileControl)(REAL(f), op, a); }
static int hook_sector(sqlite3_file *f) { return CALL(f, xSectorSize)(REAL(f)); }
static int hook_device(sqlite3_file *f) { return CALL(f, xDeviceCharacteristics)(REAL(f)); }
static int hook_shm_map(sqlite3_file *f, int p, int s, int e, void volatile **v) {
    return CALL(f, xShmMap)(REAL(f), p, s, e, v);
}
static int hook_shm_lock(sqlite3_file *f, int o, int n, int flags) { return CALL(f, xShmLock)(REAL(f), o, n, flags); }
static void hook_shm_barrier(sqlite3_file *f) { CALL(f, xShmBarrier)(REAL(f)); }
static int hook_shm_unmap(sqlite3_file *f, int d) { return CALL(f, xShmUnmap)(REAL(f), d); }
static int hook_fetch(sqlite3_file *f, sqlite3_int64 o, int n, void **p) {
    (void)f;
    (void)o;
    (void)n;
    *p = NULL;
    return SQLITE_OK;
}
static int hook_unfetch(sqlite3_file *f, sqlite3_int64 o, void *p) {
    (void)f;
    (void)p;
    if (o == 0 && armed) {
        void (*callback)(void *) = armed;
        armed = NULL;
        callback(armed_context);
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods hook_methods = {
    3, hook_close, hook_read, hook_write, hook_truncate, hook_sync, hook_size, hook_lock, hook_unlock, hook_check,
    hook_control, hook_sector, hook_device, hook_shm_map, hook_shm_lock, hook_shm_barrier, hook_shm_unmap, hook_fetch,
    hook_unfetch};

static int hook_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    sqlite3_vfs *real = (sqlite3_vfs *)vfs->pAppData;
    if (!(flags & SQLITE_OPEN_MAIN_DB)) return real->xOpen(real, name, file, flags, out);
    HookedFile *hooked = (HookedFile *)file;
    hooked->real = (sqlite3_file *)(hooked + 1);
    memset(hooked->real, 0, (size_t)real->szOsFile);
    int code = real->xOpen(real, name, hooked->real, flags, out);
    hooked->base.pMethods = code == SQLITE_OK ? &hook_methods : NULL;
    return code;
}

int unfetch_hook_register(void) {
    static sqlite3_vfs vfs;
    if (sqlite3_vfs_find("unfetch-hook")) return SQLITE_OK;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    if (!real) return SQLITE_ERROR;
    vfs = *real;
    vfs.pNext = NULL;
    vfs.zName = "unfetch-hook";
    vfs.pAppData = real;
    vfs.szOsFile = (int)sizeof(HookedFile) + real->szOsFile;
    vfs.xOpen = hook_open;
    return sqlite3_vfs_register(&vfs, 0);
}
