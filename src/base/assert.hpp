// Preconditions that are checked in tests: with OMNES_ASSERTIONS, as sanitizer builds and the preset `core` have it.
#pragma once

#ifdef OMNES_ASSERTIONS
#include <cstdio>
#include <cstdlib>

/// Says what does not hold, and where, and ends the process.
#define OMNES_ASSERT(condition)       \
  ((condition) ? static_cast<void>(0) \
               : (std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition), std::abort()))
#else
#define OMNES_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#endif
