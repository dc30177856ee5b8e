// Datatypes over the same basic items: whole, with gaps, with items in reverse order, with negative lower bounds.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "draw.hpp"

namespace random_programs {

/// Bytes of a basic item that hold data.
struct Field {
  int at, bytes;
};

/// A predefined type.
struct Base {
  MPI_Datatype type;
  const char* name;
  int extent;
  std::vector<Field> fields;
};

inline const Base& base_of(int number) {
  static const std::vector<Base> all = {{MPI_INT, "int", 4, {{0, 4}}},
                                        {MPI_DOUBLE, "double", 8, {{0, 8}}},
                                        {MPI_CHAR, "char", 1, {{0, 1}}},
                                        {MPI_SHORT, "short", 2, {{0, 2}}},
                                        {MPI_BYTE, "byte", 1, {{0, 1}}},
                                        {MPI_DOUBLE_INT, "double_int", 16, {{0, 8}, {8, 4}}},
                                        {MPI_2INT, "2int", 8, {{0, 8}}},
                                        {MPI_SHORT_INT, "short_int", 8, {{0, 2}, {4, 4}}},
                                        {MPI_LONG_LONG, "long_long", 8, {{0, 8}}},
                                        {MPI_C_DOUBLE_COMPLEX, "complex", 16, {{0, 16}}}};
  return all[number % all.size()];
}

/// A datatype, and where the items of its elements lie.
struct Layout {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool made = false;
  const Base* base = nullptr;
  std::string name;
  std::vector<std::ptrdiff_t> at;  ///< of each item, from the start of its element
  std::ptrdiff_t extent = 0;

  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { release(); }
  /// Programs may do so while operations that use it are under way.
  void release() {
    if (made) must(MPI_Type_free(&type), "MPI_Type_free");
    made = false;
  }
  int items() const { return static_cast<int>(at.size()); }
};
using LayoutPtr = std::shared_ptr<Layout>;

/// Of so many items in an element.
inline LayoutPtr make_layout(Draw draw, const Base& base, int items) {
  auto layout = std::make_shared<Layout>();
  const std::ptrdiff_t b = base.extent;
  const int kind = draw.below(items == 1 ? 9 : 6);
  layout->base = &base;
  layout->made = true;
  layout->at.resize(items);
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  const auto lie = [&](std::ptrdiff_t first, std::ptrdiff_t step, std::ptrdiff_t extent) {
    for (int i = 0; i < items; ++i) layout->at[i] = first + i * step;
    layout->extent = extent;
  };
  switch (kind) {
    case 0:
      layout->name = "contiguous";
      must(MPI_Type_contiguous(items, base.type, &layout->type), "MPI_Type_contiguous");
      lie(0, b, items * b);
      break;
    case 1:
      layout->name = "vector";
      must(MPI_Type_vector(items, 1, 2, base.type, &layout->type), "MPI_Type_vector");
      lie(0, 2 * b, (2 * items - 1) * b);
      break;
    case 2:
      layout->name = "resized";
      must(MPI_Type_contiguous(items, base.type, &inner), "MPI_Type_contiguous");
      must(MPI_Type_create_resized(inner, -b, (items + 2) * b, &layout->type), "MPI_Type_create_resized");
      lie(0, b, (items + 2) * b);
      break;
    case 3: {
      layout->name = "reversed";
      std::vector<int> lengths(items, 1);
      std::vector<MPI_Aint> displacements(items);
      for (int i = 0; i < items; ++i) displacements[i] = (2 * (items - 1 - i) - 1) * b;
      must(MPI_Type_create_hindexed(items, lengths.data(), displacements.data(), base.type, &layout->type),
           "MPI_Type_create_hindexed");
      lie((2 * (items - 1) - 1) * b, -2 * b, (2 * items - 1) * b);
      break;
    }
    case 4: {
      layout->name = "struct";
      // The second half far from the first.
      const int half = items / 2;
      int lengths[2] = {half, items - half};
      MPI_Aint displacements[2] = {0, (half + 3) * b};
      MPI_Datatype types[2] = {base.type, base.type};
      must(MPI_Type_create_struct(2, lengths, displacements, types, &layout->type), "MPI_Type_create_struct");
      for (int i = 0; i < items; ++i) layout->at[i] = (i < half ? i : i + 3) * b;
      // Empty blocks do not count.
      layout->extent = half == 0 ? items * b : (items + 3) * b;
      break;
    }
    case 5:
      layout->name = "nested";
      must(MPI_Type_vector(items, 1, 3, base.type, &inner), "MPI_Type_vector");
      must(MPI_Type_contiguous(1, inner, &layout->type), "MPI_Type_contiguous");
      lie(0, 3 * b, (3 * items - 2) * b);
      break;
    default:
      layout->name = "plain";
      layout->type = base.type;
      layout->made = false;
      lie(0, b, b);
  }
  if (inner != MPI_DATATYPE_NULL) must(MPI_Type_free(&inner), "MPI_Type_free");
  if (layout->made) must(MPI_Type_commit(&layout->type), "MPI_Type_commit");
  layout->name += " " + std::string(base.name) + " x " + std::to_string(items);
  return layout;
}

/// Memory of the program, and what all of it has to hold at the end: what an operation may not write stays as it is.
class Buffer {
 public:
  /// For bytes from low (at most 0) to high, seen from the address that MPI gets.
  Buffer(Draw draw, std::ptrdiff_t low, std::ptrdiff_t high)
      : origin_(margin - low), size_(margin - low + high + margin), wanted_(size_) {
    if (draw.one_in(4)) {
      void* memory = nullptr;
      must(MPI_Alloc_mem(static_cast<MPI_Aint>(size_), MPI_INFO_NULL, &memory), "MPI_Alloc_mem");
      memory_ = Memory(static_cast<char*>(memory), [](char* m) { must(MPI_Free_mem(m), "MPI_Free_mem"); });
    } else {
      memory_ = Memory(static_cast<char*>(std::malloc(size_)), in_heap);
    }
  }
  char* address() const { return memory_.get() + origin_; }
  /// What has been there before is `number`.
  void clear(std::uint64_t number) { std::memset(wanted_.data(), static_cast<int>(number & 0xff), size_); }
  /// Of what it has to hold.
  char* wanted(std::ptrdiff_t at) { return wanted_.data() + origin_ + at; }
  /// What it has to hold is what it holds.
  void store() { std::memcpy(memory_.get(), wanted_.data(), size_); }
  /// What these bytes hold at the end is open.
  void leave_open(std::ptrdiff_t at, std::ptrdiff_t bytes) { open_.push_back({origin_ + at, bytes}); }
  void check(const char* what) {
    for (const auto& [at, bytes] : open_) std::memcpy(wanted_.data() + at, memory_.get() + at, bytes);
    if (std::memcmp(memory_.get(), wanted_.data(), size_) == 0) return;
    std::size_t i = 0, wrong = 0, first = size_;
    for (; i < size_; ++i)
      if (memory_.get()[i] != wanted_[i]) ++wrong, first = first == size_ ? i : first;
    fail("%s: byte %td is %02x instead of %02x, %zu of %zu bytes are wrong", what,
         static_cast<std::ptrdiff_t>(first) - static_cast<std::ptrdiff_t>(origin_),
         static_cast<unsigned char>(memory_.get()[first]), static_cast<unsigned char>(wanted_[first]), wrong, size_);
  }

 private:
  using Memory = std::unique_ptr<char, void (*)(char*)>;
  static void in_heap(char* memory) { std::free(memory); }
  static constexpr std::ptrdiff_t margin = 64;
  std::size_t origin_, size_;
  Memory memory_{nullptr, in_heap};
  std::vector<char> wanted_;
  std::vector<std::pair<std::size_t, std::size_t>> open_;
};

/// Items that one rank has for another.
struct Part {
  LayoutPtr layout;
  int items = 0;
  std::ptrdiff_t at = 0;  ///< bytes from the buffer's address
  int count() const { return items / layout->items(); }
};

/// What `from` has for `to`: bytes that no other part has. `key` differs from call to call.
inline void put_part(char* at, const Part& part, std::uint64_t key, int from, int to) {
  const int per_element = part.layout->items();
  for (int i = 0; i < part.items; ++i) {
    char* const item = at + i / per_element * part.layout->extent + part.layout->at[i % per_element];
    std::uint64_t data[2];
    data[0] =
        hash({key, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), static_cast<std::uint64_t>(i)});
    data[1] = mix(data[0]);
    for (const Field& field : part.layout->base->fields)
      std::memcpy(item + field.at, reinterpret_cast<const char*>(data) + field.at, field.bytes);
  }
}

/// The parts of one side of a call, in one buffer.
struct Side {
  std::vector<Part> parts;
  std::vector<int> counts, displacements;  ///< elements; bytes for those that end in w
  std::vector<MPI_Aint> far;               ///< bytes
  std::vector<MPI_Datatype> types;
  std::unique_ptr<Buffer> buffer;

  void* address() const { return buffer->address(); }
  int count() const { return parts.empty() ? 0 : parts[0].count(); }
  MPI_Datatype type() const { return parts.empty() ? MPI_INT : parts[0].layout->type; }
  void release() const {
    for (const Part& part : parts) part.layout->release();
  }
  std::string text() const {
    std::string items;
    for (const Part& part : parts) items += (items.empty() ? "" : "+") + std::to_string(part.items);
    return (parts.empty() ? "none" : parts[0].layout->name) + " [" + items + "]";
  }
  /// Makes the buffer, once all parts are there.
  void lie(Draw draw) {
    std::ptrdiff_t low = 0, high = 0;
    for (const Part& part : parts) {
      const std::ptrdiff_t last = std::max(0, part.count() - 1) * part.layout->extent;
      for (const std::ptrdiff_t item : part.layout->at) {
        low = std::min(low, part.at + item);
        high = std::max(high, part.at + last + item + part.layout->base->extent);
      }
      types.push_back(part.layout->type);
      counts.push_back(part.count());
      far.push_back(part.at);
    }
    buffer = std::make_unique<Buffer>(draw, low, high);
  }
};

/// Items in an element: a divisor of g.
inline int some_items(Draw& draw, int g) {
  const int k = 1 + draw.below(g);
  return g % k == 0 ? k : 1;
}

/// Parts of one layout, one after the other: all that regular operations know.
inline std::unique_ptr<Side> regular(Draw draw, const Base& base, int g, int parts, int items) {
  auto side = std::make_unique<Side>();
  const LayoutPtr layout = make_layout(Draw(draw.next()), base, some_items(draw, g));
  for (int i = 0; i < parts; ++i)
    side->parts.push_back({layout, items, i * (items / layout->items()) * layout->extent});
  side->lie(draw);
  return side;
}

/// Parts of one layout, anywhere.
inline std::unique_ptr<Side> unequal(Draw draw, const Base& base, int g, const std::vector<int>& items) {
  auto side = std::make_unique<Side>();
  const LayoutPtr layout = make_layout(Draw(draw.next()), base, some_items(draw, g));
  const int n = static_cast<int>(items.size());
  const bool backwards = draw.one_in(3), gaps = draw.one_in(2);
  side->parts.resize(n);
  side->displacements.resize(n);
  int at = draw.one_in(4) ? -3 : 0;
  for (int k = 0; k < n; ++k) {
    const int i = backwards ? n - 1 - k : k;
    side->displacements[i] = at;
    side->parts[i] = {layout, items[i], at * layout->extent};
    at += items[i] / layout->items() + (gaps ? draw.below(3) : 0);
  }
  side->lie(draw);
  return side;
}

/// Each part of its own layout, anywhere.
inline std::unique_ptr<Side> of_all_types(Draw draw, const Base& base, int g, const std::vector<int>& items) {
  auto side = std::make_unique<Side>();
  std::ptrdiff_t at = 0;
  for (const int n : items) {
    const LayoutPtr layout = make_layout(Draw(draw.next()), base, some_items(draw, g));
    // What lies before the part's own address, and behind: the widest layout has 3 items' room for each.
    const std::ptrdiff_t room = (3 * n + 8 * g + 8) * base.extent;
    at += (2 * g + 4) * base.extent;
    side->parts.push_back({layout, n, at});
    side->displacements.push_back(static_cast<int>(at));
    at += room * 2;
  }
  side->lie(draw);
  return side;
}

}  // namespace random_programs
