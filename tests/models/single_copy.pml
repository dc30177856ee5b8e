/* Single copies whose work both sides share (transport/shm/single_copy.cpp): each half of each message is copied by exactly one
 * side, whole, and nobody writes into a buffer whose receive is over. The reader may be busy, the sender may not look, or its copy
 * may fail. Where the reader's fails, the sender hands over what is left, a half at a time; then a half that it has written may come
 * again. */
#define MESSAGES 3
#define NONE 0
#define HALF 1
#define WHOLE 2
#define CLAIMED 3
#define WRITTEN 4
#define FAILED 5
#define REFUSED 6
#define HANDED 7
#ifdef NO_NUMBERS
#define WORD(state, number) (state)
#else
#define WORD(state, number) ((number) * 8 + (state))
#endif
#define BUFFER(message) ((message) - 1)
#define START(state) ((state) == HALF -> 1 : 0)

byte offer, into; /* `into`: twice the buffer, and the first of its halves that is offered */
byte slot; /* which half of which buffer is in it */
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
  :: taken < posted -> /* help(), with each */
    m = (posted > 1 -> posted - 1 : posted);
    do
    :: m <= posted ->
      open = offer;
      if
      :: open == WORD(REFUSED, m) ->
        slot = into;
        offer = WORD(HANDED, m)
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
      fi;
      m++
    :: else -> break
    od
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

/* The next half, if the system lets the reader have it. */
inline pull() {
  if
  :: !refused -> copy(BUFFER(m), done); done++
  :: refused = true
  fi
}

active proctype a_reader() {
  byte m = 1, offered, done;
  bool withdrawn, refused;
  do
  :: m <= MESSAGES ->
    posted >= m;
    offered = NONE;
    done = 0;
    refused = false;
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
      pull();
      withdraw(HALF);
      if
      :: withdrawn -> pull()
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
        :: offered == WHOLE -> pull()
        :: else
        fi;
        pull()
      :: else ->
        if
        :: !refused -> done = 2
        :: else
        fi
      fi
    :: else
    fi;
    do
    :: done < 2 ->
      into = BUFFER(m) * 2 + done;
      offer = WORD(REFUSED, m);
#ifndef PIECE_NOT_AWAITED
      offer == WORD(HANDED, m);
#endif
      assert(slot == BUFFER(m) * 2 + done);
      copy(BUFFER(m), done);
      done++
    :: else -> break
    od;
    offer = (refused -> NONE : offer);
    assert(copies[BUFFER(m) * 2] == 1 && (copies[BUFFER(m) * 2 + 1] == 1 || (refused && copies[BUFFER(m) * 2 + 1] == 2)));
    over[BUFFER(m)] = true;
    taken = m;
    m++
  :: else -> break
  od;
  ended++
}

ltl all_end { <> (ended == 2) }
