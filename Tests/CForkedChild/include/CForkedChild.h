#ifndef CFORKEDCHILD_H
#define CFORKEDCHILD_H

/// Forks, and ends the child with what `body` returns there; a signal ends it after some seconds.
/// Returns the child's status, 128 and the signal's number where one ended it, -1 where there is no child.
int forked_child_run(int (*body)(void *), void *context, unsigned seconds);

#endif
