/* Fragments from one rank to others, by slots and rings of lines (transport/shm/endpoint.cpp): none is lost, doubled, or
 * overwritten before all its readers have it, and all ranks come to their end. Numbers wrap; a payload is written and read in
 * two halves. Fragment m goes to both readers, or, each third, to the first one alone; each second lies in the lines themselves. */
#define DEPTH 2   /* lines of a ring */
#define SLOTS 2
#define NUMBERS 4 /* after which they begin anew; a multiple of DEPTH */
#define FRAGMENTS 7
#define READERS 2
#define FREE 255
#define PLUS_ONE(n) (((n) + 1) % NUMBERS)
#define LESS(a, b) (((a) + NUMBERS - (b)) % NUMBERS)
#define INSIDE(m) ((m) % 2)
#define GOES(m, reader) ((reader) == 0 || (m) % 3 != 1)
#define OUTSTANDING(number, reader) (LESS(sent[reader], number) < LESS(sent[reader], seen[reader]))
#define IN_USE(slot, reader) (uses[(slot) * READERS + reader] != FREE && OUTSTANDING(uses[(slot) * READERS + reader], reader))

byte first_half[SLOTS + READERS * DEPTH], second_half[SLOTS + READERS * DEPTH]; /* of slots, then of lines */
byte line_at[READERS * DEPTH], line_number[READERS * DEPTH];
byte taken[READERS]; /* what readers tell */
byte ended;

inline write(at) {
  first_half[at] = m;
  second_half[at] = m
}

active proctype writer() {
  byte m, slot, reader, line;
  byte sent[READERS], seen[READERS]; /* numbers; private copies of what readers have told, which may lag */
  byte uses[SLOTS * READERS];
  slot = 0;
  do
  :: slot < SLOTS * READERS -> uses[slot] = FREE; slot++
  :: else -> break
  od;
  m = 0;
  do
  :: m < FRAGMENTS ->
    reader = 0;
    do /* room in each ring: looks at the counter only where its copy says that there may be none */
    :: reader < READERS ->
      if
#ifdef RING_OVERRUN
      :: GOES(m, reader) && LESS(sent[reader], seen[reader]) > DEPTH ->
#else
      :: GOES(m, reader) && LESS(sent[reader], seen[reader]) >= DEPTH ->
#endif
        seen[reader] != taken[reader]; seen[reader] = taken[reader]
      :: else -> reader++
      fi
    :: else -> break
    od;
    slot = 0;
    do /* a slot that all to whom it went have taken */
    :: INSIDE(m) -> break
    :: !INSIDE(m) && IN_USE(slot, 0) ->
      seen[0] = taken[0];
      if
      :: IN_USE(slot, 0) -> slot = (slot + 1) % SLOTS
      :: else
      fi
#ifndef FASTEST_READER_COUNTS
    :: !INSIDE(m) && !IN_USE(slot, 0) && IN_USE(slot, 1) ->
      seen[1] = taken[1];
      if
      :: IN_USE(slot, 1) -> slot = (slot + 1) % SLOTS
      :: else
      fi
    :: !INSIDE(m) && !IN_USE(slot, 0) && !IN_USE(slot, 1) -> break
#else
    :: !INSIDE(m) && !IN_USE(slot, 0) -> break
#endif
    od;
#ifndef LINE_BEFORE_SLOT
    if
    :: !INSIDE(m) -> write(slot)
    :: else
    fi;
#endif
    reader = 0;
    do
    :: reader < READERS ->
      if
      :: GOES(m, reader) ->
        line = reader * DEPTH + sent[reader] % DEPTH;
        if
        :: INSIDE(m) -> write(SLOTS + line); line_at[line] = SLOTS + line
        :: else -> line_at[line] = slot
        fi;
        sent[reader] = PLUS_ONE(sent[reader]);
        line_number[line] = sent[reader]
      :: else
      fi;
      if
      :: INSIDE(m)
      :: !INSIDE(m) && GOES(m, reader) -> uses[slot * READERS + reader] = sent[reader]
      :: else -> uses[slot * READERS + reader] = FREE
      fi;
      reader++
    :: else -> break
    od;
#ifdef LINE_BEFORE_SLOT
    if
    :: !INSIDE(m) -> write(slot)
    :: else
    fi;
#endif
    m++
  :: else -> break
  od;
  ended++
}

active [READERS] proctype a_reader() {
  byte m, at, line, number;
  byte self = _pid - 1;
  do
  :: m < FRAGMENTS && GOES(m, self) ->
    line = self * DEPTH + number % DEPTH;
    line_number[line] == PLUS_ONE(number);
    at = line_at[line];
#ifdef COUNTER_BEFORE_SLOT
    taken[self] = PLUS_ONE(number);
#endif
    assert(first_half[at] == m);
    assert(second_half[at] == m);
    number = PLUS_ONE(number);
    taken[self] = number;
    m++
  :: m < FRAGMENTS && !GOES(m, self) -> m++
  :: m == FRAGMENTS -> break
  od;
  ended++
}

ltl all_end { <> (ended == READERS + 1) }
