/* Ranks that go to sleep, and who wakes them (transport/shm/waiting.hpp), on a processor that holds a store back until a fence.
 * With a fence on both sides nobody is missed; without the writer's, as where ranks seldom sleep, and where two threads of a
 * process sleep at one word, the time-out ends each sleep: TIMES_OUT. */
#ifndef THREADS
#define THREADS 1
#endif

bool asleep;      /* the word */
byte threads;     /* that have announced a sleep */
bool data;        /* what they wait for */
bool sleeping[2]; /* in the kernel */
byte ended;

active proctype writer() {
  bool saw;
  if
  :: data = true; saw = asleep
#ifdef NO_FENCE_BEFORE_WAKE
  :: saw = asleep; data = true
#endif
  fi;
  if
  :: saw ->
#ifndef SLEEPER_NOT_WOKEN
    asleep = false;
    atomic { sleeping[0] = false; sleeping[1] = false }
#else
    skip
#endif
  :: else
  fi;
  ended++
}

active [THREADS] proctype sleeper() {
  byte self = _pid - 1;
  bool found, last;
  do
  :: data -> break
  :: else -> /* announces */
    threads++;
    if
    :: asleep = true; found = data
#ifdef NO_FENCE_BEFORE_SLEEP
    :: found = data; asleep = true
#endif
#ifdef NO_LAST_LOOK
    :: asleep = true; found = false
#endif
    fi;
    if
    :: !found ->
      atomic { sleeping[self] = asleep }; /* as the futex does */
#ifdef TIMES_OUT
      sleeping[self] = false
#else
      !sleeping[self]
#endif
    :: else
    fi;
    atomic { threads--; last = (threads == 0) };
    if
    :: last -> asleep = false
    :: else
    fi
  od;
  ended++
}

ltl all_end { <> (ended == THREADS + 1) }
