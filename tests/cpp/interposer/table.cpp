// The fake host as the interposer finds it: in place of host_loaded.cpp.
#include <list>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "functions.hpp"
#include "inside.hpp"
#include "interpose/host/host.hpp"

namespace fake {

namespace {

/// How many counts a collective takes.
int parts_of(MPI_Comm handle, bool of_neighbors) {
  const Comm& comm = comm_at(handle);
  if (!of_neighbors) return static_cast<int>(comm.ranks.size());
  return static_cast<int>(comm.topology.kind == MPI_CART ? 2 * comm.topology.sizes.size()
                                                         : comm.topology.sources.size());
}

/// The function with large counts, by the other one. Arrays are kept, as persistent operations come back to them.
template <auto small, int comm_place, bool of_neighbors, class Large>
struct Widened;
template <class... To, int (*small)(To...), int comm_place, bool of_neighbors, class... From>
struct Widened<small, comm_place, of_neighbors, int(From...)> {
  static int call(From... from) {
    const auto narrowed = [&]<class As, class Given>(std::type_identity<As>, Given given) -> As {
      if constexpr (std::is_same_v<As, Given>) {
        return given;
      } else if constexpr (std::is_pointer_v<Given>) {
        static auto& kept = *new std::list<std::vector<int>>;
        const std::lock_guard lock(process().mutex);
        const int parts = parts_of(std::get<comm_place>(std::tuple(from...)), of_neighbors);
        return given ? kept.emplace_back(given, given + parts).data() : nullptr;
      } else {
        return static_cast<As>(given);
      }
    };
    return small(narrowed(std::type_identity<To>(), from)...);
  }
};
constexpr bool is_of_neighbors(std::string_view name) { return name.find("eighbor") != name.npos; }
#define FAKE_WIDEN(name, comm) \
  constexpr auto name##_c =    \
      Widened<fake::name, comm, is_of_neighbors(#name), std::remove_reference_t<decltype(::PMPI_##name##_c)>>::call;
FAKE_COUNTED(FAKE_WIDEN)
#undef FAKE_WIDEN

/// All, with those for large counts.
#define FAKE_LARGE(name, comm) FAKE_ONE(name##_c, comm)
#define FAKE_EVERY FAKE_FUNCTIONS(FAKE_ONE) FAKE_COUNTED(FAKE_LARGE)

enum Number : int {
#define FAKE_ONE(name, comm) number_##name,
  FAKE_EVERY count
#undef FAKE_ONE
};
const int places[] = {
#define FAKE_ONE(name, comm) place(#name),
    FAKE_EVERY
#undef FAKE_ONE
};
constexpr const char* names[] = {
#define FAKE_ONE(name, comm) #name,
    FAKE_EVERY
#undef FAKE_ONE
};
/// Whatever the level.
bool may_any_thread(int number) {
  return number == number_Initialized || number == number_Finalized || number == number_Query_thread;
}

/// The host's function, unless it is its turn to fail. Then nothing happens but what an MPI does with errors.
template <auto function, int number, int comm_place>
struct Guarded;
template <class... Arguments, int (*function)(Arguments...), int number, int comm_place>
struct Guarded<function, number, comm_place> {
  static int call(Arguments... arguments) {
    const bool fails = strikes(places[number]);
    const Safe host;
    const Process& p = process();
    if (p.initialized && p.level != MPI_THREAD_MULTIPLE && p.main != std::this_thread::get_id() &&
        !may_any_thread(number))
      misuse("a thread that may not calls %s", names[number]);
    if (!fails) return function(arguments...);
    MPI_Comm comm = MPI_COMM_SELF;
    if constexpr (comm_place >= 0) comm = (MPI_Comm)std::get<comm_place>(std::tuple(arguments...));
    return raised(comm, MPI_ERR_OTHER);
  }
};

int start_hook(int (*hook)(void*), void*, MPIX_Stream) {
  const std::lock_guard lock(process().mutex);
  process().hooks.push_back(hook);
  return MPI_SUCCESS;
}

int is_revoked(MPI_Comm comm, int* flag) {
  const Safe host;
  return Comm_is_revoked(comm, flag);
}

int is_complete(MPI_Request request) {
  const Safe host;
  return Request_is_complete(request);
}

}  // namespace

}  // namespace fake

namespace omnes::interpose {

void* host_data(const char* name) {
  if (fake::job.hook && std::string_view(name) == "PMPIX_Async_start") return reinterpret_cast<void*>(fake::start_hook);
  return nullptr;
}

Wide world_of(Family) { return MPI_COMM_WORLD; }

Family look_up_host() {
  const fake::Safe test;
#define FAKE_ONE(name, comm) host.name = fake::Guarded<fake::name, fake::number_##name, comm>::call;
  FAKE_EVERY
#undef FAKE_ONE
  if (fake::job.revokes) host.Comm_is_revoked = fake::is_revoked;
  if (fake::job.looks_at_requests) host.Request_is_complete = fake::is_complete;
  return built_for;
}

}  // namespace omnes::interpose

// What programs call that the interposer leaves to the host.
#define FAKE_EXPORT(name, parameters, arguments) \
  extern "C" int MPI_##name parameters {         \
    const fake::Safe host;                       \
    return fake::name arguments;                 \
  }
FAKE_EXPORT(Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))
FAKE_EXPORT(Comm_size, (MPI_Comm comm, int* size), (comm, size))
FAKE_EXPORT(Comm_group, (MPI_Comm comm, MPI_Group* group), (comm, group))
FAKE_EXPORT(Group_incl, (MPI_Group group, int count, const int* ranks, MPI_Group* made), (group, count, ranks, made))
FAKE_EXPORT(Group_free, (MPI_Group * group), (group))
FAKE_EXPORT(Comm_create_errhandler, (MPI_Comm_errhandler_function * function, MPI_Errhandler* made), (function, made))
FAKE_EXPORT(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
FAKE_EXPORT(Comm_create_keyval,
            (MPI_Comm_copy_attr_function * copied, MPI_Comm_delete_attr_function* deleted, int* keyval, void* extra),
            (copied, deleted, keyval, extra))
FAKE_EXPORT(Type_create_struct,
            (int count, const int* lengths, const MPI_Aint* at, const MPI_Datatype* types, MPI_Datatype* made),
            (count, lengths, at, types, made))
FAKE_EXPORT(Type_create_hindexed_block,
            (int count, int length, const MPI_Aint* at, MPI_Datatype type, MPI_Datatype* made),
            (count, length, at, type, made))
FAKE_EXPORT(Type_create_subarray,
            (int dimensions, const int* sizes, const int* lengths, const int* starts, int order, MPI_Datatype type,
             MPI_Datatype* made),
            (dimensions, sizes, lengths, starts, order, type, made))
FAKE_EXPORT(Type_dup, (MPI_Datatype type, MPI_Datatype* made), (type, made))
FAKE_EXPORT(Op_create, (MPI_User_function * function, int commute, MPI_Op* op), (function, commute, op))
FAKE_EXPORT(Info_create, (MPI_Info * info), (info))
FAKE_EXPORT(Info_set, (MPI_Info info, const char* key, const char* value), (info, key, value))
FAKE_EXPORT(Info_free, (MPI_Info * info), (info))
FAKE_EXPORT(Imrecv, (void* to, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request),
            (to, count, type, message, request))
