// A virtual file system over SQLite's default one that calls back from xUnfetch of the main database: the place, inside
// a checkpoint, between reading the log's header and copying its frames.
#ifndef CUNFETCHHOOK_H
#define CUNFETCHHOOK_H

/// Registers the file system under the name "unfetch-hook". Returns SQLITE_OK.
int unfetch_hook_register(void);

/// Sets what is called once, from the next xUnfetch with offset 0; NULL for nothing.
void unfetch_hook_arm(void (*callback)(void *), void *context);

#endif
