// The fake host as the interposer finds it: in place of host_loaded.cpp.
#include <string_view>
#include <tuple>

#include "functions.hpp"
#include "inside.hpp"
#include "interpose/host/host.hpp"

namespace fake {

namespace {

enum Number : int {
#define FAKE_NUMBER(name, comm) number_##name,
  FAKE_FUNCTIONS(FAKE_NUMBER) count
#undef FAKE_NUMBER
};
const int places[] = {
#define FAKE_PLACE(name, comm) place(#name),
    FAKE_FUNCTIONS(FAKE_PLACE)
#undef FAKE_PLACE
};
constexpr const char* names[] = {
#define FAKE_NAME(name, comm) #name,
    FAKE_FUNCTIONS(FAKE_NAME)
#undef FAKE_NAME
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
#define FAKE_TAKE(name, comm) host.name = fake::Guarded<fake::name, fake::number_##name, comm>::call;
  FAKE_FUNCTIONS(FAKE_TAKE)
#undef FAKE_TAKE
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
FAKE_EXPORT(Comm_set_attr, (MPI_Comm comm, int keyval, void* value), (comm, keyval, value))
FAKE_EXPORT(Type_indexed, (int count, const int* lengths, const int* at, MPI_Datatype type, MPI_Datatype* made),
            (count, lengths, at, type, made))
FAKE_EXPORT(Op_create, (MPI_User_function * function, int commute, MPI_Op* op), (function, commute, op))
FAKE_EXPORT(Info_create, (MPI_Info * info), (info))
FAKE_EXPORT(Info_set, (MPI_Info info, const char* key, const char* value), (info, key, value))
FAKE_EXPORT(Info_free, (MPI_Info * info), (info))
FAKE_EXPORT(Cancel, (MPI_Request * request), (request))
FAKE_EXPORT(Issend,
            (const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
            (from, count, type, to, tag, comm, request))
