// While the program is in one of MPI's functions beside the collectives: for what counts calls, and for what checks them.
#pragma once

#include "interpose/check/check.hpp"
#include "interpose/communicator/report.hpp"

namespace omnes::interpose {

class InFunction {
 public:
  explicit InFunction(check::Function function) : checked_(function), counted_(check::name(function)) {}

 private:
  check::Inside checked_;
  InMpi counted_;
};

}  // namespace omnes::interpose
