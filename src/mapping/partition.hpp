// Partition of any graph into parts of exactly the given sizes, with little weight between parts.
//
// How. Two steps, of which each can be used alone:
//   clusters  are grown by matching along the heaviest edges, again and again, never beyond the largest part; they are then packed
//             into the parts, and those that fit nowhere are split (start, partition)
//   swaps     of two vertices of different parts keep all sizes; between each two parts that talk they are tried in the manner of
//             Kernighan and Lin 1970 with the gains of Fiduccia and Mattheyses 1982: the best swap first, also if it costs
//             something, each vertex once, and of the row of swaps the best beginning is kept (refine)
// Cost. O(E log(largest part)) for the clusters, as much for each pass over the boundary; about 3 E words.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mapping/graph.hpp"

namespace omnes::mapping {

/// The part of each vertex; exactly sizes[u] vertices are in part u. The sizes add up to the number of vertices.
using Parts = std::vector<std::int32_t>;
using Partitioner = std::function<Parts(const Graph&, std::span<const std::int32_t> sizes)>;

Parts partition(const Graph& graph, std::span<const std::int32_t> sizes);

/// Vertices by groups: all of a group go to one part as long as one has room for it, to that with which they talk most.
Parts pack(const Graph& graph, std::span<const std::int32_t> group_of, std::span<const std::int32_t> sizes);
/// Swaps vertices as long as that lowers the cut. Quick: only between parts of which some vertex would gain by moving.
enum class Effort { quick, full };
void refine(const Graph& graph, Parts& part_of, std::size_t parts, Effort effort = Effort::full);
/// The nearest thing to the given parts that has exactly these sizes, refined: what a partitioner that balances roughly needs.
Parts repaired(const Graph& graph, const Parts& rough, std::span<const std::int32_t> sizes);

}  // namespace omnes::mapping
