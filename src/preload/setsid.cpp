// Keeps the ranks that a launcher starts in its own session.
//
// Why: Linux schedules each session as a group of its own ("autogroup"), and sched_yield() passes the CPU on within a group only.
// MPICH's launcher starts every rank in a new session, so ranks that share CPUs could not yield to each other, but only sleep and be
// woken: two to three times slower.
// How: loaded (LD_PRELOAD) by the launcher and its proxies, not by ranks. A process group of its own, by which these launchers signal
// a rank and its children, is all that is left of setsid().
#include <unistd.h>

extern "C" [[gnu::visibility("default")]] pid_t setsid() noexcept { return setpgid(0, 0) == 0 ? getpgrp() : -1; }
