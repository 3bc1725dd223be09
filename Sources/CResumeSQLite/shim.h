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

// SQLITE_TRANSIENT: SQLite makes its own copy before the call returns. A null pointer would be NULL, not empty.
static inline int resume_sqlite3_bind_text(sqlite3_stmt *statement, int index, const void *text, sqlite3_uint64 size) {
    return sqlite3_bind_text64(statement, index, size ? text : "", size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int resume_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 size) {
    return sqlite3_bind_blob64(statement, index, size ? bytes : "", size, SQLITE_TRANSIENT);
}

#endif
