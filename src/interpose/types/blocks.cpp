// Asks the host for the arguments of a type's constructor.
#include "interpose/types/blocks.hpp"

#include <vector>

#include "interpose/host/failure.hpp"

namespace omnes::interpose {

namespace {

struct Envelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = -1;
};

bool envelope(MPI_Datatype type, Envelope& e) {
  if (!has_envelope(type)) return false;
#ifdef OMNES_LARGE_COUNTS
  if (host.Type_get_envelope_c)
    return host.Type_get_envelope_c(type, &e.integers, &e.addresses, &e.counts, &e.types, &e.combiner) == MPI_SUCCESS;
#endif
  int integers = 0, addresses = 0, types = 0;
  if (host.Type_get_envelope(type, &integers, &addresses, &types, &e.combiner) != MPI_SUCCESS) return false;
  e.integers = integers;
  e.addresses = addresses;
  e.types = types;
  return true;
}

/// The arguments of the constructor: integers, then addresses, or, of one with large counts, all of them as counts.
struct Contents {
  std::vector<MPI_Count> numbers;
  std::vector<MPI_Datatype> types;

  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    for (MPI_Datatype& type : types)
      if (const int combiner = combiner_of(type); combiner >= 0 && !is_basic(combiner)) host.Type_free(&type);
  }

  bool read(MPI_Datatype type, const Envelope& e) {
    // Room for one at least: null is not what hosts expect here.
    std::vector<int> integers(e.integers + 1);
    std::vector<MPI_Aint> addresses(e.addresses + 1);
    std::vector<MPI_Count> counts(e.counts + 1);
    std::vector<MPI_Datatype> inner(e.types + 1);
    int code = MPI_ERR_TYPE;
#ifdef OMNES_LARGE_COUNTS
    if (host.Type_get_contents_c)
      code = host.Type_get_contents_c(type, e.integers, e.addresses, e.counts, e.types, integers.data(),
                                      addresses.data(), counts.data(), inner.data());
    else
#endif
      code = host.Type_get_contents(type, static_cast<int>(e.integers), static_cast<int>(e.addresses),
                                    static_cast<int>(e.types), integers.data(), addresses.data(), inner.data());
    if (code != MPI_SUCCESS) return false;
    types.assign(inner.begin(), inner.end() - 1);
    numbers.assign(integers.begin(), integers.end() - 1);
    numbers.insert(numbers.end(), addresses.begin(), addresses.end() - 1);
    numbers.insert(numbers.end(), counts.begin(), counts.end() - 1);
    return true;
  }
};

}  // namespace

int combiner_of(MPI_Datatype type) {
  Envelope e;
  return envelope(type, e) ? e.combiner : -1;
}

bool is_basic(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

bool for_each_block(MPI_Datatype type, const std::function<bool(const Block&)>& see) {
  Envelope e;
  Contents contents;
  if (!envelope(type, e) || is_basic(e.combiner) || !contents.read(type, e) || contents.types.empty()) return false;
  const std::vector<MPI_Count>& n = contents.numbers;
  const auto extent_of = [](MPI_Datatype inner) {
    MPI_Aint lb = 0, extent = 0;
    check_own(host.Type_get_extent(inner, &lb, &extent));
    return extent;
  };
  const MPI_Datatype first = contents.types[0];
  const MPI_Aint extent = extent_of(first);
  // Of `blocks` blocks, block i has so many elements and begins at so many bytes.
  const auto listed = [&](MPI_Count blocks, auto length, auto displacement) {
    for (MPI_Count i = 0; i < blocks; ++i)
      if (!see({first, length(i), extent, static_cast<MPI_Aint>(displacement(i))})) return false;
    return true;
  };
  const auto own_length = [&](MPI_Count i) { return n[1 + i]; };
  const auto same_length = [&](MPI_Count) { return n[1]; };
  switch (e.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return see({first, 1, extent, 0});
    case MPI_COMBINER_CONTIGUOUS: return see({first, n[0], extent, 0});
    case MPI_COMBINER_VECTOR: return listed(n[0], same_length, [&](MPI_Count i) { return i * n[2] * extent; });
    case MPI_COMBINER_HVECTOR: return listed(n[0], same_length, [&](MPI_Count i) { return i * n[2]; });
    case MPI_COMBINER_INDEXED: return listed(n[0], own_length, [&](MPI_Count i) { return n[1 + n[0] + i] * extent; });
    case MPI_COMBINER_HINDEXED: return listed(n[0], own_length, [&](MPI_Count i) { return n[1 + n[0] + i]; });
    case MPI_COMBINER_INDEXED_BLOCK: return listed(n[0], same_length, [&](MPI_Count i) { return n[2 + i] * extent; });
    case MPI_COMBINER_HINDEXED_BLOCK: return listed(n[0], same_length, [&](MPI_Count i) { return n[2 + i]; });
    case MPI_COMBINER_STRUCT:
      for (MPI_Count i = 0; i < n[0]; ++i) {
        const MPI_Datatype inner = contents.types[i];
        if (!see({inner, n[1 + i], extent_of(inner), static_cast<MPI_Aint>(n[1 + n[0] + i])})) return false;
      }
      return true;
    case MPI_COMBINER_SUBARRAY: {
      // Constructors with large counts have two integers, then the others; those without, the order at the end.
      const auto dimensions = static_cast<std::size_t>(n[0]);
      const bool large = e.counts > 0;
      const bool by_rows = n[large ? 1 : 1 + 3 * dimensions] == MPI_ORDER_C;
      const MPI_Count* const given = &n[large ? 2 : 1];
      std::vector<MPI_Count> sizes, lengths, starts;  // the fastest dimension first
      for (std::size_t i = 0; i < dimensions; ++i) {
        const std::size_t d = by_rows ? dimensions - 1 - i : i;
        sizes.push_back(given[d]);
        lengths.push_back(given[dimensions + d]);
        starts.push_back(given[2 * dimensions + d]);
      }
      std::vector<MPI_Count> at(dimensions, 0);  // of the next row, within the part
      while (true) {
        MPI_Count place = 0;
        for (std::size_t d = dimensions; d-- > 0;) place = place * sizes[d] + starts[d] + at[d];
        if (!see({first, lengths[0], extent, static_cast<MPI_Aint>(place * extent)})) return false;
        std::size_t d = 1;
        while (d < dimensions && ++at[d] == lengths[d]) at[d++] = 0;
        if (d >= dimensions) return true;
      }
    }
    default: return false;
  }
}

}  // namespace omnes::interpose
