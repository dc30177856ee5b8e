// Communicators made in every way there is.
#pragma once

#include <numeric>

#include "calls.hpp"

namespace random_programs {

inline Communicator known(MPI_Comm handle, std::string name) {
  Communicator comm;
  if (handle == MPI_COMM_NULL) return comm;
  comm.handle = handle;
  comm.name = std::move(name);
  must(MPI_Comm_rank(handle, &comm.rank), "MPI_Comm_rank");
  must(MPI_Comm_size(handle, &comm.size), "MPI_Comm_size");
  return comm;
}

namespace detail {

inline Communicator with_edges(const Communicator& of, Draw draw) {
  Communicator made;
  std::vector<int> sources, destinations;
  const int edges = draw.below(3 * of.size + 1);
  std::vector<int> in, out;
  for (int i = 0; i < edges; ++i) {
    const int from = draw.below(of.size), to = draw.below(of.size);
    if (to == of.rank) sources.push_back(from), in.push_back(from * 1000 + i);
    if (from == of.rank) destinations.push_back(to), out.push_back(from * 1000 + i);
  }
  MPI_Comm handle;
  const int none = 0;  // no null pointers
  must(MPI_Dist_graph_create_adjacent(
           of.handle, static_cast<int>(sources.size()), sources.empty() ? &none : sources.data(), MPI_UNWEIGHTED,
           static_cast<int>(destinations.size()), destinations.empty() ? &none : destinations.data(), MPI_UNWEIGHTED,
           MPI_INFO_NULL, 0, &handle),
       "MPI_Dist_graph_create_adjacent");
  made = known(handle, "graph");
  made.kind = Communicator::Kind::neighbors;
  made.sources = in, made.destinations = out;
  return made;
}

inline Communicator grid(const Communicator& of, Draw draw) {
  int dims[2] = {0, 0}, periodic[2] = {0, 0}, n = 1 + draw.below(2);
  must(MPI_Dims_create(of.size, n, dims), "MPI_Dims_create");
  // With two ranks or fewer in a circle, MPIs disagree about which neighbor is which.
  for (int d = 0; d < n; ++d) periodic[d] = dims[d] > 2 && draw.one_in(2);
  MPI_Comm handle;
  must(MPI_Cart_create(of.handle, n, dims, periodic, 0, &handle), "MPI_Cart_create");
  Communicator made = known(handle, "grid");
  made.kind = Communicator::Kind::neighbors;
  for (int d = 0; d < n; ++d) {
    int before, after;
    must(MPI_Cart_shift(handle, d, 1, &before, &after), "MPI_Cart_shift");
    for (const int neighbor : {before, after}) {
      const bool none = neighbor == MPI_PROC_NULL;
      made.sources.push_back(none ? -1 : neighbor * 1000 + made.rank);
      made.destinations.push_back(none ? -1 : made.rank * 1000 + neighbor);
    }
  }
  return made;
}

/// Between the two halves.
inline Communicator between(const Communicator& of, int tag) {
  const int half = of.size / 2;
  const bool second = of.rank >= half;
  MPI_Comm local, handle;
  must(MPI_Comm_split(of.handle, second, 0, &local), "MPI_Comm_split");
  must(MPI_Intercomm_create(local, 0, of.handle, second ? 0 : half, tag, &handle), "MPI_Intercomm_create");
  must(MPI_Comm_free(&local), "MPI_Comm_free");
  Communicator made = known(handle, "between halves");
  made.kind = Communicator::Kind::between;
  must(MPI_Comm_remote_size(handle, &made.remote), "MPI_Comm_remote_size");
  return made;
}

}  // namespace detail

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS
/// From the start to the end of the program.
inline MPI_Session session = MPI_SESSION_NULL;

inline MPI_Session begin_session() {
  MPI_Session begun;
  must(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &begun), "MPI_Session_init");
  return begun;
}
/// Of these ranks of mpi://WORLD; none: of all.
inline MPI_Comm of_session(MPI_Session from, std::vector<int> ranks, const std::string& name) {
  MPI_Group all, some;
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0, p = 0;
  must(MPI_Group_from_session_pset(from, "mpi://WORLD", &all), "MPI_Group_from_session_pset");
  must(MPI_Group_size(all, &p), "MPI_Group_size");
  if (ranks.empty()) ranks.resize(p), std::iota(ranks.begin(), ranks.end(), 0);
  must(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some), "MPI_Group_incl");
  must(MPI_Group_rank(some, &rank), "MPI_Group_rank");
  if (rank != MPI_UNDEFINED)
    must(MPI_Comm_create_from_group(some, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &handle),
         "MPI_Comm_create_from_group");
  for (MPI_Group* group : {&all, &some}) must(MPI_Group_free(group), "MPI_Group_free");
  return handle;
}

/// For the same ranks; null: some were started later.
inline MPI_Comm of_session(const Communicator& of, const std::string& name) {
  MPI_Group world, members;
  std::vector<int> ranks(of.size), there(of.size);
  std::iota(ranks.begin(), ranks.end(), 0);
  must(MPI_Comm_group(everybody, &world), "MPI_Comm_group");
  must(MPI_Comm_group(of.handle, &members), "MPI_Comm_group");
  must(MPI_Group_translate_ranks(members, of.size, ranks.data(), world, there.data()), "MPI_Group_translate_ranks");
  for (MPI_Group* group : {&world, &members}) must(MPI_Group_free(group), "MPI_Group_free");
  if (std::find(there.begin(), there.end(), MPI_UNDEFINED) != there.end()) return MPI_COMM_NULL;
  return of_session(session, there, name);
}
#endif

/// A communicator out of another one; that of ranks that are not in it is null. Every member calls this alike.
inline Communicator make_communicator(const Communicator& of, Draw draw, int tag) {
  using namespace detail;
  MPI_Comm handle = MPI_COMM_NULL;
  const int kind = draw.below(14);
  if (of.kind == Communicator::Kind::between) {
    // All say the same: MPI then chooses which half comes first.
    must(MPI_Intercomm_merge(of.handle, 0, &handle), "MPI_Intercomm_merge");
    return known(handle, "merged");
  }
  switch (kind) {
    case 0:
    case 1: must(MPI_Comm_dup(of.handle, &handle), "MPI_Comm_dup"); return known(handle, "dup");
    case 2:
      must(MPI_Comm_split(of.handle, of.rank % 2, of.rank, &handle), "MPI_Comm_split");
      return known(handle, "split");
    case 3: must(MPI_Comm_split(of.handle, 0, -of.rank, &handle), "MPI_Comm_split"); return known(handle, "reversed");
    case 4: must(MPI_Comm_split(of.handle, of.rank, 0, &handle), "MPI_Comm_split"); return known(handle, "one rank");
    case 5: {
      const int without = draw.below(of.size);
      must(MPI_Comm_split(of.handle, of.rank == without ? MPI_UNDEFINED : 3, (of.rank * 5) % 7, &handle),
           "MPI_Comm_split");
      return known(handle, "all but one");
    }
    case 6:
    case 7: {
      // A group in another order.
      std::vector<int> ranks(of.size);
      std::iota(ranks.begin(), ranks.end(), 0);
      for (int i = of.size; i-- > 1;) std::swap(ranks[i], ranks[draw.below(i + 1)]);
      const int n = 1 + draw.below(of.size);
      MPI_Group group, some;
      must(MPI_Comm_group(of.handle, &group), "MPI_Comm_group");
      must(MPI_Group_incl(group, n, ranks.data(), &some), "MPI_Group_incl");
      if (kind == 6)
        must(MPI_Comm_create(of.handle, some, &handle), "MPI_Comm_create");
      else if (std::find(ranks.begin(), ranks.begin() + n, of.rank) != ranks.begin() + n)
        must(MPI_Comm_create_group(of.handle, some, tag, &handle), "MPI_Comm_create_group");
      must(MPI_Group_free(&group), "MPI_Group_free");
      must(MPI_Group_free(&some), "MPI_Group_free");
      return known(handle, kind == 6 ? "create" : "create_group");
    }
    case 8: return with_edges(of, draw);
    case 9: return grid(of, draw);
    case 10:
      if (of.size < 2) return {};
      return between(of, tag);
    case 11: {
      MPI_Request request;
      must(MPI_Comm_idup(of.handle, &handle, &request), "MPI_Comm_idup");
      must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
      return known(handle, "idup");
    }
#ifdef HAS_SESSIONS
    case 12:
      if (session == MPI_SESSION_NULL) return {};
      {
        Communicator made = known(of_session(of, "random " + where.step), "of a session");
        made.of_session = true;
        return made;
      }
#endif
    default:
      must(MPI_Comm_split_type(of.handle, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &handle), "MPI_Comm_split_type");
      return known(handle, "shared");
  }
}

}  // namespace random_programs
