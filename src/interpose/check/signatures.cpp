// Found out once for each datatype: by its constructors, down to the basic types.
#include "interpose/check/signatures.hpp"

#include <deque>
#include <mutex>

#include "interpose/types/blocks.hpp"
#include "interpose/types/types.hpp"

namespace omnes::interpose::check {

namespace {

constexpr std::uint64_t base = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio: odd, without pattern

std::uint8_t code(Basic kind, std::size_t size) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 5 | (size & 31));
}

Signature basic(Basic kind, std::size_t size, bool opaque = false) {
  const std::uint8_t type = code(kind, size);
  return {size, (type + std::uint64_t{1}) * 0xBF58476D1CE4E5B9u, base, type, opaque, false};
}

Signature of_predefined(const TypeInfo& info) {
  using enum TypeClass;
  switch (info.kind) {
    case signed_integer:
    case unsigned_integer:
    case fortran_integer:
    case multi_language:
    case c_logical:
    case fortran_logical: return basic(Basic::integer, info.size);
    case floating: return basic(Basic::floating, info.size);
    case complex: return basic(Basic::complex, info.size);
    case pair: {
      if (!info.element) return basic(Basic::other, info.size, true);
      const auto two = [](Basic first, std::size_t size, Basic second, std::size_t other) {
        return basic(first, size) + basic(second, other);
      };
      switch (*info.element) {
        case Element::i16_i32: return two(Basic::integer, 2, Basic::integer, 4);
        case Element::i32_i32: return two(Basic::integer, 4, Basic::integer, 4);
        case Element::i64_i32: return two(Basic::integer, 8, Basic::integer, 4);
        case Element::f32_i32: return two(Basic::floating, 4, Basic::integer, 4);
        case Element::f64_i32: return two(Basic::floating, 8, Basic::integer, 4);
        case Element::f32_f32: return two(Basic::floating, 4, Basic::floating, 4);
        case Element::f64_f64: return two(Basic::floating, 8, Basic::floating, 8);
        default: return basic(Basic::other, info.size, true);
      }
    }
    default: return basic(Basic::other, info.size, true);
  }
}

Signature opaque(MPI_Datatype type) {
  MPI_Count size = 0;
  Signature found;
  if (host.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return {.unknown = true};
  found.bytes = static_cast<std::uint64_t>(size);
  found.type = Signature::mixed;
  found.opaque = true;
  return found;
}

/// Also of types that are not committed, as parts of others may be.
Signature examine(MPI_Datatype type) {
  if (const TypeInfo* const info = predefined_type(type)) return of_predefined(*info);
  const int combiner = combiner_of(type);
  switch (combiner) {
    case MPI_COMBINER_F90_INTEGER:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX: {
      const Basic kind = combiner == MPI_COMBINER_F90_INTEGER ? Basic::integer
                         : combiner == MPI_COMBINER_F90_REAL  ? Basic::floating
                                                              : Basic::complex;
      return basic(kind, opaque(type).bytes);
    }
    default: break;
  }
  Signature sum;
  const bool all = !is_basic(combiner) && for_each_block(type, [&](const Block& block) {
    sum = sum + examine(block.type).times(static_cast<std::uint64_t>(block.length));
    return !sum.unknown;
  });
  return all ? sum : opaque(type);
}

using SignatureCache = HandleCache<MPI_Datatype, const Signature, 32>;
static_assert(std::is_base_of_v<Generations<MPI_Datatype, 32>, TypeCache>);  // which are forgotten with these
OMNES_FAST_THREAD_LOCAL SignatureCache cache;

/// Lives as long as the process: programs have few kinds of types.
const Signature* keep(const Signature& found) {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::deque<Signature>;
  const std::lock_guard lock(mutex);
  for (const Signature& one : all)
    if (one.bytes == found.bytes && one.hash == found.hash && one.power == found.power && one.type == found.type &&
        one.opaque == found.opaque)
      return &one;
  return &all.emplace_back(found);
}

}  // namespace

Signature Signature::operator+(const Signature& next) const {
  Signature sum;
  sum.bytes = bytes + next.bytes;
  sum.hash = hash * next.power + next.hash;
  sum.power = power * next.power;
  sum.type = type == 0 ? next.type : next.type == 0 || next.type == type ? type : mixed;
  sum.opaque = opaque || next.opaque;
  sum.unknown = unknown || next.unknown;
  return sum;
}

Signature Signature::times(std::uint64_t count) const {
  Signature result, square = *this;
  result.unknown = unknown;
  for (; count > 0; count >>= 1) {
    if (count & 1) result = result + square;
    if (count > 1) square = square + square;
  }
  return result;
}

Signature signature(MPI_Count count, MPI_Datatype type) {
  if (count < 0 || type == handles.type_null) return {.unknown = true};
  const Signature* known = cache.find(type);
  if (!known) {
    const std::uint64_t generation = SignatureCache::generation(type);
    if (!type_info(type)) return {.unknown = true};
    known = keep(examine(type));
    cache.put(type, known, generation);
  }
  return known->times(static_cast<std::uint64_t>(count));
}

Basic basic_of(std::uint8_t type) { return type == Signature::mixed ? Basic::other : static_cast<Basic>(type >> 5); }

int size_of(std::uint8_t type) { return type == Signature::mixed ? 0 : (type & 31) == 0 && type != 0 ? 32 : type & 31; }

std::string type_name(std::uint8_t type) {
  const std::string size = std::to_string(size_of(type)) + "-byte ";
  switch (basic_of(type)) {
    case Basic::none: return "nothing";
    case Basic::integer: return size + "integers";
    case Basic::floating: return size + "floating-point numbers";
    case Basic::complex: return size + "complex numbers";
    case Basic::other: break;
  }
  return type == Signature::mixed ? "elements of several types" : "bytes";
}

}  // namespace omnes::interpose::check
