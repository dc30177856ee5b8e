// Direct k-way partitioning; recursive bisection for the few parts for which METIS's manual advises it.
//
// METIS's numbers here have 32 bits, sums of weights too, so weights are scaled down where they are large.
#include "python/metis.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#ifdef OMNES_METIS
#include <metis.h>
#endif

namespace omnes::mapping {

#ifdef OMNES_METIS

bool has_metis() { return true; }

Parts rough_by_metis(const Graph& graph, std::span<const std::int32_t> sizes) {
  constexpr std::size_t few_parts = 8;
  idx_t vertices = graph.vertices(), constraints = 1, parts = static_cast<idx_t>(sizes.size()), objective = 0;
  if (parts == 1 || vertices == 0) return Parts(vertices, 0);
  const auto total = std::accumulate(graph.weight.begin(), graph.weight.end(), 0.0);
  const double scale = std::min(1.0, static_cast<double>(1 << 30) / std::max(total, 1.0));
  std::vector<idx_t> first(graph.first.begin(), graph.first.end()), peer(graph.peer.begin(), graph.peer.end()), weight,
      part(vertices);
  for (const std::int64_t w : graph.weight)
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
  return Parts(part.begin(), part.end());
}

#else

bool has_metis() { return false; }

Parts rough_by_metis(const Graph&, std::span<const std::int32_t>) {
  throw std::invalid_argument("omnes was built without METIS (Debian: libmetis-dev)");
}

#endif

}  // namespace omnes::mapping
