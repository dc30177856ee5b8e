// Making, committing and freeing datatypes: what is made is noted (types/constructed.hpp), what is freed forgotten.
#include "interpose/host/export.hpp"
#include "interpose/types/constructed.hpp"
#include "interpose/types/holds.hpp"

namespace omnes::interpose {

namespace {

/// Calls `look(made, info of the elements)` when `code` says that the host has made a type of known elements.
template <class Look>
int made_of(Wide element, const MPI_Datatype* made, int code, Look look) {
  if (find_host() != built_for || code != MPI_SUCCESS) return code;
  if (const TypeInfo* const known = constructed::known(narrow<MPI_Datatype>(element))) look(*made, *known);
  return code;
}

}  // namespace

OMNES_EXPORT(Type_contiguous, int count, Wide element, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_contiguous, count, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) { constructed::note_blocks(type, info, 1, count, 0); });
}

OMNES_EXPORT(Type_vector, int count, int length, int stride, Wide element, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_vector, count, length, stride, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) {
                   MPI_Count bytes = 0;
                   if (!__builtin_mul_overflow(MPI_Count{stride}, info.extent, &bytes))
                     constructed::note_blocks(type, info, count, length, bytes);
                 });
}

OMNES_EXPORT(Type_create_hvector, int count, int length, MPI_Aint stride, Wide element, MPI_Datatype* made) {
  find_host();
  return made_of(
      element, made, call_host(host.Type_create_hvector, count, length, stride, element, made),
      [&](MPI_Datatype type, const TypeInfo& info) { constructed::note_blocks(type, info, count, length, stride); });
}

OMNES_EXPORT(Type_indexed, int count, const int* lengths, const int* displacements, Wide element, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_indexed, count, lengths, displacements, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) {
                   constructed::note_listed(type, info, count, lengths, 0, displacements, info.extent);
                 });
}

OMNES_EXPORT(Type_create_hindexed, int count, const int* lengths, const MPI_Aint* displacements, Wide element,
             MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_create_hindexed, count, lengths, displacements, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) {
                   constructed::note_listed(type, info, count, lengths, 0, displacements, 1);
                 });
}

OMNES_EXPORT(Type_create_indexed_block, int count, int length, const int* displacements, Wide element,
             MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_create_indexed_block, count, length, displacements, element, made),
                 [&](MPI_Datatype type, const TypeInfo& info) {
                   constructed::note_listed(type, info, count, nullptr, length, displacements, info.extent);
                 });
}

OMNES_EXPORT(Type_create_resized, Wide element, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* made) {
  find_host();
  return made_of(element, made, call_host(host.Type_create_resized, element, lb, extent, made),
                 [&](MPI_Datatype type, TypeInfo info) {
                   info.kind = TypeClass::derived;
                   info.element.reset();
                   if (info.contiguous) info.layout = Layout(info.size, 0, 1);
                   info.contiguous = info.contiguous && extent == info.extent;
                   info.extent = extent;
                   constructed::note(type, info);
                 });
}

OMNES_EXPORT(Type_commit, MPI_Datatype* type) {
  if (find_host() != built_for || !type) return host.Type_commit(type);
  const MPI_Datatype committed = *type;
  const int code = host.Type_commit(type);
  if (code != MPI_SUCCESS) return code;
  if (!constructed::note_commit(committed) && type_cache.find(committed)) TypeCache::forget(committed);
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
