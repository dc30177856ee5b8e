// A note for each of the types that were made last, by this thread.
#include "interpose/types/constructed.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace omnes::interpose::constructed {

namespace {

struct Note {
  MPI_Datatype type{};  // null: none, and nobody asks for it
  std::uint64_t generation = 0;
  bool committed = false;
  TypeInfo info;

  void forget() {
    type = {};
    committed = false;
  }
};
constexpr std::size_t max_notes = 16;
OMNES_FAST_THREAD_LOCAL Note notes[max_notes];

/// The blocks of notes that have several.
constexpr std::size_t max_blocks = 64;
struct Several {
  std::array<std::vector<Strided>, max_notes> of;
  ~Several();
};
OMNES_FAST_THREAD_LOCAL Several several;
OMNES_FAST_THREAD_LOCAL bool several_are_gone = false;
Several::~Several() {
  several_are_gone = true;
  for (Note& note : notes) note.forget();
}

std::size_t number_of(MPI_Datatype type) { return TypeCache::place(type) % max_notes; }
Note& place_for(MPI_Datatype type) { return notes[number_of(type)]; }

Note* find(MPI_Datatype type) {
  Note& note = place_for(type);
  return note.type == type && note.generation == TypeCache::generation(type) ? &note : nullptr;
}

/// Of one entry of blocks, all that there is to say; of several, only a key: have_same_blocks() decides.
using Shape = std::array<std::uint64_t, 10>;
Shape shape_of(const TypeInfo& info) {
  const auto number = [](std::ptrdiff_t bytes) { return static_cast<std::uint64_t>(bytes); };
  const auto blocks = info.layout.blocks();
  const Strided first = blocks.empty() ? Strided{} : blocks.front();
  std::uint64_t others = 0;
  for (std::size_t i = 1; i < blocks.size(); ++i) others = others * 31 + number(blocks[i].displacement);
  return {info.size,
          number(info.extent),
          number(info.true_lb),
          number(info.true_extent),
          blocks.size() << 1 | info.contiguous,
          first.block,
          number(first.stride),
          first.count,
          number(first.displacement),
          others};
}
bool have_same_blocks(const TypeInfo& one, const TypeInfo& other) {
  return !one.layout.has_several() || std::ranges::equal(one.layout.blocks(), other.layout.blocks());
}
struct HashOfShape {
  std::size_t operator()(const Shape& shape) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t part : shape) hash = (hash ^ part) * 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
    return hash ^ hash >> 32;
  }
};

struct Kind {
  TypeInfo info;
  std::vector<Strided> blocks;  // if there are several

  explicit Kind(const TypeInfo& one) : info(one) {
    if (const auto all = one.layout.blocks(); one.layout.has_several()) {
      blocks.assign(all.begin(), all.end());
      info.layout = Layout(blocks);
    }
    info.shared = true;
  }
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
};

const TypeInfo* shared(const TypeInfo& info) try {
  OMNES_FAST_THREAD_LOCAL static const TypeInfo* last = nullptr;
  OMNES_FAST_THREAD_LOCAL static Shape last_shape{};
  const Shape shape = shape_of(info);
  if (last && last_shape == shape && have_same_blocks(*last, info)) return last;
  constexpr std::size_t max_kinds = 16384, max_kept_blocks = 65536;             // some 3 MB each
  static auto& kinds = *new std::unordered_multimap<Shape, Kind, HashOfShape>;  // lives as long as the process
  static std::size_t kept_blocks = 0;
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  const auto [first, end] = kinds.equal_range(shape);
  auto known = std::find_if(first, end, [&](const auto& kind) { return have_same_blocks(kind.second.info, info); });
  if (known == end) {
    if (kinds.size() == max_kinds || (info.layout.has_several() && kept_blocks > max_kept_blocks)) return nullptr;
    known = kinds.emplace(shape, info);
    kept_blocks += known->second.blocks.size();
  }
  last_shape = shape;
  return last = &known->second.info;
} catch (const std::bad_alloc&) {
  return nullptr;
}

/// Whether blocks that are so far apart reach as far as their elements say: some hosts round an extent up to the alignment of
/// its basic types. That divides the extent of elements without gaps, and is a power of two.
bool is_aligned(MPI_Count apart, MPI_Aint extent) { return (apart & ((extent & -extent) - 1)) == 0; }

/// So many bytes, between those from the type's address on.
void note_derived(MPI_Datatype made, std::size_t size, MPI_Aint from, MPI_Aint to, const Layout& layout) {
  TypeInfo info;
  info.kind = TypeClass::derived;
  info.size = size;
  info.true_lb = from;
  info.extent = info.true_extent = to - from;
  info.layout = layout;
  info.contiguous = info.gapless() && layout.is_block(size);
  note(made, info);
}

}  // namespace

const TypeInfo* known(MPI_Datatype type) {
  if (const Note* const noted = find(type)) return &noted->info;
  if (const TypeInfo* const used = type_cache.find(type)) return used;
  return predefined_type(type);
}

void note(MPI_Datatype made, const TypeInfo& info) try {
  Note& note = place_for(made);
  note.forget();
  TypeInfo own = info;
  if (const auto blocks = info.layout.blocks(); info.layout.has_several()) {
    if (blocks.size() > max_blocks || several_are_gone) return;
    std::vector<Strided>& kept = several.of[number_of(made)];
    if (kept.data() != blocks.data()) kept.assign(blocks.begin(), blocks.end());
    own.layout = Layout(kept);
  }
  note = {made, TypeCache::generation(made), false, own};
} catch (const std::bad_alloc&) {
}

void note_blocks(MPI_Datatype made, const TypeInfo& element, MPI_Count count, MPI_Count length, MPI_Count stride) {
  if (!element.contiguous || element.size == 0 || count <= 0 || length <= 0) return;
  MPI_Count block = 0, all = 0;
  if (__builtin_mul_overflow(length, element.extent, &block)) return;
  if (count == 1) stride = block;
  if (stride < block || !is_aligned(stride, element.extent) || __builtin_mul_overflow(count - 1, stride, &all) ||
      __builtin_add_overflow(all, block, &all))
    return;
  const auto size = static_cast<std::size_t>(count * block);
  note_derived(made, size, 0, static_cast<MPI_Aint>(all),
               stride == block ? Layout(size, 0, 1)
                               : Layout(static_cast<std::size_t>(block), static_cast<std::ptrdiff_t>(stride),
                                        static_cast<std::size_t>(count)));
}

template <class Displacement>
void note_listed(MPI_Datatype made, const TypeInfo& element, int count, const int* lengths, int length,
                 const Displacement* displacements, MPI_Aint unit) try {
  constexpr MPI_Aint longest = MPI_Aint{1} << 31;   // so that nothing overflows
  constexpr MPI_Aint farthest = MPI_Aint{1} << 40;  // beyond, they are addresses: such types are never alike
  const MPI_Aint extent = element.extent;
  if (!element.contiguous || element.size == 0 || extent > longest || count <= 0 || several_are_gone) return;
  place_for(made).forget();
  std::vector<Strided>& all = several.of[number_of(made)];
  const std::size_t room = std::min(static_cast<std::size_t>(count), max_blocks);
  all.resize(room);
  Strided* const first = all.data();
  Strided* next = first;
  MPI_Aint from = farthest, to = -farthest;
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) {
    const MPI_Aint elements = lengths ? lengths[i] : length, begin = displacements[i] * unit;
    if (elements <= 0 || begin < -farthest || begin > farthest ||
        (i > 0 && !is_aligned(begin - first->displacement, extent)))
      return;
    const MPI_Aint end = begin + elements * extent;
    const Strided block{begin, static_cast<std::size_t>(end - begin), 0, 1, size};
    if (i == 0 || !join(next[-1], block)) {
      if (next == first + room) return;
      *next++ = block;
    }
    from = std::min(from, begin);
    to = std::max(to, end);
    size += block.block;
  }
  all.resize(static_cast<std::size_t>(next - first));
  note_derived(made, size, from, to, Layout(all));
} catch (const std::bad_alloc&) {
}
template void note_listed(MPI_Datatype, const TypeInfo&, int, const int*, int, const int*, MPI_Aint);
template void note_listed(MPI_Datatype, const TypeInfo&, int, const int*, int, const MPI_Aint*, MPI_Aint);

bool note_commit(MPI_Datatype type) {
  Note* const noted = find(type);
  if (noted) noted->committed = true;
  return noted != nullptr;
}

const TypeInfo* committed(MPI_Datatype type) {
  const Note* const noted = find(type);
  return noted && noted->committed ? shared(noted->info) : nullptr;
}

}  // namespace omnes::interpose::constructed
