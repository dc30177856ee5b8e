// Which operation goes with which type (MPI-4.1, section 6.9.2), and the bridge to MPI_Reduce_local.
#include "interpose/types/operators.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>

#include "interpose/host/failure.hpp"

namespace omnes::interpose {

namespace {

enum class Kind : std::uint8_t { arithmetic, order, logical, bits, location, none };

struct Predefined {
  MPI_Op op;
  ReduceOp kernel_op;  // meaningless for none
  Kind kind;
};
Predefined table[14];
int known_operators = 0;

bool defined(Kind kind, TypeClass type) {
  using enum TypeClass;
  const bool of_c = type == signed_integer || type == unsigned_integer, integer = of_c || type == fortran_integer;
  switch (kind) {
    case Kind::arithmetic: return integer || type == multi_language || type == floating || type == complex;
    case Kind::order: return integer || type == multi_language || type == floating;
    case Kind::logical: return of_c || type == c_logical || type == fortran_logical;
    case Kind::bits: return integer || type == multi_language || type == byte;
    case Kind::location: return type == pair;
    case Kind::none: return false;
  }
  return false;
}

/// inout[i] <- in[i] ∘ inout[i]
void reduce_local(const Operator& o, const std::byte* in, std::byte* inout, std::size_t count) {
  while (count > 0) {
    const int some = o.whole ? static_cast<int>(std::min<std::size_t>(count, INT_MAX)) : 1;
    check_own(host.Reduce_local(in - o.true_lb, inout - o.true_lb, some, o.type, o.op));
    in += some * o.stride;
    inout += some * o.stride;
    count -= static_cast<std::size_t>(some);
  }
}

// MPI's functions write over the right operand. What must not be lost is combined elsewhere, in pieces that stay in the
// nearest cache: a quarter of the usual 32 KiB.
constexpr std::size_t piece_bytes = 8192;
constexpr std::size_t loose_alignment = 16;  // bytes; of the widest predefined type

/// left[i] <- left[i] ∘ right[i]
void reduce_into_left(const Operator& o, std::byte* left, const std::byte* right, std::size_t count) {
  alignas(loose_alignment) std::byte small[piece_bytes];
  std::unique_ptr<std::byte[]> large;
  if (o.stride > piece_bytes) large = std::make_unique_for_overwrite<std::byte[]>(o.stride);
  std::byte* const piece = large ? large.get() : small;
  const std::size_t most = std::max<std::size_t>(piece_bytes / o.stride, 1);
  while (count > 0) {
    const std::size_t some = std::min(count, most), bytes = some * o.stride;
    std::memcpy(piece, right, bytes);
    reduce_local(o, left, piece, some);
    std::memcpy(left, piece, bytes);
    left += bytes;
    right += bytes;
    count -= some;
  }
}

void reduce_by_host(const void* context, const void* left, const void* right, void* dst, std::size_t count) {
  const auto& o = *static_cast<const Operator*>(context);
  auto* result = static_cast<std::byte*>(dst);
  if (left == dst) return reduce_into_left(o, result, static_cast<const std::byte*>(right), count);
  if (right != dst) std::memcpy(dst, right, count * o.stride);
  reduce_local(o, static_cast<const std::byte*>(left), result, count);
}

#ifdef OMNES_ABI_MPICH
// The upper bits of a handle say how its object is kept, and what it is.
enum : unsigned { not_valid, built_in };
unsigned kind_of(MPI_Op handle) { return static_cast<unsigned>(handle) >> 30; }
unsigned object_of(MPI_Op handle) { return static_cast<unsigned>(handle) >> 26 & 15; }
#endif

/// Whether it may be an operation of the program's. To ask the host about anything else is an error of MPI_COMM_WORLD, which may
/// end the job.
bool may_be_programs(MPI_Op op) {
#ifdef OMNES_ABI_MPICH
  return kind_of(op) != not_valid && object_of(op) == object_of(MPI_SUM);
#else
  return static_cast<void>(op), true;
#endif
}

/// Made by the host itself, and perhaps unknown here: a newer MPI may have more, and each host some of its own.
bool predefined(MPI_Op op) {
#if defined(OMNES_ABI_MPICH)
  return kind_of(op) == built_in;
#elif defined(OMNES_ABI_STANDARD)
  constexpr std::uintptr_t reserved = 4096;  // handles below are the standard's and the host's constants
  return reinterpret_cast<std::uintptr_t>(op) < reserved;
#else
  return static_cast<void>(op), false;  // all there are have names in the table
#endif
}

const Predefined* find(MPI_Op op) {
  for (int i = 0; i < known_operators; ++i)
    if (table[i].op == op) return &table[i];
  return nullptr;
}

}  // namespace

const char* Operator::set(MPI_Op wanted, MPI_Datatype datatype, const TypeInfo& info) {
  if (wanted == handles.op_null) return "null operation";
  if (const Predefined* known = find(wanted)) {
    if (!defined(known->kind, info.kind)) return "operation not defined for this datatype";
    if (info.element) {
      stride = static_cast<std::size_t>(info.extent);
      reduction = {kernel(known->kernel_op, *info.element), nullptr, true};
      return reduction.fn ? nullptr : "operation not defined for this datatype";
    }
    reduction.commutative = true;
  } else if (predefined(wanted)) {
    return "operation that only the MPI knows";
  } else {
    // One that is declared commutative may still tell operands apart, as a search for a pivot does among equal ones.
    int ignored = 0;
    if (!may_be_programs(wanted) || host.Op_commutative(wanted, &ignored) != MPI_SUCCESS) return "invalid operation";
    reduction.commutative = false;
    is_programs = true;
  }
  type = datatype;
  op = wanted;
  whole = info.true_lb >= 0 && info.true_lb + info.true_extent <= info.extent;
  true_lb = whole ? 0 : info.true_lb;
  const auto loose = static_cast<std::size_t>(info.true_extent);
  stride =
      whole ? static_cast<std::size_t>(info.extent) : (loose + loose_alignment - 1) / loose_alignment * loose_alignment;
  reduction.fn = reduce_by_host;
  reduction.context = this;
  return nullptr;
}

void prepare_operators() {
  using enum ReduceOp;
  const Predefined all[] = {
      {MPI_SUM, sum, Kind::arithmetic},   {MPI_MAX, max, Kind::order},          {MPI_MIN, min, Kind::order},
      {MPI_PROD, prod, Kind::arithmetic}, {MPI_LAND, land, Kind::logical},      {MPI_LOR, lor, Kind::logical},
      {MPI_LXOR, lxor, Kind::logical},    {MPI_BAND, band, Kind::bits},         {MPI_BOR, bor, Kind::bits},
      {MPI_BXOR, bxor, Kind::bits},       {MPI_MINLOC, minloc, Kind::location}, {MPI_MAXLOC, maxloc, Kind::location},
      {MPI_REPLACE, sum, Kind::none},     {MPI_NO_OP, sum, Kind::none},
  };
  std::copy(std::begin(all), std::end(all), table);
  known_operators = std::size(table);
}

}  // namespace omnes::interpose
