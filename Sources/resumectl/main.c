// The program's entry point is in C, which passes the arguments on as they are: Swift would read them from
// /proc/self/cmdline on Linux, which may be missing, and replace what is not UTF-8. ResumeCommands has the rest.
extern int resumectl_main(int count, char **arguments);

int main(int count, char **arguments) { return resumectl_main(count, arguments); }
