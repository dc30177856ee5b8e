// What is kept, by parent.
#include "interpose/communicator/spares.hpp"

#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <unordered_map>

#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/state.hpp"

namespace omnes::interpose::spares {

std::atomic<bool> watched = false;
std::atomic<bool> with_messages[places];

namespace {

constexpr int max_kept = 64;  // of all parents
// Communicators, of which MPICH has contexts for 2048; some take more than one.
constexpr int many = 512;

std::atomic<bool> stopped = false;
std::atomic<int> living = 0;  // made by functions that are ours, and not freed

/// Which the host has to free. No more than are kept: what frees them need not find memory.
struct Freed {
  std::array<MPI_Comm, max_kept> comms;
  int count = 0;
  void add(MPI_Comm comm) { comms[count++] = comm; }
};

struct Child {
  std::uint64_t number = 0;  ///< 0: there is none
  Way way;
  MPI_Comm comm;              ///< null: this rank is in none
  std::uint64_t changes = 0;  ///< of the parent, when it was made
  bool freed = false;         ///< by the program
};

/// Those of a parent that were made by one function.
struct Children {
  std::uint64_t made = 0;  ///< by the host
  int in_vain = 0;         ///< how often the members have asked each other since one came back
  std::array<Child, max_spares> of{};
};

struct Parent {
  std::array<Children, 2> children;  ///< duplicates, and parts
  std::uint64_t changes = 0;
  bool attributes = false;
};

struct Table {
  std::mutex mutex;
  std::unordered_map<MPI_Comm, Parent> parents;
  struct Where {
    MPI_Comm parent;
    bool split;
    int index;
  };
  std::unordered_map<MPI_Comm, Where> where;  ///< of children
  std::array<int, places> at{};               ///< how many children
  int kept = 0;

  // With the mutex.
  Children* children(MPI_Comm parent, bool split) {
    const auto found = parents.find(parent);
    return found == parents.end() ? nullptr : &found->second.children[split];
  }
  Child* child(MPI_Comm comm) {
    const auto found = where.find(comm);
    if (found == where.end()) return nullptr;
    return &children(found->second.parent, found->second.split)->of[found->second.index];
  }
  /// Knows nothing of the child any more. Adds it to `freed` if it was kept.
  void drop(Child& child, Freed& freed) {
    if (child.number != 0 && child.comm != handles.comm_null) {
      where.erase(child.comm);
      --at[place(child.comm)];
      if (child.freed) {
        --kept;
        freed.add(child.comm);
      }
    }
    child = {};
  }
  void drop_parent(MPI_Comm comm, Freed& freed) {
    const auto found = parents.find(comm);
    if (found == parents.end()) return;
    for (Children& children : found->second.children)
      for (Child& child : children.of) drop(child, freed);
    parents.erase(found);
  }
};

Table& table() {
  static Table* const the = new Table;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

/// Without the mutex: those that were kept come to their end, and with them what is kept of their own children.
void free(const Freed& freed) {
  for (int i = 0; i < freed.count; ++i) {
    MPI_Comm comm = freed.comms[i];
    leave(comm);
    free_communicator(comm, [&] { return host.Comm_free(&comm); });
  }
}

/// Whether what has run on it lets others run.
bool is_sound(MPI_Comm comm) {
  const Origin origin = origin_of(comm);
  if (origin.id == 0 || seldom.may_be_revoked) return false;
  const State* const state = origin.state.get();
  return !state || (!state->unclean && state->broken == 0 && !state->own_choices && state->own.empty());
}

bool is_offered(const Child& child, const Parent& parent, const Way& way) {
  if (stopped || child.number == 0 || child.way != way || child.changes != parent.changes) return false;
  if (!way.split && parent.attributes) return false;
  if (child.comm == handles.comm_null) return true;
  return child.freed && !with_messages[place(child.comm)].load(std::memory_order_relaxed);
}

}  // namespace

std::optional<Offers> offers(MPI_Comm parent, const Way& way) {
  constexpr int patience = 4;
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const Parent& of = t.parents[parent];
  const Children& children = of.children[way.split];
  if (children.made == 0 || (children.in_vain >= patience && !std::has_single_bit(children.made))) return std::nullopt;
  Offers offers;
  for (int i = 0; i < max_spares; ++i) offers[i] = is_offered(children.of[i], of, way);
  return offers;
}

bool take(MPI_Comm parent, const Way& way, const Offers& of_all, MPI_Comm& made) {
  Table& t = table();
  {
    const std::lock_guard lock(t.mutex);
    Children& children = *t.children(parent, way.split);
    Child* newest = nullptr;
    for (int i = 0; i < max_spares; ++i)
      if (of_all[i] && (!newest || children.of[i].number > newest->number)) newest = &children.of[i];
    if (!newest) {
      ++children.in_vain;
      return false;
    }
    children.in_vain = 0;
    if (newest->freed) --t.kept;
    newest->freed = false;
    made = newest->comm;
  }
  MPI_Errhandler handler;
  if (made != handles.comm_null && host.Comm_get_errhandler(parent, &handler) == MPI_SUCCESS) {
    host.Comm_set_errhandler(made, handler);
    host.Errhandler_free(&handler);
  }
  return true;
}

void made(MPI_Comm parent, const Way& way, MPI_Comm comm) try {
  Freed freed;
  {
    Table& t = table();
    const std::lock_guard lock(t.mutex);
    const auto found = t.parents.find(parent);
    if (found == t.parents.end()) return;  // its members are not asked
    Children& children = found->second.children[way.split];
    const std::uint64_t number = ++children.made;
    const int index = static_cast<int>(number % max_spares);
    Child& child = children.of[index];
    t.drop(child, freed);
    const bool has_copies = !way.split && found->second.attributes;  // the program is told when they are deleted
    if (comm != handles.comm_null && !has_copies) {
      t.where[comm] = {parent, way.split, index};
      const std::size_t at = place(comm);
      watched = true;
      if (t.at[at]++ == 0) with_messages[at] = false;
    }
    if (!has_copies) child = {number, way, comm, found->second.changes, false};
  }
  free(freed);
} catch (const std::bad_alloc&) {  // it is not kept
}

bool keep(MPI_Comm comm) {
  if (!watched.load(std::memory_order_relaxed) || stopped) return false;
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  Child* const child = t.child(comm);
  if (!child || child->freed || t.kept >= max_kept || living > many ||
      with_messages[place(comm)].load(std::memory_order_relaxed) || !is_sound(comm))
    return false;
  child->freed = true;
  ++t.kept;
  return true;
}

bool is_kept(MPI_Comm comm) {
  if (!watched.load(std::memory_order_relaxed)) return false;
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const Child* const child = t.child(comm);
  return child && child->freed;
}

void changed(MPI_Comm comm) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  if (const auto found = t.parents.find(comm); found != t.parents.end()) ++found->second.changes;
  Freed none;  // the program still has it
  if (Child* const child = t.child(comm)) t.drop(*child, none);
}

void has_attributes(MPI_Comm comm) {
  changed(comm);
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  t.parents[comm].attributes = true;
}

void copied(MPI_Comm parent, MPI_Comm comm) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.parents.find(parent);
  if (found != t.parents.end() && found->second.attributes) t.parents[comm].attributes = true;
}

void leave(MPI_Comm comm) {
  --living;
  Freed freed, by_caller;
  {
    Table& t = table();
    const std::lock_guard lock(t.mutex);
    t.drop_parent(comm, freed);
    if (Child* const child = t.child(comm)) t.drop(*child, by_caller);
  }
  free(freed);
}

void one_more() {
  if (++living <= many) return;
  Freed freed;
  {
    Table& t = table();
    const std::lock_guard lock(t.mutex);
    if (t.kept == 0) return;
    for (auto& [comm, parent] : t.parents)
      for (Children& children : parent.children)
        for (Child& child : children.of)
          if (child.freed) t.drop(child, freed);
  }
  free(freed);
}

void free_all() {
  Freed freed;
  {
    Table& t = table();
    const std::lock_guard lock(t.mutex);
    while (!t.parents.empty()) t.drop_parent(t.parents.begin()->first, freed);
  }
  free(freed);
}

void stop() { stopped = true; }

}  // namespace omnes::interpose::spares
