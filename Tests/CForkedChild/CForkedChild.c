#include "CForkedChild.h"

#include <errno.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int forked_child_run(int (*body)(void *), void *context, unsigned seconds) {
    pid_t child = fork();
    if (child == -1) return -1;
    if (child == 0) {
        alarm(seconds);
        _exit(body(context));
    }
    int status = 0;
    while (waitpid(child, &status, 0) == -1) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
