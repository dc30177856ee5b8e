/* Single copies whose work both sides share (transport/shm/single_copy.cpp): each half of each message is copied by exactly one
 * side, whole, and nobody writes into a buffer whose receive is over. The reader may be busy, the sender may not look, or its copy
 * may fail. */
#define MESSAGES 3
#define NONE 0
#define HALF 1
#define WHOLE 2
#define CLAIMED 3
#define WRITTEN 4
#define FAILED 5
#ifdef NO_NUMBERS
#define WORD(state, number) (state)
#else
#define WORD(state, number) ((number) * 8 + (state))
#endif
#define BUFFER(message) ((message) - 1)
#define START(state) ((state) == HALF -> 1 : 0)

byte offer, into; /* `into`: twice the buffer, and the first of its halves that is offered */
byte posted, taken;
byte copies[MESSAGES * 2];
bool over[MESSAGES];
byte ended;

inline copy(buffer, half) {
  assert(!over[buffer]);
  copies[(buffer) * 2 + half]++
}

active proctype sender() {
  byte m, open, where, half;
  bool claimed;
  do
  :: posted < MESSAGES && posted - taken < 2 -> posted++ /* the next may be posted before the last one is taken */
  :: taken < posted -> /* help(), with either */
    if
    :: m = posted
    :: posted > 1 -> m = posted - 1
    fi;
    open = offer;
    if
    :: open == WORD(HALF, m) || open == WORD(WHOLE, m) ->
      where = into;
#ifdef CLAIMED_BLINDLY
      offer = WORD(CLAIMED, m);
      claimed = true;
#else
      atomic {
        claimed = (offer == open);
        if
        :: claimed -> offer = WORD(CLAIMED, m)
        :: else
        fi
      };
#endif
      if
      :: claimed ->
        half = START(open % 8);
        assert(where == BUFFER(m) * 2 + half);
        if
        :: do
           :: half < 2 -> copy(BUFFER(m), half); half++
           :: else -> break
           od;
           offer = WORD(WRITTEN, m)
        :: offer = WORD(FAILED, m)
        fi
      :: else
      fi
    :: else
    fi
  :: taken == MESSAGES -> break
  od;
  ended++
}

/* Whether the offer of that kind could be withdrawn. */
inline withdraw(state) {
#ifdef WITHDRAWN_BLINDLY
  offer = NONE;
  withdrawn = true
#else
  atomic {
    if
    :: offer == WORD(state, m) -> offer = NONE; withdrawn = true
    :: else -> withdrawn = false
    fi
  }
#endif
}

inline make(state) {
  into = BUFFER(m) * 2 + START(state);
  offer = WORD(state, m)
}

active proctype a_reader() {
  byte m = 1, offered;
  bool withdrawn;
  do
  :: m <= MESSAGES ->
    posted >= m;
    offered = NONE;
    if
    :: make(WHOLE); withdraw(WHOLE); /* it was busy, and comes back */
       if
       :: withdrawn
       :: else -> offered = WHOLE
       fi
    :: true
    fi;
    if
    :: offered == NONE ->
      make(HALF);
      copy(BUFFER(m), 0);
      withdraw(HALF);
      if
      :: withdrawn -> copy(BUFFER(m), 1)
      :: else -> offered = HALF
      fi
    :: else
    fi;
    if
    :: offered != NONE ->
#ifndef CLAIMED_PART_NOT_AWAITED
      offer != WORD(CLAIMED, m);
#endif
      if
      :: offer == WORD(FAILED, m) ->
        if
        :: offered == WHOLE -> copy(BUFFER(m), 0)
        :: else
        fi;
        copy(BUFFER(m), 1)
      :: else
      fi
    :: else
    fi;
    assert(copies[BUFFER(m) * 2] == 1 && copies[BUFFER(m) * 2 + 1] == 1);
    over[BUFFER(m)] = true;
    taken = m;
    m++
  :: else -> break
  od;
  ended++
}

ltl all_end { <> (ended == 2) }
