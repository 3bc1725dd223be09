// The program's entry point is in C, since Swift reads the arguments from /proc/self/cmdline on Linux: without /proc
// there would be none. ResumeCommands has the rest.
extern int resumectl_main(int count, char **arguments);

int main(int count, char **arguments) { return resumectl_main(count, arguments); }
