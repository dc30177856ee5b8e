// Datatypes as lists of runs of bytes, and operations on the types that tests use.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "functions.hpp"
#include "inside.hpp"

namespace fake {

namespace {

constexpr unsigned built_in = 1;
bool is_named(MPI_Datatype handle) {
  return static_cast<unsigned>(handle) >> 30 == built_in || (static_cast<unsigned>(handle) >> 26) == 0x8c000000u >> 26;
}

std::shared_ptr<Type> named(MPI_Datatype handle) {
  struct Pair {
    MPI_Datatype type;
    std::ptrdiff_t first, second, extent;
  };
  static const Pair pairs[] = {{MPI_FLOAT_INT, 4, 4, 8},
                               {MPI_DOUBLE_INT, 8, 8, 16},
                               {MPI_LONG_INT, 8, 8, 16},
                               {MPI_SHORT_INT, 2, 4, 8},
                               {MPI_LONG_DOUBLE_INT, 16, 16, 32}};
  auto type = std::make_shared<Type>();
  type->committed = true;
  type->named = type->handle = handle;
  for (const Pair& pair : pairs) {
    if (pair.type != handle) continue;
    type->runs = {{0, static_cast<std::size_t>(pair.first)}, {pair.second, sizeof(int)}};
    type->size = static_cast<std::size_t>(pair.first) + sizeof(int);
    type->ub = pair.extent;
    return type;
  }
  type->size = static_cast<std::size_t>(handle >> 8 & 0xff);
  type->ub = static_cast<MPI_Aint>(type->size);
  if (type->size > 0) type->runs = {{0, type->size}};
  return type;
}

struct Block {
  long length;
  MPI_Aint at;
  std::shared_ptr<Type> type;
};

int make(MPI_Datatype* made, int combiner, const std::vector<Block>& blocks, std::vector<int> integers,
         std::vector<MPI_Aint> addresses, std::vector<MPI_Datatype> inner) {
  auto type = std::make_shared<Type>();
  type->combiner = combiner;
  type->integers = std::move(integers);
  type->addresses = std::move(addresses);
  for (const MPI_Datatype handle : inner) type->inner.push_back(type_at(handle));
  bool any = false;
  for (const Block& block : blocks)
    for (long i = 0; i < block.length; ++i) {
      const MPI_Aint at = block.at + i * block.type->extent();
      type->lb = any ? std::min(type->lb, at + block.type->lb) : at + block.type->lb;
      type->ub = any ? std::max(type->ub, at + block.type->ub) : at + block.type->ub;
      any = true;
      for (const Run& run : block.type->runs) {
        const std::ptrdiff_t start = at + run.at;
        if (!type->runs.empty() && type->runs.back().at + static_cast<std::ptrdiff_t>(type->runs.back().bytes) == start)
          type->runs.back().bytes += run.bytes;
        else
          type->runs.push_back({start, run.bytes});
        type->size += run.bytes;
      }
    }
  const std::lock_guard lock(process().mutex);
  *made = process().types.add(type);
  type->handle = *made;
  return MPI_SUCCESS;
}

template <class T, class Combine>
void each(const void* in, void* inout, int count, Combine combine_two) {
  const auto* a = static_cast<const T*>(in);
  auto* b = static_cast<T*>(inout);
  for (int i = 0; i < count; ++i) b[i] = combine_two(a[i], b[i]);
}

template <class T>
int combine_numbers(const void* in, void* inout, int count, MPI_Op op) {
  switch (op) {
    case MPI_SUM: each<T>(in, inout, count, [](T a, T b) { return static_cast<T>(a + b); }); break;
    case MPI_PROD: each<T>(in, inout, count, [](T a, T b) { return static_cast<T>(a * b); }); break;
    case MPI_MIN: each<T>(in, inout, count, [](T a, T b) { return std::min(a, b); }); break;
    case MPI_MAX: each<T>(in, inout, count, [](T a, T b) { return std::max(a, b); }); break;
    case MPI_BOR:
      if constexpr (std::is_integral_v<T>) {
        each<T>(in, inout, count, [](T a, T b) { return static_cast<T>(a | b); });
        break;
      }
      return MPI_ERR_OP;
    default: return MPI_ERR_OP;
  }
  return MPI_SUCCESS;
}

}  // namespace

MPI_Aint Type::true_lb() const {
  MPI_Aint least = runs.empty() ? 0 : runs[0].at;
  for (const Run& run : runs) least = std::min<MPI_Aint>(least, run.at);
  return least;
}
MPI_Aint Type::true_ub() const {
  MPI_Aint most = 0;
  for (const Run& run : runs) most = std::max<MPI_Aint>(most, run.at + static_cast<std::ptrdiff_t>(run.bytes));
  return most;
}

std::shared_ptr<Type> type_at(MPI_Datatype handle) {
  if (is_named(handle)) {
    static auto& all = *new std::map<MPI_Datatype, std::shared_ptr<Type>>;
    const std::lock_guard lock(process().mutex);
    auto& known = all[handle];
    if (!known) known = named(handle);
    return known;
  }
  const std::lock_guard lock(process().mutex);
  return process().types.at(handle);
}

/// Elements that follow each other without gaps, as bytes.
static bool gapless(const Type& type) {
  return type.runs.size() == 1 && type.runs[0].bytes == static_cast<std::size_t>(type.extent());
}

void pack(const void* from, long count, const Type& type, std::byte* to) {
  if (count > 0 && gapless(type)) {
    std::memcpy(to, static_cast<const std::byte*>(from) + type.runs[0].at, count * type.size);
    return;
  }
  for (long i = 0; i < count; ++i)
    for (const Run& run : type.runs) {
      std::memcpy(to, static_cast<const std::byte*>(from) + i * type.extent() + run.at, run.bytes);
      to += run.bytes;
    }
}

void unpack(const std::byte* from, std::size_t bytes, void* to, long count, const Type& type) {
  if (count > 0 && gapless(type)) {
    std::memcpy(static_cast<std::byte*>(to) + type.runs[0].at, from, std::min(bytes, count * type.size));
    return;
  }
  for (long i = 0; i < count && bytes > 0; ++i)
    for (const Run& run : type.runs) {
      const std::size_t some = std::min(bytes, run.bytes);
      if (some == 0) return;
      std::memcpy(static_cast<std::byte*>(to) + i * type.extent() + run.at, from, some);
      from += some;
      bytes -= some;
    }
}

Operator::Operator(MPI_Op wanted) : op(wanted), function(nullptr) {
  const std::lock_guard lock(process().mutex);
  if (const Process::Op* const found = process().ops.find(op)) function = found->function;
}

int Operator::combine(const void* in, void* inout, int count, const Type& type) const {
  MPI_Datatype handle = type.handle;
  if (function) {
    function(const_cast<void*>(in), inout, &count, &handle);
    return MPI_SUCCESS;
  }
  switch (type.named) {
    case MPI_INT: return combine_numbers<int>(in, inout, count, op);
    case MPI_LONG: return combine_numbers<long>(in, inout, count, op);
    case MPI_BYTE: return combine_numbers<unsigned char>(in, inout, count, op);
    case MPI_FLOAT: return combine_numbers<float>(in, inout, count, op);
    case MPI_DOUBLE: return combine_numbers<double>(in, inout, count, op);
    case MPI_LONG_DOUBLE: return combine_numbers<long double>(in, inout, count, op);
    default: return MPI_ERR_OP;
  }
}

// ---- MPI's functions ------------------------------------------------------------------------------------------------------

int Type_contiguous(int count, MPI_Datatype element, MPI_Datatype* made) {
  if (count < 0) return raised(MPI_COMM_SELF, MPI_ERR_COUNT);
  return make(made, MPI_COMBINER_CONTIGUOUS, {{count, 0, type_at(element)}}, {count}, {}, {element});
}
int Type_vector(int count, int length, int stride, MPI_Datatype element, MPI_Datatype* made) {
  std::vector<Block> blocks;
  const auto type = type_at(element);
  for (int i = 0; i < count; ++i) blocks.push_back({length, static_cast<MPI_Aint>(i) * stride * type->extent(), type});
  return make(made, MPI_COMBINER_VECTOR, blocks, {count, length, stride}, {}, {element});
}
int Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype element, MPI_Datatype* made) {
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back({length, i * stride, type_at(element)});
  return make(made, MPI_COMBINER_HVECTOR, blocks, {count, length}, {stride}, {element});
}
int Type_indexed(int count, const int* lengths, const int* displacements, MPI_Datatype element, MPI_Datatype* made) {
  std::vector<Block> blocks;
  std::vector<int> integers{count};
  const auto type = type_at(element);
  for (int i = 0; i < count; ++i) blocks.push_back({lengths[i], displacements[i] * type->extent(), type});
  integers.insert(integers.end(), lengths, lengths + count);
  integers.insert(integers.end(), displacements, displacements + count);
  return make(made, MPI_COMBINER_INDEXED, blocks, integers, {}, {element});
}
int Type_create_hindexed(int count, const int* lengths, const MPI_Aint* displacements, MPI_Datatype element,
                         MPI_Datatype* made) {
  std::vector<Block> blocks;
  std::vector<int> integers{count};
  for (int i = 0; i < count; ++i) blocks.push_back({lengths[i], displacements[i], type_at(element)});
  integers.insert(integers.end(), lengths, lengths + count);
  return make(made, MPI_COMBINER_HINDEXED, blocks, integers, {displacements, displacements + count}, {element});
}
int Type_create_indexed_block(int count, int length, const int* displacements, MPI_Datatype element,
                              MPI_Datatype* made) {
  std::vector<Block> blocks;
  std::vector<int> integers{count, length};
  const auto type = type_at(element);
  for (int i = 0; i < count; ++i) blocks.push_back({length, displacements[i] * type->extent(), type});
  integers.insert(integers.end(), displacements, displacements + count);
  return make(made, MPI_COMBINER_INDEXED_BLOCK, blocks, integers, {}, {element});
}
int Type_create_hindexed_block(int count, int length, const MPI_Aint* displacements, MPI_Datatype element,
                               MPI_Datatype* made) {
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back({length, displacements[i], type_at(element)});
  return make(made, MPI_COMBINER_HINDEXED_BLOCK, blocks, {count, length}, {displacements, displacements + count},
              {element});
}
int Type_create_subarray(int dimensions, const int* sizes, const int* lengths, const int* starts, int order,
                         MPI_Datatype element, MPI_Datatype* made) {
  const auto type = type_at(element);
  std::vector<Block> blocks;
  long elements = 1, part = 1;
  for (int d = 0; d < dimensions; ++d) elements *= sizes[d], part *= lengths[d];
  for (long number = 0; number < part; ++number) {  // one element after the other, the fastest dimension first
    long rest = number, place = 0, stride = 1;
    for (int i = 0; i < dimensions; ++i) {
      const int d = order == MPI_ORDER_C ? dimensions - 1 - i : i;
      place += (starts[d] + rest % lengths[d]) * stride;
      rest /= lengths[d];
      stride *= sizes[d];
    }
    blocks.push_back({1, place * type->extent(), type});
  }
  std::vector<int> integers{dimensions};
  for (const int* from : {sizes, lengths, starts}) integers.insert(integers.end(), from, from + dimensions);
  integers.push_back(order);
  make(made, MPI_COMBINER_SUBARRAY, blocks, integers, {}, {element});
  type_at(*made)->lb = 0;
  type_at(*made)->ub = elements * type->extent();
  return MPI_SUCCESS;
}
int Type_create_struct(int count, const int* lengths, const MPI_Aint* displacements, const MPI_Datatype* types,
                       MPI_Datatype* made) {
  std::vector<Block> blocks;
  std::vector<int> integers{count};
  for (int i = 0; i < count; ++i) blocks.push_back({lengths[i], displacements[i], type_at(types[i])});
  integers.insert(integers.end(), lengths, lengths + count);
  return make(made, MPI_COMBINER_STRUCT, blocks, integers, {displacements, displacements + count},
              {types, types + count});
}
int Type_create_resized(MPI_Datatype element, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* made) {
  make(made, MPI_COMBINER_RESIZED, {{1, 0, type_at(element)}}, {}, {lb, extent}, {element});
  Type& type = *type_at(*made);
  type.lb = lb;
  type.ub = lb + extent;
  return MPI_SUCCESS;
}
int Type_dup(MPI_Datatype element, MPI_Datatype* made) {
  make(made, MPI_COMBINER_DUP, {{1, 0, type_at(element)}}, {}, {}, {element});
  type_at(*made)->committed = type_at(element)->committed;
  return MPI_SUCCESS;
}
int Type_commit(MPI_Datatype* type) {
  type_at(*type)->committed = true;
  return MPI_SUCCESS;
}
int Type_free(MPI_Datatype* handle) {
  if (is_named(*handle)) misuse("a predefined datatype is freed");
  const auto type = type_at(*handle);
  for (const auto& [keyval, value] : std::exchange(type->attributes, {})) delete_attribute(*handle, keyval, value);
  const std::lock_guard lock(process().mutex);
  process().types.remove(*handle);
  *handle = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
int Type_size_x(MPI_Datatype type, MPI_Count* size) {
  *size = static_cast<MPI_Count>(type_at(type)->size);
  return MPI_SUCCESS;
}
int Type_get_extent(MPI_Datatype type, MPI_Aint* lb, MPI_Aint* extent) {
  *lb = type_at(type)->lb;
  *extent = type_at(type)->extent();
  return MPI_SUCCESS;
}
int Type_get_true_extent(MPI_Datatype type, MPI_Aint* lb, MPI_Aint* extent) {
  *lb = type_at(type)->true_lb();
  *extent = type_at(type)->true_ub() - *lb;
  return MPI_SUCCESS;
}
int Type_get_envelope(MPI_Datatype handle, int* integers, int* addresses, int* types, int* combiner) {
  const auto type = type_at(handle);
  *integers = static_cast<int>(type->integers.size());
  *addresses = static_cast<int>(type->addresses.size());
  *types = static_cast<int>(type->inner.size());
  *combiner = type->combiner;
  return MPI_SUCCESS;
}
int Type_get_contents(MPI_Datatype handle, int, int, int, int* integers, MPI_Aint* addresses, MPI_Datatype* types) {
  const auto type = type_at(handle);
  std::copy(type->integers.begin(), type->integers.end(), integers);
  std::copy(type->addresses.begin(), type->addresses.end(), addresses);
  const std::lock_guard lock(process().mutex);
  for (const auto& inner : type->inner) {
    if (inner->combiner == MPI_COMBINER_NAMED) {
      *types++ = inner->named;
      continue;
    }
    // The caller gets another handle of it, and frees that.
    auto copy = std::make_shared<Type>(*inner);
    copy->attributes.clear();
    *types = process().types.add(copy);
    copy->handle = *types++;
  }
  return MPI_SUCCESS;
}

int Type_create_keyval(MPI_Type_copy_attr_function*, MPI_Type_delete_attr_function* deleted, int* keyval, void* extra) {
  return create_keyval(deleted, keyval, extra);
}
int Type_set_attr(MPI_Datatype handle, int keyval, void* value) {
  const std::lock_guard lock(process().mutex);
  return set_attribute(type_at(handle)->attributes, handle, keyval, value);
}
int Type_get_attr(MPI_Datatype handle, int keyval, void* value, int* flag) {
  const std::lock_guard lock(process().mutex);
  return get_attribute(type_at(handle)->attributes, keyval, value, flag);
}

int Pack(const void* from, int count, MPI_Datatype handle, void* to, int room, int* position, MPI_Comm comm) {
  const auto type = type_at(handle);
  const auto bytes = static_cast<std::size_t>(count) * type->size;
  if (!type->committed) return raised(comm, MPI_ERR_TYPE);
  if (bytes > static_cast<std::size_t>(room - *position)) return raised(comm, MPI_ERR_TRUNCATE);
  pack(from, count, *type, static_cast<std::byte*>(to) + *position);
  *position += static_cast<int>(bytes);
  return MPI_SUCCESS;
}
int Unpack(const void* from, int bytes, int* position, void* to, int count, MPI_Datatype handle, MPI_Comm comm) {
  const auto type = type_at(handle);
  const auto wanted = static_cast<std::size_t>(count) * type->size;
  if (!type->committed) return raised(comm, MPI_ERR_TYPE);
  if (wanted > static_cast<std::size_t>(bytes - *position)) return raised(comm, MPI_ERR_TRUNCATE);
  unpack(static_cast<const std::byte*>(from) + *position, wanted, to, count, *type);
  *position += static_cast<int>(wanted);
  return MPI_SUCCESS;
}
int Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  const int code = Operator(op).combine(in, inout, count, *type_at(type));
  return code == MPI_SUCCESS ? code : raised(MPI_COMM_SELF, code);
}
int Op_create(MPI_User_function* function, int commute, MPI_Op* op) {
  const std::lock_guard lock(process().mutex);
  *op = process().ops.add(Process::Op{function, commute});
  return MPI_SUCCESS;
}
int Op_commutative(MPI_Op op, int* commute) {
  const std::lock_guard lock(process().mutex);
  const auto* const found = process().ops.find(op);
  *commute = found ? found->commute : 1;
  return MPI_SUCCESS;
}
int Op_free(MPI_Op* op) {
  const std::lock_guard lock(process().mutex);
  process().ops.remove(*op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

}  // namespace fake
