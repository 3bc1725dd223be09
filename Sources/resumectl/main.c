#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// The program's entry point is in C, which passes the arguments on as they are: Swift would read them from
// /proc/self/cmdline on Linux, which may be missing, and replace what is not UTF-8. ResumeCommands has the rest.
extern int resumectl_main(int count, char **arguments);

int main(int count, char **arguments) {
#ifdef __GLIBC__
    // By default glibc keeps up to eight heaps for each processor. What one thread frees in its heap is lost to the
    // others, so the memory of a long run grew with the number of threads.
    mallopt(M_ARENA_MAX, 2);
#endif
    return resumectl_main(count, arguments);
}
