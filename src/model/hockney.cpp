// The eleven rows, in the source's order.
#include "model/hockney.hpp"

#include <array>
#include <cmath>

namespace omnes::model {

namespace {

double lb(double p) { return std::log2(p); }
double rounds(double p) { return std::ceil(std::log2(p)); }
double others(double p) { return (p - 1) / p; }

double tree(const Hockney& m, double p, double n) { return rounds(p) * (m.alpha + n * m.beta); }
double reducing_tree(const Hockney& m, double p, double n) { return rounds(p) * (m.alpha + n * m.beta + n * m.gamma); }
double halving_tree(const Hockney& m, double p, double n) { return rounds(p) * m.alpha + others(p) * n * m.beta; }
double ring(const Hockney& m, double p, double n) { return (p - 1) * m.alpha + others(p) * n * m.beta; }
double doubling(const Hockney& m, double p, double n) { return lb(p) * m.alpha + others(p) * n * m.beta; }
double reducing_doubling(const Hockney& m, double p, double n) {
  return lb(p) * m.alpha + n * lb(p) * m.beta + n * lb(p) * m.gamma;
}
double rabenseifner(const Hockney& m, double p, double n) {
  return 2 * lb(p) * m.alpha + 2 * others(p) * n * m.beta + others(p) * n * m.gamma;
}
double digits(const Hockney& m, double p, double n) {
  const double beyond = p - std::exp2(std::floor(lb(p)));  // ranks above the largest power of two
  return rounds(p) * m.alpha + (n / 2 * lb(p) + n / p * beyond) * m.beta;
}
double pairwise(const Hockney& m, double p, double n) { return (p - 1) * m.alpha + n * m.beta; }

using enum Operation;
constexpr auto rows = std::to_array<Formula>({
    {1, bcast, "knomial", "⌈lb p⌉(α + nβ)", tree},
    {2, reduce, "knomial", "⌈lb p⌉(α + nβ + nγ)", reducing_tree},
    {3, scatter, "knomial", "⌈lb p⌉α + ((p−1)/p) nβ", halving_tree},
    {4, gather, "knomial", "⌈lb p⌉α + ((p−1)/p) nβ", halving_tree},
    {5, allgather, "ring", "(p−1)α + ((p−1)/p) nβ", ring},
    {6, allgather, "recursive_doubling", "(lb p)α + ((p−1)/p) nβ", doubling},
    {7, allgather, "bruck", "⌈lb p⌉α + ((p−1)/p) nβ", halving_tree},
    {8, allreduce, "recursive_doubling", "(lb p)α + n(lb p)β + n(lb p)γ", reducing_doubling},
    {9, allreduce, "rabenseifner", "2(lb p)α + 2((p−1)/p) nβ + ((p−1)/p) nγ", rabenseifner},
    {10, alltoall, "bruck", "⌈lb p⌉α + ((n/2) lb p + (n/p)(p − 2^⌊lb p⌋))β", digits},
    {11, alltoall, "pairwise", "(p−1)α + nβ", pairwise},
});

bool has_part_for_each_rank(Operation operation) {
  return operation == gather || operation == scatter || operation == allgather || operation == alltoall;
}

}  // namespace

std::span<const Formula> formulas() { return rows; }

const Formula* find_formula(Operation operation, std::string_view algorithm) {
  for (const Formula& row : rows)
    if (row.operation == operation && row.algorithm == algorithm) return &row;
  return nullptr;
}

double seconds(const Formula& formula, const Hockney& machine, int p, double part_bytes) {
  if (p == 1) return 0;
  const double parts = has_part_for_each_rank(formula.operation) ? p : 1;
  return formula.seconds(machine, p, parts * part_bytes);
}

}  // namespace omnes::model
