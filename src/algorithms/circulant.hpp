// The distances of Träff's circulant graphs: as few rounds as any p allows, and in each no more parts than needed.
//
// How. With s = circulant_skips(p) and q = s.size() - 1, in round i = 0..q-1 everybody exchanges with the ranks s[i]
// to the left and to the right. A rank that knows s[i] consecutive ranks learns of the next s[i+1] - s[i] ones, which
// is never more than s[i], because the skips come from halving: s[i] = ceil(s[i+1] / 2). After the last round it
// knows s[q] = p: no part was moved twice. A reduce-scatter goes through the rounds backwards.
// Source: Träff 2024, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms".
#pragma once

#include <vector>

namespace omnes::inline algorithms {

/// Ascending, from 1 to p, each half of the next rounded up: 1, 2, 3, 6, 11 for p = 11; ceil(log2(p)) + 1 of them.
std::vector<int> circulant_skips(int p);

}  // namespace omnes::inline algorithms
