// MPI's functions beside the collectives: how they go on to the host while nothing of ours exists, and what is known of a
// program that is in one, for what counts calls and for what checks them.
#pragma once

#include "interpose/check/check.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/host/export.hpp"

// Opens the definition of such a function: the body is what it does while something of ours exists, and until then it is
// a look and a jump. The body stands apart: what it needs of the stack and of registers would be saved and restored on
// the way to the host, too. Programs test a request some fifty million times in a second.
#define OMNES_STRAIGHT(name, parameters, arguments) OMNES_STRAIGHT_EXPANDED(name, parameters, arguments, (void)0)
#define OMNES_STRAIGHT_EXPANDED(name, parameters, arguments, first) \
  [[gnu::noinline]] static int name##_detour parameters;            \
  OMNES_EXPORT(name, OMNES_LIST parameters) {                       \
    first;                                                          \
    if (straight()) [[likely]]                                      \
      return call_host(host.name, OMNES_LIST arguments);            \
    return name##_detour arguments;                                 \
  }                                                                 \
  static int name##_detour parameters
#define OMNES_LIST(...) __VA_ARGS__

namespace omnes::interpose {

class InFunction {
 public:
  explicit InFunction(check::Function function) : checked_(function), counted_(check::name(function)) {}

 private:
  check::Inside checked_;
  InMpi counted_;
};

}  // namespace omnes::interpose
