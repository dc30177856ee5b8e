// Closed formulas: what eleven algorithms cost with a latency, a bandwidth and a reduction speed that are the same everywhere.
//
// They know neither levels nor contention: what they leave out, the simulation (simulate.hpp) shows. Source: Luo, Zhang 2017; for what is not a
// power of two, row 10 is as in Thakur, Rabenseifner, Gropp 2005.
#pragma once

#include <span>
#include <string_view>

#include "schedule/schedule.hpp"

namespace omnes::model {

struct Hockney {
  double alpha = 0;  ///< seconds for a message
  double beta = 0;   ///< seconds for a byte on the way
  double gamma = 0;  ///< seconds for a byte combined
};

struct Formula {
  int number;  ///< its row in the source
  Operation operation;
  const char* algorithm;  ///< as in the catalogue
  const char* text;
  /// n: the message; where there is a part for each rank, all parts together.
  double (*seconds)(const Hockney& machine, double p, double n);
};

std::span<const Formula> formulas();
/// nullptr when there is none.
const Formula* find_formula(Operation operation, std::string_view algorithm);
/// For parts of so many bytes.
double seconds(const Formula& formula, const Hockney& machine, int p, double part_bytes);

}  // namespace omnes::model
