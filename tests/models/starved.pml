/* A message is not stuck for lack of slots (transport/shm/endpoint.cpp): the writer's one slot holds what a reader will take only
 * after it has heard of the other, who waits for the writer. What goes to an idle channel then goes through its lines. */
byte to_first, to_second, from_second; /* messages that were sent */
bool slot_in_use, first_has_taken;

active proctype writer() {
  slot_in_use = true;
  to_first = 1;
  if
  :: first_has_taken -> slot_in_use = false; to_second = 1 /* by the slot, which is free again */
#ifndef SLOTS_ONLY
  :: to_second = 1 /* by lines */
#endif
  fi
}

active proctype first_reader() {
  from_second == 1;
  to_first == 1;
  first_has_taken = true
}

active proctype second_reader() {
  to_second == 1;
  from_second = 1
}

ltl all_hear { <> first_has_taken }
