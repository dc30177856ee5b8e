// How much a few short lines may describe.
#pragma once

namespace omnes::inline topology {

/// Names of a list, nodes of a network, ranks of a pattern: what a slip such as [1-99999999] may not ask of memory. Fewer where
/// a fuzzer tries lists by the million.
#ifdef OMNES_FUZZ
constexpr int max_described = 1 << 10;
#else
constexpr int max_described = 1 << 20;
#endif

}  // namespace omnes::inline topology
