// METIS as a partitioner; linked by the Python module alone, where it was there when this was built.
#pragma once

#include "mapping/partition.hpp"

namespace omnes::mapping {

/// False: metis() throws std::invalid_argument.
bool has_metis();
/// METIS's parts: sizes are near those asked for.
Parts rough_by_metis(const Graph& graph, std::span<const std::int32_t> sizes);

}  // namespace omnes::mapping
