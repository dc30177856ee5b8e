/* What Open MPI keeps of ours with a communicator, where omnes is a component of it; for C and C++. */
#pragma once

#include "interpose/host/collectives.h"

/* The function that did it before ours, and its module. */
struct OmnesBefore {
  void (*function)(void);
  void* module;
};

#define OMNES_FORMS_BEFORE(X, name, operation) X(name) X(I##operation) X(name##_init)
#define OMNES_BEFORE_MEMBER(name) struct OmnesBefore name;
struct OmnesModule {
  void* state; /* of the communicator, once its lanes are open: the fast path */
  struct {
    OMNES_FORMS_BEFORE(OMNES_BEFORE_MEMBER, Barrier, barrier)
    OMNES_COLLECTIVES(OMNES_FORMS_BEFORE, OMNES_BEFORE_MEMBER)
  } before;
};

/* In Open MPI's module, whose own part is smaller: 584 bytes in version 4.1. */
#define OMNES_OFFSET_IN_MODULE 1024
