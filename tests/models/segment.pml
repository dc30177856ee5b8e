/* A segment's first use, and its hand-over to others (transport/shm/endpoint.hpp, let_go): who comes late finds what was sent to it;
 * the next users, told by a ticket of one who has seen that all have let go, go on where the queues stopped, and see all that was done. */
#define RANKS 2
#define USES 3
#define NUMBERS 4

byte let_go[RANKS];
byte ticket[RANKS];        /* what the founder of a use has told each rank */
byte users[USES + 1];      /* ranks that are in that use */
byte ring[RANKS];          /* one line: number of the last fragment */
byte payload[RANKS];
byte taken[RANKS];
byte ended;

inline exchange(use) {
  byte other = 1 - self;
  /* sends to the other, which may not have come yet */
  sent == taken[other];
  payload[self] = use;
  sent = (sent + 1) % NUMBERS;
  ring[self] = sent;
  /* and receives */
  ring[other] == (got + 1) % NUMBERS;
  assert(payload[other] == use);
  got = (got + 1) % NUMBERS;
  taken[self] = got
}

active [RANKS] proctype rank() {
  byte self = _pid, use = 1, sent = 0, got = 0;
  do
  :: use <= USES ->
    if
    :: self == 0 ->
#ifndef NOT_ALL_LET_GO
      let_go[0] == use - 1 && let_go[1] == use - 1;
#else
      let_go[0] == use - 1;
#endif
      ticket[1] = use
    :: else -> ticket[1] == use
    fi;
    if
    :: use == 1 ->
#ifdef CLEARED_ON_ARRIVAL
      ring[1 - self] = 0;
#endif
      taken[self] = 0 /* its own counters, as they were */
    :: else
    fi;
    users[use]++;
    assert(use == 1 || users[use - 1] == 0);
#ifdef LET_GO_EARLY
    let_go[self] = use;
#endif
    exchange(use);
    users[use]--;
    let_go[self] = use;
    use++
  :: else -> break
  od;
  ended++
}

ltl all_end { <> (ended == RANKS) }
