// The rules of the table.
#include "transport/shm/policy.hpp"

#include <algorithm>

#include "base/processor.hpp"
#include "transport/shm/heap/adoption.hpp"

namespace omnes::shm {

#if defined(__x86_64__)
const bool caches_are_fast = processor::is_made_by("AuthenticAMD");
#else
const bool caches_are_fast = false;
#endif

int Policy::slots_for(const Sharing& sharing) const {
  constexpr int least = 8, for_each_reader = 2, of_all_ranks = 1024;
  const int wanted = sharing.own_cpus && sharing.fast_caches ? max_slots : for_each_reader * sharing.ranks;
  return slots.value_or(std::max(least, std::min(wanted, of_all_ranks / sharing.ranks)));
}

Geometry Policy::geometry_for(const Sharing& sharing, int lanes, int short_lanes) const {
  return {sharing.ranks, slots_for(sharing), slot_bytes, lanes, short_lanes};
}

std::size_t Policy::single_copy_from(const Sharing& sharing) const {
  constexpr int one_cache = 8;  // cores of it, usually
  const bool slots_are_faster =
      sharing.fast_caches && sharing.own_cpus && sharing.blocking && sharing.ranks <= one_cache;
  return single_copy.value_or(slots_are_faster ? never : usual_single_copy_from);
}

std::size_t Policy::direct_copy_from(const Sharing& sharing) const {
  constexpr std::size_t usual = 32 * 1024, with_fast_caches = 16 * 1024;
  return direct_copy.value_or(sharing.own_cpus && sharing.fast_caches ? with_fast_caches : usual);
}

std::size_t Policy::adopt_from(const Sharing& sharing) {
  constexpr std::size_t least = Adoption::min_bytes, with_shared_cpus = 64 * 1024, with_fast_caches = 256 * 1024;
  if (sharing.fast_caches) return with_fast_caches;
  return sharing.own_cpus ? least : with_shared_cpus;
}

}  // namespace omnes::shm
