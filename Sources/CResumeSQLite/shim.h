// Parts of sqlite3.h that Swift cannot import: variadic functions and pointer constants.
#ifndef CRESUMESQLITE_SHIM_H
#define CRESUMESQLITE_SHIM_H

#include <sqlite3.h>

static inline int resume_sqlite3_config_flag(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}

static inline int resume_sqlite3_config_memory_statistics(int value) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, value);
}

// In a function, since Swift emits no variables of a header.
static inline sqlite3_vfs *resume_sqlite3_default(void) {
    static sqlite3_vfs *vfs;
    return vfs ? vfs : (vfs = sqlite3_vfs_find(0));
}

static inline int resume_sqlite3_open_file(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *opened) {
    if (flags & SQLITE_OPEN_SUPER_JOURNAL) return SQLITE_CANTOPEN;
    return resume_sqlite3_default()->xOpen(resume_sqlite3_default(), name, file, flags, opened);
}

// Registers, once, SQLite's file system without super-journals, and returns its name. After a journal was played back that
// names a super-journal, SQLite opens that and removes it, wherever it is: who can write to the folder of a database could
// remove files of its user. Each transaction uses one database, so there are none.
static inline const char *resume_sqlite3_file_system(void) {
    static sqlite3_vfs vfs;
    if (!resume_sqlite3_default()) return "";
    vfs = *resume_sqlite3_default();
    vfs.zName = "resume-store";
    vfs.xOpen = resume_sqlite3_open_file;
    sqlite3_vfs_register(&vfs, 0);
    return vfs.zName;
}

// SQLITE_TRANSIENT: SQLite makes its own copy before the call returns. A null pointer would be NULL, not empty.
static inline int resume_sqlite3_bind_text(sqlite3_stmt *statement, int index, const void *text, sqlite3_uint64 size) {
    return sqlite3_bind_text64(statement, index, size ? text : "", size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int resume_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 size) {
    return sqlite3_bind_blob64(statement, index, size ? bytes : "", size, SQLITE_TRANSIENT);
}

#endif
