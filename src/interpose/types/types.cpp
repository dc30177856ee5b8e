// Datatypes: predefined ones from a table made once, derived ones as they were made, or examined once and remembered in an
// attribute.
#include "interpose/types/types.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/types/blocks.hpp"
#include "interpose/types/constructed.hpp"

namespace omnes::interpose {

OMNES_FAST_THREAD_LOCAL TypeCache type_cache;

namespace {

using TableOfTypes = std::unordered_map<MPI_Datatype, TypeInfo>;
std::atomic<const TableOfTypes*> predefined_types = nullptr;  // lives as long as the process
int keyval = MPI_KEYVAL_INVALID;

struct Named {
  MPI_Datatype type;
  TypeClass kind;
  std::optional<Element> pair = {};  // one with a kernel, if its parts have the usual sizes
};

// A host without some type (an older one, or one built without Fortran) has a null handle or none there.
std::vector<Named> named_types() {
  using enum TypeClass;
  return {
      {MPI_SIGNED_CHAR, signed_integer},
      {MPI_SHORT, signed_integer},
      {MPI_INT, signed_integer},
      {MPI_LONG, signed_integer},
      {MPI_LONG_LONG, signed_integer},
      {MPI_INT8_T, signed_integer},
      {MPI_INT16_T, signed_integer},
      {MPI_INT32_T, signed_integer},
      {MPI_INT64_T, signed_integer},
      {MPI_INTEGER, fortran_integer},
      {MPI_INTEGER1, fortran_integer},
      {MPI_INTEGER2, fortran_integer},
      {MPI_INTEGER4, fortran_integer},
      {MPI_INTEGER8, fortran_integer},
      {MPI_UNSIGNED_CHAR, unsigned_integer},
      {MPI_UNSIGNED_SHORT, unsigned_integer},
      {MPI_UNSIGNED, unsigned_integer},
      {MPI_UNSIGNED_LONG, unsigned_integer},
      {MPI_UNSIGNED_LONG_LONG, unsigned_integer},
      {MPI_UINT8_T, unsigned_integer},
      {MPI_UINT16_T, unsigned_integer},
      {MPI_UINT32_T, unsigned_integer},
      {MPI_UINT64_T, unsigned_integer},
      {MPI_AINT, multi_language},
      {MPI_OFFSET, multi_language},
      {MPI_COUNT, multi_language},
      {MPI_FLOAT, floating},
      {MPI_DOUBLE, floating},
      {MPI_LONG_DOUBLE, floating},
      {MPI_REAL, floating},
      {MPI_DOUBLE_PRECISION, floating},
      {MPI_REAL4, floating},
      {MPI_REAL8, floating},
      {MPI_REAL16, floating},
      {MPI_C_FLOAT_COMPLEX, complex},
      {MPI_C_DOUBLE_COMPLEX, complex},
      {MPI_C_LONG_DOUBLE_COMPLEX, complex},
      {MPI_COMPLEX, complex},
      {MPI_DOUBLE_COMPLEX, complex},
      {MPI_COMPLEX8, complex},
      {MPI_COMPLEX16, complex},
      {MPI_COMPLEX32, complex},
      {MPI_CXX_FLOAT_COMPLEX, complex},
      {MPI_CXX_DOUBLE_COMPLEX, complex},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, complex},
      {MPI_C_BOOL, c_logical},
      {MPI_CXX_BOOL, c_logical},
      {MPI_LOGICAL, fortran_logical},
      {MPI_BYTE, byte},
      {MPI_CHAR, std::is_signed_v<char> ? signed_integer : unsigned_integer},  // to all hosts, not to MPI
      {MPI_WCHAR, other},
      {MPI_CHARACTER, other},
      {MPI_PACKED, other},
      {MPI_FLOAT_INT, pair, Element::f32_i32},
      {MPI_DOUBLE_INT, pair, Element::f64_i32},
      {MPI_LONG_INT, pair, Element::i64_i32},
      {MPI_2INT, pair, Element::i32_i32},
      {MPI_SHORT_INT, pair, Element::i16_i32},
      {MPI_LONG_DOUBLE_INT, pair},
      {MPI_2REAL, pair, Element::f32_f32},
      {MPI_2DOUBLE_PRECISION, pair, Element::f64_f64},
      {MPI_2INTEGER, pair, Element::i32_i32},
  };
}

bool measure(MPI_Datatype type, TypeInfo& info) {
  MPI_Count size = 0;
  MPI_Aint lb = 0;
  if (host.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return false;
  if (host.Type_get_extent(type, &lb, &info.extent) != MPI_SUCCESS) return false;
  if (host.Type_get_true_extent(type, &info.true_lb, &info.true_extent) != MPI_SUCCESS) return false;
  info.size = static_cast<std::size_t>(size);
  return true;
}

/// The kernels' name for numbers of this type.
std::optional<Element> element_of(TypeClass kind, std::size_t size) {
  using enum TypeClass;
  using enum Element;
  const auto of_this_size = [size](std::initializer_list<Element> elements) -> std::optional<Element> {
    for (const Element element : elements)
      if (size_of(element) == size) return element;
    return std::nullopt;
  };
  switch (kind) {
    case signed_integer:
    case fortran_integer:
    case multi_language: return of_this_size({i8, i16, i32, i64});
    case unsigned_integer:
    case byte:
    case c_logical: return of_this_size({u8, u16, u32, u64});
    case floating: return of_this_size({f32, f64});
    case complex: return of_this_size({c64, c128});
    default: return std::nullopt;
  }
}

TypeClass class_of(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_NAMED: return TypeClass::other;
    case MPI_COMBINER_F90_INTEGER: return TypeClass::signed_integer;
    case MPI_COMBINER_F90_REAL: return TypeClass::floating;
    case MPI_COMBINER_F90_COMPLEX: return TypeClass::complex;
    default: return TypeClass::derived;
  }
}

/// Asked of the private communicator, whose errors are returned: nothing reaches the program's handlers.
bool committed(MPI_Datatype type) {
  char nothing[1];
  int position = 0;
  return host.Pack(nothing, 0, type, nothing, 1, &position, process().self) == MPI_SUCCESS;
}

/// What the attribute of a derived type holds.
struct Examined : TypeInfo {
  std::vector<Strided> blocks;
};

const TypeInfo* examine(MPI_Datatype type) {
  constexpr std::size_t most_blocks = 4096;  // 160 KiB
  const int combiner = combiner_of(type);
  auto info = std::make_unique<Examined>();
  if ((combiner < 0 && has_envelope(type)) || !measure(type, *info)) return nullptr;
  info->kind = class_of(combiner);
  if (info->size > 0) info->blocks = blocks_of(type, most_blocks);
  info->layout = Layout(info->blocks);
  info->contiguous = info->gapless() && (info->size == 0 || info->layout.is_block(info->size));
  info->element = element_of(info->kind, info->size);
  if (host.Type_set_attr(type, keyval, static_cast<TypeInfo*>(info.get())) != MPI_SUCCESS) return nullptr;
  return info.release();
}

int forget(MPI_Datatype type, int, void* info, void*) {
  TypeCache::forget(type);
  delete static_cast<Examined*>(static_cast<TypeInfo*>(info));
  return MPI_SUCCESS;
}

}  // namespace

const TypeInfo* predefined_type(MPI_Datatype type) {
  const TableOfTypes* const all = predefined_types.load(std::memory_order_acquire);
  if (!all) return nullptr;  // MPI is not initialised
  const auto known = all->find(type);
  return known == all->end() ? nullptr : &known->second;
}

const TypeInfo* remembered_type(MPI_Datatype type) {
  if (const TypeInfo* known = type_cache.find(type)) return known;
  const std::uint64_t generation = TypeCache::generation(type);
  const TypeInfo* const known = constructed::committed(type);
  if (known) type_cache.put(type, known, generation);
  return known;
}

const TypeInfo* look_up_type(MPI_Datatype type) {
  if (const TypeInfo* known = remembered_type(type)) return known;
  const std::uint64_t generation = TypeCache::generation(type);
  if (const TypeInfo* known = predefined_type(type)) {
    type_cache.put(type, known, generation);
    return known;
  }
  if (!committed(type)) return nullptr;
  // Threads that meet the same type at once. Recursive: freeing parts of it may call the program.
  static auto& mutex = *new std::recursive_mutex;
  const std::lock_guard lock(mutex);
  void* attribute = nullptr;
  int found = 0;
  // From here on the datatype is right, for all ranks: none may leave the call to the host alone.
  check_own(host.Type_get_attr(type, keyval, &attribute, &found));
  const TypeInfo* info = found ? static_cast<const TypeInfo*>(attribute) : examine(type);
  if (!info) throw Failure{MPI_ERR_OTHER};
  type_cache.put(type, info, generation);
  return info;
}

int prepare_types(std::uint64_t& fingerprint) {
  auto all = std::make_unique<TableOfTypes>();
  for (const Named& named : named_types()) {
    if (named.type == MPI_Datatype{} || named.type == handles.type_null) continue;
    TypeInfo info;
    const bool known = measure(named.type, info) && info.size > 0;
    fingerprint = fingerprint * 31 + (known ? info.size : 0);
    if (!known) continue;
    info.kind = named.kind;
    info.contiguous = info.gapless();
    info.element = element_of(info.kind, info.size);
    if (named.pair && size_of(*named.pair) == static_cast<std::size_t>(info.extent)) info.element = named.pair;
    all->emplace(named.type, info);
  }
  predefined_types.store(all.release(), std::memory_order_release);  // for ever
  return host.Type_create_keyval(no_copy, forget, &keyval, nullptr);
}

}  // namespace omnes::interpose
