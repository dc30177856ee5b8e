/* Threads of a process that go to sleep at one word, and who wakes them (transport/shm/waiting.hpp), on a processor that holds a
 * store back until a fence. With a fence on both sides nobody is missed; without the writers', as where ranks seldom sleep, the
 * time-out ends each sleep: TIMES_OUT. */
#ifndef THREADS
#define THREADS 1
#endif

byte announced;         /* the word: sleeps announced since the last wake-up, */
byte wake_ups;          /* and these */
bool data[THREADS];     /* what each thread waits for */
bool sleeping[THREADS]; /* in the kernel */
byte ended;

active [THREADS] proctype writer() {
  byte self = _pid;
  bool saw, own;
  if
  :: data[self] = true; saw = announced > 0
#ifdef NO_FENCE_BEFORE_WAKE
  :: saw = announced > 0; data[self] = true
#endif
  fi;
  if
  :: saw ->
    atomic { own = announced > 0; if :: own -> announced = 0; wake_ups++ :: else fi };
    if
    :: own ->
#ifndef SLEEPER_NOT_WOKEN
      atomic { byte i = 0; do :: i < THREADS -> sleeping[i] = false; i++ :: else -> break od }
#else
      skip
#endif
    :: else
    fi
  :: else
  fi;
  ended++
}

active [THREADS] proctype sleeper() {
  byte self = _pid - THREADS;
  bool found, is_announced;
  byte mine, seen, seen_wake_ups;
  do
  :: data[self] -> break
  :: else ->
    if
    :: !is_announced ->
      if
      :: atomic { announced++; mine = wake_ups }; found = data[self]
#ifdef NO_FENCE_BEFORE_SLEEP
      :: found = data[self]; atomic { announced++; mine = wake_ups }
#endif
#ifdef NO_LAST_LOOK
      :: atomic { announced++; mine = wake_ups }; found = false
#endif
      fi;
      is_announced = true;
    :: else -> found = false
    fi;
    if
    :: !found ->
      atomic { seen = announced; seen_wake_ups = wake_ups };
      if
#ifdef ANOTHERS_ANNOUNCEMENT
      :: seen > 0 ->
#else
      :: seen_wake_ups == mine ->
#endif
        atomic { sleeping[self] = (announced == seen && wake_ups == seen_wake_ups) }; /* as the futex does */
#ifdef TIMES_OUT
        sleeping[self] = false
#else
        !sleeping[self]
#endif
      :: else
      fi;
      if
      :: wake_ups != mine -> is_announced = false
      :: else
      fi
    :: else
    fi
  od;
  if
  :: is_announced ->
#ifdef WITHDRAWN_BLINDLY
    announced = 0
#else
    atomic { if :: wake_ups == mine -> announced-- :: else fi }
#endif
  :: else
  fi;
  ended++
}

ltl all_end { <> (ended == 2 * THREADS) }
