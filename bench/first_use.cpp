// What it takes to find out, at an algorithm's first use, whether ranks are renumbered: all flat algorithms of the
// operations with equal parts, 64 ranks on 8 nodes of 8, consecutive and dealt in turns, parts of 16 KiB. Best of
// several, each from nothing; the machine file is read before.
//
//   first_use [REPEATS [OPERATION/ALGORITHM]]    a table, the slowest first
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/renumbering.hpp"

namespace {

using namespace omnes;

constexpr int nodes = 8, per_node = 8, p = nodes * per_node;
constexpr std::size_t part_bytes = 16384;

Placement placement(bool cyclic) {
  Placement made{.p = p, .levels = {{"node", {}}}};
  for (int rank = 0; rank < p; ++rank) made.levels[0].unit.push_back(cyclic ? rank % nodes : rank / per_node);
  return made;
}

struct Case {
  std::string algorithm;
  bool cyclic;
  double micros;
  std::string outcome;
};

Case measure(const Algorithm& algorithm, bool cyclic, int repeats) {
  using Clock = std::chrono::steady_clock;
  const Choice choice{.algorithm = &algorithm};
  Case result{std::string(name(algorithm.operation)) + '/' + algorithm.name, cyclic, 1e9, {}};
  for (int i = 0; i < repeats; ++i) {
    Renumbering renumbering(Remap::automatic, false, placement(cyclic));
    const Choice first{.algorithm = find_algorithm(Operation::barrier, "ring")};
    renumbering.find(first, Operation::barrier, 0, 0, true);  // reads the machine
    const auto start = Clock::now();
    const Renumbered found = renumbering.find(choice, algorithm.operation, 0, part_bytes, true);
    const std::chrono::duration<double, std::micro> passed = Clock::now() - start;
    result.micros = std::min(result.micros, passed.count());
    result.outcome = found.mapping ? found.text().substr(1) + ", " + found.why : found.why;
  }
  return result;
}

}  // namespace

int main(int count, char** words) {
  const int repeats = count > 1 ? std::atoi(words[1]) : 7;
  const std::string only = count > 2 ? words[2] : "";
  std::vector<Case> cases;
  for (const Algorithm* algorithm : catalogue()) {
    const Operation operation = algorithm->operation;
    if (algorithm->hierarchical || unequal(operation) || among_neighbors(operation)) continue;
    if (!only.empty() && only != std::string(name(operation)) + '/' + algorithm->name) continue;
    for (const bool cyclic : {false, true}) cases.push_back(measure(*algorithm, cyclic, repeats));
  }
  std::ranges::sort(cases, [](const Case& a, const Case& b) { return a.micros > b.micros; });
  std::printf("| algorithm | ranks | µs | |\n|---|---|---|---|\n");
  for (const Case& c : cases)
    std::printf("| %s | %s | %.0f | %s |\n", c.algorithm.c_str(), c.cyclic ? "cyclic" : "block", c.micros,
                c.outcome.c_str());
  const auto quick = std::ranges::count_if(cases, [](const Case& c) { return c.micros < 200; });
  std::printf("\n%td of %zu below 200 µs\n", quick, cases.size());
}
