// Datatypes of the program, understood as it makes them.
//
// Overview: programs make a type around a call and free it after. To examine one takes the host some ten calls; but what a
// row or a column of known elements is, its constructor's arguments tell. So these constructors leave a note, committing
// the type makes the note an answer of type_info, and freeing it makes that void. Types made in other ways, or by one thread and committed
// by another, are examined when first used (types.cpp).
//
// Why it is correct: freeing a type, or committing one of which there is no note, begins another generation of its handle, in
// which no note is found. What notes refer to stays: types that look alike share it.
#include <map>
#include <mutex>
#include <new>
#include <tuple>

#include "interpose/host/export.hpp"
#include "interpose/types/holds.hpp"
#include "interpose/types/types.hpp"

namespace omnes::interpose {

namespace {

OMNES_FAST_THREAD_LOCAL TypeCache notes;  // of types that need not be committed

auto shape_of(const TypeInfo& info) {
  return std::tuple(info.size, info.extent, info.true_lb, info.true_extent, info.contiguous);
}

/// One that stays, for all types of the program that look like this. Null: there are too many kinds, or there is no memory.
const TypeInfo* shared(const TypeInfo& info) try {
  OMNES_FAST_THREAD_LOCAL static const TypeInfo* last = nullptr;
  if (last && shape_of(*last) == shape_of(info)) return last;
  constexpr std::size_t max_kinds = 4096;
  static auto& kinds = *new std::map<decltype(shape_of(info)), TypeInfo>;  // lives as long as the process
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  auto known = kinds.find(shape_of(info));
  if (known == kinds.end()) {
    if (kinds.size() == max_kinds) return nullptr;
    known = kinds.emplace(shape_of(info), info).first;
    known->second.shared = true;
  }
  return last = &known->second;
} catch (const std::bad_alloc&) {
  return nullptr;
}

/// What is known of a type of which others are made. Null: nothing.
const TypeInfo* known_type(MPI_Datatype type) {
  if (const TypeInfo* noted = notes.find(type)) return noted;
  if (const TypeInfo* used = type_cache.find(type)) return used;
  return predefined_type(type);
}

void note(MPI_Datatype made, const TypeInfo& info) {
  if (const TypeInfo* kept = shared(info)) notes.put(made, kept, TypeCache::generation(made));
}

/// `count` blocks of `length` elements without gaps, `stride` bytes from one to the next.
void note_blocks(MPI_Datatype made, const TypeInfo& element, MPI_Count count, MPI_Count length, MPI_Count stride) {
  if (!element.contiguous || element.size == 0 || count <= 0 || length <= 0) return;
  MPI_Count block = 0, all = 0;
  if (__builtin_mul_overflow(length, element.extent, &block)) return;
  if (count == 1) stride = block;
  if (stride < block || __builtin_mul_overflow(count - 1, stride, &all) || __builtin_add_overflow(all, block, &all))
    return;
  TypeInfo info;
  info.kind = TypeClass::derived;
  info.contiguous = stride == block;
  info.size = static_cast<std::size_t>(count * block);
  info.extent = info.true_extent = static_cast<MPI_Aint>(all);
  note(made, info);
}

/// Calls `look(made, info of the elements)` when `code` says that the host has made a type of known elements.
template <class Look>
int made_of(Wide element, const MPI_Datatype* made, int code, Look look) {
  if (find_host() != built_for || code != MPI_SUCCESS) return code;
  if (const TypeInfo* const known = known_type(narrow<MPI_Datatype>(element))) look(*made, *known);
  return code;
}

}  // namespace

OMNES_EXPORT(Type_contiguous, int count, Wide element, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_contiguous, count, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) { note_blocks(type, info, 1, count, 0); });
}

OMNES_EXPORT(Type_vector, int count, int length, int stride, Wide element, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_vector, count, length, stride, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) {
                   MPI_Count bytes = 0;
                   if (!__builtin_mul_overflow(MPI_Count{stride}, info.extent, &bytes))
                     note_blocks(type, info, count, length, bytes);
                 });
}

OMNES_EXPORT(Type_create_hvector, int count, int length, MPI_Aint stride, Wide element, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_create_hvector, count, length, stride, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) { note_blocks(type, info, count, length, stride); });
}

OMNES_EXPORT(Type_create_resized, Wide element, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_create_resized, element, lb, extent, made),
                 [&](MPI_Datatype type, TypeInfo info) {
                   info.kind = TypeClass::derived;
                   info.element.reset();
                   info.contiguous = info.contiguous && extent == info.extent;
                   info.extent = extent;
                   note(type, info);
                 });
}

OMNES_EXPORT(Type_commit, MPI_Datatype* type) {
  if (find_host() != built_for || !type) return host.Type_commit(type);
  const MPI_Datatype committed = *type;
  const int code = host.Type_commit(type);
  if (code != MPI_SUCCESS) return code;
  if (const TypeInfo* noted = notes.find(committed)) {
    type_cache.put(committed, noted, TypeCache::generation(committed));
  } else if (type_cache.find(committed)) {
    TypeCache::forget(committed);
  }
  return code;
}

OMNES_EXPORT(Type_free, MPI_Datatype* type) {
  if (find_host() != built_for || !type) return host.Type_free(type);
  TypeCache::forget(*type);
  if (!holds::put_off_type(*type)) return host.Type_free(type);
  *type = handles.type_null;
  return MPI_SUCCESS;
}

}  // namespace omnes::interpose
