// The Python module omnes._metis: METIS as a partitioner. Direct k-way partitioning; recursive bisection for the few parts for which
// METIS's manual advises it.
//
// METIS's numbers here may have 32 bits, sums of weights too, so weights are scaled down where they are large.
#include <metis.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// The part of each vertex, of about the sizes asked for. Row v of the graph is first[v] .. first[v + 1].
std::vector<std::int32_t> parts_of(const std::vector<std::int64_t>& rows, const std::vector<std::int32_t>& peers,
                                   const std::vector<std::int64_t>& weights, const std::vector<std::int32_t>& sizes) {
  constexpr std::size_t few_parts = 8;
  idx_t vertices = static_cast<idx_t>(rows.size()) - 1, constraints = 1, parts = static_cast<idx_t>(sizes.size()),
        objective = 0;
  if (parts == 1 || vertices == 0) return std::vector<std::int32_t>(vertices, 0);
  const auto total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double scale = std::min(1.0, static_cast<double>(1 << 30) / std::max(total, 1.0));
  std::vector<idx_t> first(rows.begin(), rows.end()), peer(peers.begin(), peers.end()), weight, part(vertices);
  for (const std::int64_t w : weights)
    weight.push_back(std::max<idx_t>(1, static_cast<idx_t>(static_cast<double>(w) * scale)));
  std::vector<real_t> share;
  for (const std::int32_t size : sizes) share.push_back(static_cast<real_t>(size) / static_cast<real_t>(vertices));
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;  // the same answer on every rank and in every run
  const auto run = sizes.size() <= few_parts ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  const int status = run(&vertices, &constraints, first.data(), peer.data(), nullptr, nullptr, weight.data(), &parts,
                         share.data(), nullptr, options, &objective, part.data());
  if (status != METIS_OK) throw std::runtime_error("METIS failed with status " + std::to_string(status));
  return {part.begin(), part.end()};
}

}  // namespace

NB_MODULE(_metis, m) { m.def("parts", parts_of); }
