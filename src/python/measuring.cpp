// What one core takes for copies and reductions, measured here: for machine files.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

#include "python/bindings.hpp"
#include "runtime/reduction.hpp"
#include "transport/shm/copy.hpp"

namespace omnes::python {

namespace {

constexpr std::int64_t max_bytes = 1 << 30;
constexpr int max_rounds = 1 << 16;
constexpr double batch_seconds = 0.0005;  // long against the clock's resolution

/// Seconds of one run, a value for each round; each round runs as often as fills a batch.
std::vector<double> timed(int rounds, const auto& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  long calls = 1;
  while (static_cast<int>(seconds.size()) < rounds) {
    const auto begin = Clock::now();
    for (long i = 0; i < calls; ++i) run();
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
    if (taken < batch_seconds && calls < 1L << 24)
      calls *= 2;  // not yet a batch
    else
      seconds.push_back(taken / static_cast<double>(calls));
  }
  return seconds;
}

void require_sane(std::size_t bytes, int rounds) {
  require_within("bytes", static_cast<std::int64_t>(std::min<std::size_t>(bytes, INT64_MAX)), 0, max_bytes);
  require_within("rounds", rounds, 0, max_rounds);
}

std::vector<double> time_copy(std::size_t bytes, int rounds) {
  require_sane(bytes, rounds);
  std::vector<std::byte> from(bytes + 1), to(bytes + 1);
  return timed(rounds, [&] { shm::copy_bytes(to.data(), from.data(), bytes); });
}

std::vector<double> time_reduction(const std::string& type, const std::string& op, std::size_t bytes, int rounds) {
  static const std::map<std::string, Element> types = {
      {"i32", Element::i32}, {"i64", Element::i64}, {"f32", Element::f32}, {"f64", Element::f64}};
  static const std::map<std::string, ReduceOp> ops = {
      {"sum", ReduceOp::sum}, {"prod", ReduceOp::prod}, {"max", ReduceOp::max}, {"min", ReduceOp::min}};
  if (!types.contains(type)) throw std::invalid_argument("no type '" + type + "'; valid: f32, f64, i32, i64");
  if (!ops.contains(op)) throw std::invalid_argument("no operation '" + op + "'; valid: max, min, prod, sum");
  require_sane(bytes, rounds);
  const Element element = types.at(type);
  const ReduceFn combine = kernel(ops.at(op), element);
  std::vector<double> a(bytes / sizeof(double) + 1), b(a.size());  // zeros stay zeros: no overflow, no denormals
  return timed(rounds, [&] { combine(nullptr, a.data(), b.data(), b.data(), bytes / size_of(element)); });
}

}  // namespace

void bind_measuring(nb::module_& m) {
  m.def("time_copy", time_copy, nb::arg("bytes"), nb::arg("rounds"),
        "Seconds that one core takes to copy so many bytes (up to 2^30): a value for each round.");
  m.def("time_reduction", time_reduction, nb::arg("type"), nb::arg("op"), nb::arg("bytes"), nb::arg("rounds"),
        R"(Seconds that one core takes to combine two operands of so many bytes (up to 2^30): a value for each round.

type: f32, f64, i32, i64; op: max, min, prod, sum.)");
}

}  // namespace omnes::python
