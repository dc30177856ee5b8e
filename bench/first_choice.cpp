// What it takes the model to choose, when an operation is first used with a size of another class: all operations that it
// chooses for, 64 ranks on one node, on 8 nodes of 8 and alone, seven sizes. Best of several, each from nothing; the
// machine file is read before.
//
//   first_choice [REPEATS [OPERATION]]    a table, the slowest first
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "model/advise.hpp"
#include "model/predict.hpp"
#include "schedule/hierarchy.hpp"

namespace {

using namespace omnes;

constexpr int p = 64;
constexpr std::size_t sizes[] = {8, 256, 2048, 16384, 65536, 262144, 1048576};

struct Case {
  std::string what;
  double micros;
  std::string outcome;
};

Case measure(const Selector& selector, Operation operation, int per_node, std::size_t bytes, int repeats) {
  using Clock = std::chrono::steady_clock;
  const Placement placement = model::blocks_of(p, per_node);
  const std::vector<std::int32_t>& node = placement.levels.front().unit;
  Question question{.operation = operation, .p = p, .bytes = bytes};
  question.lie_on(node, true);
  question.hierarchy = std::make_shared<const Hierarchy>(placement);
  Case result{std::string(name(operation)) + " | " + std::to_string(p / per_node) + " | " + bytes_text(bytes), 1e9, {}};
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    model::Advisor advisor(nullptr, placement, node);
    const Advice found = advisor(selector, question);
    const std::chrono::duration<double, std::micro> passed = Clock::now() - start;
    result.micros = std::min(result.micros, passed.count());
    result.outcome = found.choice ? to_string(*found.choice) + ": " + found.why : found.why;
  }
  return result;
}

}  // namespace

int main(int count, char** words) {
  const int repeats = count > 1 ? std::atoi(words[1]) : 7;
  const std::string only = count > 2 ? words[2] : "";
  const Selector selector{Settings{}};
  model::known_default();
  std::vector<Case> cases;
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (unequal(operation) || among_neighbors(operation) || (!only.empty() && only != name(operation))) continue;
    for (const int per_node : {64, 8, 1})
      for (const std::size_t bytes : sizes)
        if (operation != Operation::barrier || bytes == sizes[0])
          cases.push_back(measure(selector, operation, per_node, bytes, repeats));
  }
  std::ranges::sort(cases, [](const Case& a, const Case& b) { return a.micros > b.micros; });
  std::printf("| operation | nodes | bytes | µs | |\n|---|---|---|---|---|\n");
  for (const Case& c : cases) std::printf("| %s | %.0f | %s |\n", c.what.c_str(), c.micros, c.outcome.c_str());
  const auto quick = std::ranges::count_if(cases, [](const Case& c) { return c.micros < 1000; });
  std::printf("\n%td of %zu below 1 ms, median %.0f µs\n", quick, cases.size(), cases[cases.size() / 2].micros);
}
