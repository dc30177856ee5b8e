// Communicators that the program has freed, and that it gets again when it makes the same ones anew.
//
// Overview. MPI_Comm_dup and MPI_Comm_split cost the host an agreement of all members on a context, and what else it makes.
// Programs that duplicate or split for each step, and free, make the same communicator again and again. So the host is not told
// that one is freed: it stays, with its plans and its lanes. When the next one is made in the same way out of the same parent, the members
// agree by an allreduce on one that all of them have.
// Why nobody sees it: one that goes on is to its program like a new one, as long as nothing was left behind on it. Collective operations
// leave nothing, not even when they are under way: all members have begun the same ones. Messages may, so nobody keeps a
// communicator on which this rank has sent or received any. Nor one that was given a name, hints or attributes, or whose
// parent was meanwhile. The error handler is the parent's, as of a new one.
// Why all agree: which parents are asked, and when, follows from what all members have done alike; only what a rank offers is its own affair.
// Cost: a flag per message, and one store while any communicator may be kept; an allreduce per communicator made, but for
// the first of a parent and for parents of which none comes back.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "interpose/host/handle_cache.hpp"
#include "interpose/host/host.hpp"

namespace omnes::interpose::spares {

#if defined(OMNES_ABI_SMPI) || defined(OMNES_COMPONENT)
inline bool keep(MPI_Comm) { return false; }
inline void changed(MPI_Comm) {}
inline bool is_kept(MPI_Comm) { return false; }
inline void leave(MPI_Comm) {}
inline void free_all() {}
inline void stop() {}
#else

/// How a communicator was made out of its parent, on this rank.
struct Way {
  bool split = false;  ///< by MPI_Comm_split, else by MPI_Comm_dup
  int color = 0, key = 0;
  bool operator==(const Way&) const = default;
};

/// Of each way, of a parent: by the number of the communicator. 1: this rank, or each rank, has it to hand out.
inline constexpr int max_spares = 8;
using Offers = std::array<int, max_spares>;

/// What this rank has, before another one is made out of the parent, whose members may ask each other. Nothing: they do not; alike on all
/// of them.
std::optional<Offers> offers(MPI_Comm parent, const Way& way);
/// Hands out one that all members have offered; false: there is none, and the host is to make one. The newest is the warmest.
bool take(MPI_Comm parent, const Way& way, const Offers& of_all, MPI_Comm& made);
/// The host has made one: it may be kept.
void made(MPI_Comm parent, const Way& way, MPI_Comm comm);

/// The program frees the communicator. Returns whether it is kept: then the host is not to be told.
bool keep(MPI_Comm comm);
/// Whether the program has freed it before.
bool is_kept(MPI_Comm comm);
/// The program has changed what a new one would not have, or what its children inherit.
void changed(MPI_Comm comm);
/// The same, by an attribute, which MPI_Comm_dup copies by functions of the program.
void has_attributes(MPI_Comm comm);
/// Another one was made out of `parent` with its attributes.
void copied(MPI_Comm parent, MPI_Comm comm);
/// Before the host frees the communicator: it frees what is kept of its children.
void leave(MPI_Comm comm);
/// The host has made one, in whichever way. Once there are many, it frees what is kept, and nothing more is.
void one_more();
/// Before MPI_Finalize: the host frees all that is kept.
void free_all();
/// No more is kept.
void stop();

/// Whether any communicator may be kept.
extern std::atomic<bool> watched;
constexpr std::size_t places = 1024;
/// By handle; some share one. Set for those that have sent or received.
extern std::atomic<bool> with_messages[places];
inline std::size_t place(MPI_Comm comm) { return Generations<MPI_Comm, places>::place(comm); }
/// A message is sent, received, or looked for on the communicator.
inline void has_messages(Wide comm) {
  if (!watched.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::atomic<bool>& here = with_messages[place(narrow<MPI_Comm>(comm))];
  if (!here.load(std::memory_order_relaxed)) here.store(true, std::memory_order_relaxed);
}

#endif

}  // namespace omnes::interpose::spares
