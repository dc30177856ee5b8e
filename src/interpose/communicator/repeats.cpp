// Which calls are kept, and as what.
#include "interpose/communicator/repeats.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "interpose/data/job.hpp"
#include "interpose/devices/devices.hpp"
#include "interpose/process/process.hpp"

namespace omnes::interpose {

namespace {

/// Which of the arguments say what: places in Given::word, 0: none.
struct Places {
  int sent = 0, received = 0;  ///< the count of what is sent, of what is received
  int types[2] = {0, 0};
  int op = 0;
};
Places places_of(Operation operation) {
  switch (operation) {
    case Operation::bcast: return {0, 1, {2, 0}};
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
    case Operation::reduce_scatter_block: return {1, 0, {2, 0}, 3};
    case Operation::reduce_scatter: return {0, 0, {1, 0}, 2};
    case Operation::gatherv:
    case Operation::allgatherv:
    case Operation::neighbor_allgatherv: return {1, 0, {2, 3}};
    case Operation::scatterv: return {0, 2, {1, 3}};
    case Operation::alltoallv:
    case Operation::neighbor_alltoallv: return {0, 0, {1, 2}};
    case Operation::gather:
    case Operation::scatter:
    case Operation::allgather:
    case Operation::alltoall:
    case Operation::neighbor_allgather:
    case Operation::neighbor_alltoall: return {1, 3, {2, 4}};
    default: return {};
  }
}

/// Operations whose counts and displacements this rank may have in arrays.
bool has_parts(Operation operation) {
  return operation == Operation::gatherv || operation == Operation::scatterv || operation == Operation::allgatherv ||
         operation == Operation::alltoallv || operation == Operation::reduce_scatter;
}

std::int64_t element(const GivenArray& array, int i) {
  if (array.element_bytes == sizeof(std::int32_t)) return static_cast<const std::int32_t*>(array.elements)[i];
  return static_cast<const std::int64_t*>(array.elements)[i];
}

/// How far parts reach, as far as their last one and this rank's tell.
template <class Start, class Bytes>
std::size_t reach(int p, int rank, Start start, Bytes bytes) {
  return std::max(start(p - 1) + bytes(p - 1), start(rank) + bytes(rank));
}

/// The bytes of an element of parts; 0: not known.
std::size_t unit_of(std::span<const std::size_t> bytes, const GivenArray& counts) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] > 0) return bytes[i] / static_cast<std::size_t>(element(counts, static_cast<int>(i)));
  return 0;
}
/// The same where there are no data: of those with that datatype that have no gaps. Drivers are looked for, as where data
/// are described.
std::size_t unit_of(std::uint64_t datatype, const AnyGiven& given) {
  if (devices::driver_of(given.send) || devices::driver_of(given.recv)) return 0;
  const TypeInfo* const known = remembered_type(narrow<MPI_Datatype>(static_cast<Wide>(datatype)));
  return known && known->contiguous ? known->size : 0;
}

/// Whether there are data where the call that was kept had a null buffer, or makes no use of any.
bool lacks_buffer(std::size_t bytes, const Repeats::Repeat::Start& start) { return bytes > 0 && !start.is_used(); }

}  // namespace

/// What could be freed: that of one handle is watched, of several all.
void Repeats::watch(Repeat& repeat, const Job& job, const AnyGiven& given, std::uint64_t forgotten, bool asked) {
  const Operation operation = given.operation();
  const Places places = places_of(operation);
  const bool typed = operation == Operation::alltoallw || operation == Operation::neighbor_alltoallw;
  const Generation* watched = typed ? &all_forgotten : &forgotten_at_once;
  const auto add = [&](const Generation& more) {
    watched = watched == &forgotten_at_once || watched == &more ? &more : &all_forgotten;
  };
  repeat.types = {};
  for (int i = 0; i < 2; ++i) {
    if (places.types[i] == 0) continue;
    const auto type = narrow<MPI_Datatype>(static_cast<Wide>(given.word[places.types[i]]));
    const TypeInfo* const known = type_cache.find(type);
    if (known && known->kind != TypeClass::derived) continue;
    add(TypeCache::of(type));
    if (known && known->shared) repeat.types[i] = known;
  }
  if (places.op != 0 && job.op.is_programs) {
    add(OpGenerations::of(narrow<MPI_Op>(static_cast<Wide>(given.word[places.op]))));
    repeat.types = {};
  }
  repeat.watched = watched;
  const std::uint64_t generation = watched->load(std::memory_order_acquire);
  const bool has_to_ask = devices::any();  // since this call
  if (all_forgotten.load(std::memory_order_acquire) == forgotten && (asked || !has_to_ask))
    repeat.generation = mark(generation, asked);
}

bool Repeats::resize(Repeat& repeat, const AnyGiven& given, int p, int rank, Team& team, bool asked) {
  if (!repeat.is_valid(asked) || !repeat.resizable) return false;
  const std::uintptr_t span = repeat.span, shift = repeat.shift;
  if (!take_counts(repeat, given, p, rank)) {
    repeat.span = span;  // of its own arguments
    repeat.shift = shift;
    return false;
  }
  if (repeat.overlaps(given.send, given.recv) || !prepare(repeat, team, given.send, given.recv)) {
    repeat.generation = nothing_kept;  // what it has now is not its own arguments'
    return false;
  }
  copy_elements(repeat, given.array);
  std::ranges::copy(given.word, repeat.word.begin());
  return true;
}

void Repeats::keep(const AnyGiven& given, int p, int rank, std::uint64_t forgotten, bool asked,
                   const std::shared_ptr<Prepared>& prepared, const Job& job) {
  const Operation run = job.call.operation;
  const bool by_host = prepared->choice.host, packs = !by_host && job.only_packs();
  // Where ranks do not know all parts, nothing but the team drives the choice.
  if (by_host && !knows_parts(run)) left_ |= std::uint32_t{1} << static_cast<int>(run);
  const bool keeps_part = job.only_keeps_part() && run != given.operation();
  const bool is_of_that_kind = job.is_straight(prepared->in_rows) || packs || keeps_part;
  const bool may_lose_objects = process().threads && job.needs_objects();  // another thread might free them
  if ((!by_host && (!is_of_that_kind || prepared->needs_all_counts || may_lose_objects)) ||
      (packs && (asked || !comes_again(given)))) {
    if (Repeat* const other = find(given); other && !other->packs) other->generation = nothing_kept;
    return;
  }
  Repeat& repeat = place_for(given);
  repeat.generation = nothing_kept;
  jobs_[place_of(repeat)].reset();
  repeat.packs = packs;
  repeat.keeps_part = keeps_part;
  describe(repeat, prepared, job, given.send, given.recv);
  if (packs) {  // with these counts, and wherever they lie: the job knows
    repeat.sizing = of_none;
    repeat.let_overlap();
  } else {
    find_units(repeat, job, given, p);
    find_span(repeat, given, p, rank);
    if (repeat.overlaps(given.send, given.recv)) repeat.let_overlap();
  }
  copy_elements(repeat, given.array);
  std::ranges::copy(given.word, repeat.word.begin());
  if (repeat.has_single_parts && take_single_parts(repeat, given, p, rank)) repeat.sizing = prepared->plan.sizing;
  watch(repeat, job, given, forgotten, asked);
}

Repeats::Repeat& Repeats::place_for(const AnyGiven& given) {
  if (Repeat* const known = find(given)) return *known;
  const std::size_t place = home_of(given);
  for (const std::size_t at : {place, place ^ 1})
    if (repeats_[at].generation == nothing_kept) return repeats_[at];
  for (const std::size_t at : {place, place ^ 1})
    if (!repeats_[at].is_valid(false) && !repeats_[at].is_valid(true)) return repeats_[at];
  kept_beside_ ^= std::uint32_t{1} << place;
  return repeats_[place ^ (kept_beside_ >> place & 1)];
}

bool Repeats::comes_again(const AnyGiven& given) {
  const Places places = places_of(given.operation());
  std::uint64_t hash = 1;
  const auto add = [&hash](std::uint64_t number) { hash = (hash ^ number) * 0x9E3779B97F4A7C15u; };
  for (const std::uint64_t word : given.word) add(word);
  for (const int place : places.types)
    if (place != 0) add(TypeCache::generation(narrow<MPI_Datatype>(static_cast<Wide>(given.word[place]))));
  std::uint64_t& last = packed_last_[home_of(given)];
  return std::exchange(last, hash) == hash;
}

void Repeats::copy_elements(Repeat& repeat, std::span<const GivenArray> arrays) {
  repeat.elements.clear();
  for (const GivenArray& array : arrays) {
    const int parts = parts_of(repeat, array);
    if (parts == 0) continue;
    const auto* first = static_cast<const std::byte*>(array.elements);
    repeat.elements.insert(repeat.elements.end(), first, first + parts * array.element_bytes);
  }
}

bool Repeats::revive(Repeat& repeat, const AnyGiven& given, bool asked) {
  // A job may know its datatype by what is gone.
  if (repeat.generation == nothing_kept || repeat.packs || repeat.is_valid(asked)) return false;
  const std::uint64_t generation = repeat.watched->load(std::memory_order_acquire);  // before the types are looked at
  const Places places = places_of(given.operation());
  bool any = false;
  for (int i = 0; i < 2; ++i) {
    const int place = places.types[i];
    if (place == 0) continue;
    const TypeInfo* const known = remembered_type(narrow<MPI_Datatype>(static_cast<Wide>(given.word[place])));
    if (!known || (known->kind == TypeClass::derived && known != repeat.types[i])) return false;
    any = any || known == repeat.types[i];
  }
  // Drivers are looked for when a buffer is described; those of this call are not.
  if (!any || (!asked && (devices::driver_of(given.send) || devices::driver_of(given.recv)))) return false;
  repeat.generation = mark(generation, asked);
  return true;
}

void Repeats::find_units(Repeat& repeat, const Job& job, const AnyGiven& given, int p) {
  const Call& call = job.call;
  const Operation operation = given.operation();
  const std::span<const std::uint64_t> word = given.word;
  repeat.call = call;
  repeat.call.send_counts = repeat.call.recv_counts = repeat.call.send_starts = repeat.call.recv_starts = {};
  repeat.call.send = nullptr;
  repeat.call.recv = nullptr;
  repeat.call.reduction = call.reduction == nullptr ? nullptr : &repeat.op.reduction;
  repeat.sizing = repeat.prepared->choice.host ? of_host : repeat.keeps_part ? of_none : repeat.prepared->plan.sizing;
  repeat.send_unit = repeat.recv_unit = 0;
  repeat.resizable = false;
  repeat.forget_range();
  repeat.unit = 0;
  if (repeat.prepared->choice.host && !job.is_straight(true)) return;
  if (word[0] & same_buffer) return;  // hosts refuse that by the count
  const auto [sent, received, types, op] = places_of(operation);
  if (among_neighbors(operation)) return;
  if (among_neighbors(call.operation)) {
    if (given.arrays == 0 || has_parts(operation)) find_single_parts(repeat, call, given);
    return;
  }
  const auto unit = [&](int place) { return place == 0 || word[place] == 0 ? 0 : call.count / word[place]; };
  if (reduces(operation)) {
    repeat.send_unit = repeat.keeps_part && given.arrays == 0 ? unit(sent) : 1;
  } else {
    // Of what lies in its buffer this rank's call reads the count.
    if (call.send != nullptr) repeat.send_unit = unit(sent);
    if (call.recv != nullptr) repeat.recv_unit = unit(received);
  }
  if (given.arrays > 0) {
    if (!has_parts(operation)) return;
    if (!call.in_place && (sent != 0 || received != 0)) {
      std::size_t& own = sent != 0 ? repeat.send_unit : repeat.recv_unit;
      if (own == 0) own = unit_of(word[types[sent != 0 ? 0 : 1]], given);
      if (own == 0) return;
    }
    const auto find_unit = [&](std::span<const std::size_t> bytes, const GivenArray& counts, int type,
                               Repeat::Start& start, const void* buffer) {
      std::size_t unit = unit_of(bytes, counts);
      if (unit == 0) {
        unit = unit_of(word[type], given);
        start = {buffer, buffer};
      }
      return unit;
    };
    if (operation != Operation::reduce_scatter && !call.send_counts.empty()) {
      repeat.send_unit = find_unit(call.send_counts, *given.counts_sent(), types[0], repeat.send, given.send);
      if (repeat.send_unit == 0) return;
    }
    if (!call.recv_counts.empty()) {
      repeat.recv_unit = find_unit(call.recv_counts, *given.counts_received(), types[1], repeat.recv, given.recv);
      if (repeat.recv_unit == 0) return;
    }
    for (auto& side : counts_) side.resize(p);
    for (auto& side : starts_) side.resize(p);
  }
  repeat.resizable = repeat.send_unit != 0 || repeat.recv_unit != 0;
  // Two counts are alike as long as they are the same: datatypes are.
  const bool both = received != 0 && sent != 0;
  if (given.arrays > 0 || !repeat.resizable || repeat.keeps_part || (both && word[sent] != word[received])) return;
  repeat.unit = repeat.send_unit != 0 ? repeat.send_unit : repeat.recv_unit;
  find_range(repeat);
}

/// Between groups: each part that is sent or received is a message of its own.
void Repeats::find_single_parts(Repeat& repeat, const Call& call, const AnyGiven& given) {
  const Places places = places_of(given.operation());
  const auto unit = [&](std::span<const std::size_t> parts, int place) {
    return place == 0 || given.word[place] == 0 ? 0 : (parts.empty() ? call.count : parts.front()) / given.word[place];
  };
  const bool sends = !call.neighbors->destinations.empty(), receives = !call.neighbors->sources.empty();
  if (sends)
    repeat.send_unit =
        repeat.parts_sent > 0 ? unit_of(call.send_counts, *given.counts_sent()) : unit(call.send_counts, places.sent);
  if (receives)
    repeat.recv_unit = repeat.parts_received > 0 ? unit_of(call.recv_counts, *given.counts_received())
                                                 : unit(call.recv_counts, places.received);
  repeat.has_single_parts = repeat.prepared->plan.moves_single_parts && (!sends || repeat.send_unit != 0) &&
                            (!receives || repeat.recv_unit != 0);
  if (!repeat.has_single_parts) return;
  repeat.send.move_to_begin();
  repeat.recv.move_to_begin();
}

void Repeats::find_span(Repeat& repeat, const AnyGiven& given, int p, int rank) {
  repeat.span = repeat.shift = repeat.span_unit = 0;
  repeat.has_span = false;
  const bool has_own = repeat.send_unit != 0 && repeat.recv_unit != 0;
  switch (repeat.call.operation) {
    case Operation::gather:
    case Operation::scatter:
    case Operation::allgather:
      if (!has_own) return;
      repeat.span_unit = p * repeat.unit;
      return repeat.set_span(p * repeat.call.count);
    case Operation::gatherv:
    case Operation::scatterv:
    case Operation::allgatherv: {
      if (!has_own || repeat.parts_sent + repeat.parts_received == 0) return;
      const GivenArray* const counts = repeat.parts_sent > 0 ? given.counts_sent() : given.counts_received();
      const std::size_t unit = repeat.parts_sent > 0 ? repeat.send_unit : repeat.recv_unit;
      const auto bytes_by = [unit](const GivenArray& numbers) {
        return [&numbers, unit](int i) { return static_cast<std::size_t>(element(numbers, i)) * unit; };
      };
      return repeat.set_span(reach(p, rank, bytes_by(counts[1]), bytes_by(counts[0])));
    }
    default: return;
  }
}

void Repeats::find_range(Repeat& repeat) {
  const Prepared& prepared = *repeat.prepared;
  if (prepared.choice.host || prepared.needs_all_counts || prepared.plan.multiples.empty()) return;
  const std::size_t unit = repeat.unit * repeat.call.element;
  const std::size_t least = std::max<std::size_t>(prepared.sizes.from / unit + (prepared.sizes.from % unit != 0), 1);
  const std::size_t most = std::min<std::size_t>(prepared.sizes.to, out_of_range - 1) / unit;
  if (least > most) return;
  repeat.least_count = least;
  repeat.more_counts = most - least;
}

void Repeats::describe(Repeat& repeat, const std::shared_ptr<Prepared>& prepared, const Job& job, const void* send,
                       const void* recv) {
  const Call& call = job.call;
  std::tie(repeat.parts_sent, repeat.parts_received) = job.parts_given();
  repeat.send = {call.send, send};
  repeat.recv = {repeat.keeps_part ? nullptr : call.recv, recv};
  repeat.op = job.op;
  if (repeat.op.reduction.context != nullptr) repeat.op.reduction.context = &repeat.op;
  repeat.prepared = prepared;
}

bool Repeats::take_counts(Repeat& repeat, const AnyGiven& given, int p, int rank) {
  Call& call = repeat.call;
  const std::span<const std::uint64_t> word = given.word;
  const Operation operation = given.operation();
  const auto [sent, received, types, op] = places_of(operation);
  // Of one part each, negative ones are not.
  const std::size_t send_bytes = sent == 0 ? 0 : word[sent] * repeat.send_unit;
  const std::size_t recv_bytes = received == 0 ? 0 : word[received] * repeat.recv_unit;
  const auto valid = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes) >= 0; };
  if (!valid(send_bytes) || !valid(recv_bytes)) return false;
  const bool moves = !reduces(operation);
  if (moves && (lacks_buffer(send_bytes, repeat.send) || lacks_buffer(recv_bytes, repeat.recv))) return false;
  if (given.arrays == 0) {
    if (repeat.send_unit != 0 && repeat.recv_unit != 0 && send_bytes != recv_bytes) return false;
    call.count = repeat.send_unit != 0 ? send_bytes : recv_bytes;
    if (repeat.has_span) repeat.set_span(p * call.count);
    if (repeat.keeps_part) repeat.keep_part(word[sent], static_cast<std::size_t>(rank) * word[sent]);
    return call.count != 0;
  }

  // Parts: bytes of each and before each. Whether there are any.
  const auto take = [&](int side, const GivenArray& counts, const GivenArray* displacements, std::size_t unit) {
    std::size_t before = 0;
    bool in_row = true;
    std::size_t first = 0;
    bool any = false;
    for (int i = 0; i < p; ++i) {
      const std::int64_t count = element(counts, i);
      if (count < 0) return false;
      const std::size_t bytes = static_cast<std::size_t>(count) * unit;
      counts_[side][i] = bytes;
      if (moves && lacks_buffer(bytes, side == 0 ? repeat.send : repeat.recv)) return false;
      if (displacements == nullptr) continue;
      const std::size_t start = static_cast<std::size_t>(element(*displacements, i)) * unit;
      starts_[side][i] = start;
      if (bytes == 0) continue;
      if (!any) first = start;
      any = true;
      in_row = in_row && start == first + before;
      before += bytes;
    }
    first_[side] = first;
    in_row_[side] = in_row;
    return true;
  };
  const bool sends_parts = repeat.parts_sent > 0, receives_parts = repeat.parts_received > 0;
  if (operation == Operation::reduce_scatter) {
    if (given.array[0].elements == nullptr || !take(0, given.array[0], nullptr, 1)) return false;
    const auto& counts = counts_[0];
    if (repeat.keeps_part) {
      repeat.keep_part(counts[rank], std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0}));
      call.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
      return call.count != 0;
    }
    first_[0] = 0;
    call.send_counts = counts_[0];
    call.count = counts_[0][rank];
    return call.count != 0;
  }
  if (sends_parts) {
    const GivenArray* const own = given.counts_sent();
    if (!own[0].elements || !own[1].elements || !take(0, own[0], &own[1], repeat.send_unit)) return false;
    call.send_counts = counts_[0];
    call.send_starts = starts_[0];
  }
  if (receives_parts) {
    const GivenArray* const own = given.counts_received();
    if (!own[0].elements || !own[1].elements || !take(1, own[0], &own[1], repeat.recv_unit)) return false;
    call.recv_counts = counts_[1];
    call.recv_starts = starts_[1];
  }
  if (repeat.has_span) {
    const int side = sends_parts ? 0 : 1;
    const auto number = [](const std::vector<std::size_t>& of) { return [&of](int i) { return of[i]; }; };
    repeat.set_span(reach(p, rank, number(starts_[side]), number(counts_[side])));
  }
  // What this rank sends to itself it receives.
  switch (call.operation) {
    case Operation::gatherv:
    case Operation::allgatherv: {
      const bool own = repeat.send_unit != 0;
      if (own && receives_parts && send_bytes != counts_[1][rank]) return false;
      call.count = own && !receives_parts ? send_bytes : counts_[1][rank];
      const auto has_data = [](std::size_t bytes) { return bytes > 0; };
      return call.operation == Operation::gatherv || std::ranges::any_of(counts_[1], has_data);
    }
    case Operation::scatterv:
      if (repeat.recv_unit != 0 && sends_parts && recv_bytes != counts_[0][rank]) return false;
      call.count = repeat.recv_unit != 0 ? recv_bytes : 0;
      return true;
    default: return !sends_parts || counts_[0][rank] == counts_[1][rank];
  }
}

namespace {

/// A buffer's parts, as a program has them in its arrays; or equal ones.
template <class Integer>
struct GivenParts {
  int parts = 0;          ///< 0: they are equal, one behind the other, or it is one
  std::size_t whole = 0;  ///< bytes of an equal one
  std::size_t unit = 0;   ///< bytes of an element
  const Integer* counts = nullptr;
  const Integer* displacements = nullptr;

  std::size_t start(std::uint32_t part) const {
    return parts == 0 ? part * whole : static_cast<std::size_t>(displacements[part]) * unit;
  }
  std::size_t bytes(std::uint32_t part) const {
    return parts == 0 ? whole : static_cast<std::size_t>(counts[part]) * unit;
  }
};

}  // namespace

template <class Integer>
bool Repeats::take_parts_of(Repeat& repeat, const AnyGiven& given, int p, int rank) {
  const Call& call = repeat.call;
  const auto [sent, received, types, op] = places_of(given.operation());
  const auto equal = [&](int count, std::size_t unit) -> GivenParts<Integer> {
    return {.whole = count == 0 ? 0 : given.word[count] * unit};
  };
  const auto unequal = [](int parts, std::size_t unit, const GivenArray* own) -> GivenParts<Integer> {
    return {parts, 0, unit, static_cast<const Integer*>(own[0].elements), static_cast<const Integer*>(own[1].elements)};
  };
  const auto send = repeat.parts_sent == 0 ? equal(sent, repeat.send_unit)
                                           : unequal(repeat.parts_sent, repeat.send_unit, given.counts_sent());
  const auto recv = repeat.parts_received == 0
                        ? equal(received, repeat.recv_unit)
                        : unequal(repeat.parts_received, repeat.recv_unit, given.counts_received());
  if (lacks_buffer(send.whole, repeat.send) || lacks_buffer(recv.whole, repeat.recv)) return false;
  std::size_t total = 0;  // of the side that is looked at last
  for (const GivenParts<Integer>* const parts : {&send, &recv}) {
    if (parts->parts == 0) continue;
    if (parts->counts == nullptr || parts->displacements == nullptr) return false;
    total = 0;
    Integer signs = 0;
    for (int i = 0; i < parts->parts; ++i) {
      signs |= parts->counts[i];
      total += static_cast<std::size_t>(parts->counts[i]);
    }
    if (signs < 0 || lacks_buffer(total, parts == &send ? repeat.send : repeat.recv)) return false;
  }
  Prepared& prepared = *repeat.prepared;
  // Its algorithm depends on the average. Without data any does nothing.
  if (call.operation == Operation::allgatherv) {
    const std::size_t average = total * recv.unit / static_cast<std::size_t>(p);
    if (total > 0 && !prepared.sizes.contains(average)) return false;
    if (repeat.send_unit != 0 && send.whole != recv.bytes(static_cast<std::uint32_t>(rank))) return false;
  }
  if (repeat.has_span) {
    const GivenParts<Integer>& parts = repeat.parts_sent > 0 ? send : recv;
    repeat.set_span(reach(p, rank, [&](int i) { return parts.start(i); }, [&](int i) { return parts.bytes(i); }));
  }
  prepared.plan.has_gaps = repeat.parts_sent > 0 || repeat.parts_received > 0;
  return resize_parts(prepared.plan, send, recv);
}

bool Repeats::take_parts(Repeat& repeat, const AnyGiven& given, int p, int rank) {
  Prepared& prepared = *repeat.prepared;
  ++prepared.plan.sizing;
  prepared.count = SIZE_MAX;  // of nothing
  repeat.sizing = of_none;
  return given.arrays == 0 || given.array[0].element_bytes == sizeof(std::int32_t)
             ? take_parts_of<std::int32_t>(repeat, given, p, rank)
             : take_parts_of<std::int64_t>(repeat, given, p, rank);
}

bool Repeats::take_single_parts(Repeat& repeat, const AnyGiven& given, int p, int rank) {
  if (!take_parts(repeat, given, p, rank) || (given.has_own_part() && repeat.overlaps(given.send, given.recv)))
    return false;
  if (given.arrays == 0) {
    std::ranges::copy(given.word, repeat.word.begin());
    repeat.sizing = repeat.prepared->plan.sizing;
  }
  return true;
}

bool Repeats::prepare(Repeat& repeat, Team& team, const void* send, void* recv) {
  Call& call = repeat.call;
  const std::shared_ptr<Prepared>& prepared = team.prepare(call, Form::blocking);
  if (repeat.prepared != prepared) repeat.prepared = prepared;
  repeat.forget_range();
  if (prepared->choice.host) {
    repeat.sizing = of_host;
    return true;
  }
  repeat.sizing = repeat.keeps_part ? of_none : prepared->plan.sizing;
  const auto place = [&](bool used, bool parts, int side, const void* buffer) -> const void* {
    if (!used) return nullptr;
    return static_cast<const std::byte*>(buffer) + (parts && prepared->in_rows ? first_[side] : 0);
  };
  const bool sends_parts = !call.send_counts.empty(), receives_parts = !call.recv_counts.empty();
  if (prepared->needs_all_counts) return false;
  if (prepared->in_rows &&
      ((sends_parts && call.operation != Operation::reduce_scatter && !in_row_[0]) || (receives_parts && !in_row_[1])))
    return false;
  call.send = place(repeat.send.is_used(), sends_parts, 0, send);
  call.recv = const_cast<void*>(place(repeat.recv.is_used(), receives_parts, 1, recv));
  repeat.send = {call.send, send};
  repeat.recv = {call.recv, recv};
  if (repeat.unit != 0) find_range(repeat);
  repeat.has_single_parts =
      !prepared->in_rows && prepared->plan.moves_single_parts && has_parts(call.operation) && !reduces(call.operation);
  return true;
}

}  // namespace omnes::interpose
