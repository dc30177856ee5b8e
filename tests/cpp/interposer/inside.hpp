// The fake host's inside: what ranks share, what each has, and who may fail.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "job.hpp"

namespace fake {

// ---- Faults -----------------------------------------------------------------------------------------------------------

/// Places where something can fail.
constexpr int max_places = 400;
int place(const char* what);
/// Counts that this rank comes there. Whether it fails now.
bool strikes(int place);

/// While there is one, this thread is in the host or in the test, where nothing fails.
struct Safe {
  Safe();
  ~Safe();
};

/// Without handlers and destructors; what was counted for coverage is kept.
[[noreturn]] void leave(int code);

/// The interposer has done what no MPI program may: the job fails.
[[noreturn]] void misuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

// ---- What the ranks share -----------------------------------------------------------------------------------------------

class Lock {
 public:
  void lock() {
    while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  void unlock() { busy_.clear(std::memory_order_release); }

 private:
  std::atomic_flag busy_;
};

using Bytes = std::pmr::vector<std::byte>;

/// Of a message whose sender waits: from its memory it is read when the receiver wants it.
enum class Stage { sent, wanted, read, taken };
struct Message {
  int context, from, tag;
  unsigned late;              ///< looks until it has come
  std::atomic<Stage>* stage;  ///< the sender waits for its end; null: it does not
  std::size_t bytes;
  Bytes data;
};

/// What the ranks of a communicator bring to one of its collectives.
struct Gathering {
  explicit Gathering(std::pmr::memory_resource* memory, int ranks) : parts(static_cast<std::size_t>(ranks), memory) {}
  std::pmr::vector<Bytes> parts;
  int come = 0, gone = 0;
};

struct Shared {
  Shared(void* memory, std::size_t bytes, const Job& job);
  Lock lock;
  std::pmr::monotonic_buffer_resource raw;
  std::pmr::unsynchronized_pool_resource pool{&raw};
  std::pmr::vector<std::pmr::list<Message>> boxes;  ///< by receiver
  std::pmr::map<std::pair<int, long>, Gathering> gatherings;
  std::pmr::map<std::pair<std::pair<int, long>, int>, int>
      contexts;  ///< of children: by parent, its number of collectives, color
  int next_context = 1;
  std::pmr::map<int, bool> revoked{&pool};  ///< by context

  // Of the job, by rank.
  struct Rank {
    std::atomic<long> comes[max_places];
    std::atomic<bool> struck, error, failed;
    char line[500];
  };
  std::pmr::vector<Rank> ranks;
};
extern Shared* shared;
extern Job job;
extern int own;  ///< this rank in the world

// ---- What each has --------------------------------------------------------------------------------------------------------

/// Objects by handles; the last one that was freed comes back first.
template <class Object>
class Table {
 public:
  Table(int kind, const char* name) : kind_(kind), name_(name) {}
  template <class... Arguments>
  int add(Arguments&&... arguments) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(all_.size()));
      all_.emplace_back();
    }
    const int index = free_.back();
    free_.pop_back();
    all_[index] = std::make_unique<Object>(std::forward<Arguments>(arguments)...);
    return kind_ | index;
  }
  Object* find(int handle) {
    const auto index = static_cast<std::size_t>(handle & 0x3ffffff);
    return (handle & ~0x3ffffff) == kind_ && index < all_.size() ? all_[index].get() : nullptr;
  }
  Object& at(int handle) {
    Object* const found = find(handle);
    if (!found) misuse("no %s: %x", name_, handle);
    return *found;
  }
  void remove(int handle) {
    at(handle);
    all_[handle & 0x3ffffff].reset();
    free_.push_back(handle & 0x3ffffff);
  }
  std::size_t count() const { return all_.size() - free_.size(); }
  template <class Do>
  void for_each(Do apply) {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i]) apply(kind_ | static_cast<int>(i), *all_[i]);
  }

 private:
  const int kind_;
  const char* const name_;
  std::vector<std::unique_ptr<Object>> all_;
  std::vector<int> free_;
};

struct Run {
  std::ptrdiff_t at;
  std::size_t bytes;
};

struct Type {
  std::vector<Run> runs;  ///< of an element, in the order of its typemap; neighbours are one
  MPI_Aint lb = 0, ub = 0;
  std::size_t size = 0;
  bool committed = false;
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<std::shared_ptr<Type>> inner;
  int named = MPI_DATATYPE_NULL;
  std::map<int, void*> attributes;
  int handle = MPI_DATATYPE_NULL;
  MPI_Aint extent() const { return ub - lb; }
  MPI_Aint true_lb() const;
  MPI_Aint true_ub() const;
};

std::shared_ptr<Type> type_at(MPI_Datatype handle);
/// Of so many elements, in the order of the typemap.
void pack(const void* from, long count, const Type& type, std::byte* to);
void unpack(const std::byte* from, std::size_t bytes, void* to, long count, const Type& type);
/// They stay what they are for who has them, also when their handles are freed.
struct Operator {
  explicit Operator(MPI_Op op);
  MPI_Op op;
  MPI_User_function* function;  ///< null: predefined
  /// inout = in op inout; MPI_ERR_OP where that is not defined.
  int combine(const void* in, void* inout, int count, const Type& type) const;
};

struct Topology {
  int kind = MPI_UNDEFINED;
  std::vector<int> sizes, periods;         ///< of a grid
  std::vector<int> sources, destinations;  ///< of a graph
};

struct Comm {
  int context = 0;         ///< of messages; of collectives: the same with the sign changed
  std::vector<int> ranks;  ///< in the world; of an intercommunicator: the others
  int rank = 0;
  std::optional<std::vector<int>> group;  ///< of an intercommunicator: this one
  bool second = false;                    ///< its contributions come behind those of the others
  long collectives = 0;
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  std::map<int, void*> attributes;
  std::string name;
  Topology topology;
};

struct Window {
  std::vector<void*> bases;  ///< by rank
  std::vector<MPI_Aint> bytes;
  int unit = 1;
  int rank = 0;
};

struct Request {
  std::function<bool(Request&)> poll;   ///< whether it is complete
  std::function<void(Request&)> start;  ///< of persistent ones
  bool active = true, complete = false, freed = false;
  MPI_Status status{};
  bool receives = false;
  MPI_Comm comm = MPI_COMM_SELF;  ///< whose handler hears of errors
};

struct Process {
  std::recursive_mutex mutex;  ///< of what follows
  bool initialized = false, finalized = false;
  int level = MPI_THREAD_SINGLE;
  std::thread::id main;  ///< that may call MPI, unless the level is MPI_THREAD_MULTIPLE
  Table<Comm> comms{static_cast<int>(0x84000000), "communicator"};
  std::unique_ptr<Comm> world, self;
  Table<std::vector<int>> groups{static_cast<int>(0x88000000), "group"};
  Table<std::shared_ptr<Type>> types{static_cast<int>(0x8c000000 | 0x40000000), "datatype"};
  struct Op {
    MPI_User_function* function;
    int commute;
  };
  Table<Op> ops{static_cast<int>(0x98000000), "operation"};
  Table<Request> requests{static_cast<int>(0xac000000), "request"};
  Table<std::map<std::string, std::string>> infos{static_cast<int>(0x9c000000), "info"};
  Table<Message> matched{static_cast<int>(0xb4000000), "message"};
  Table<Window> windows{static_cast<int>(0xa0000000), "window"};
  std::list<MPI_Request> posted;  ///< receives, in order
  Table<MPI_Comm_errhandler_function*> handlers{static_cast<int>(0x94000000), "error handler"};
  struct Keyval {
    std::function<int(int object, int keyval, void* value)> deleted;
  };
  Table<Keyval> keyvals{static_cast<int>(0xa4000000), "keyval"};
  std::vector<int (*)(void*)> hooks;
  int error_codes = MPI_ERR_LASTCODE;
  std::string said;  ///< of the last error that has words of its own
};
Process& process();
Comm& comm_at(MPI_Comm handle);
// Attributes of communicators and datatypes.
int create_keyval(MPI_Comm_delete_attr_function* deleted, int* keyval, void* extra);
int set_attribute(std::map<int, void*>& attributes, int object, int keyval, void* value);
int get_attribute(const std::map<int, void*>& attributes, int keyval, void* value, int* flag);
/// Calls the keyval's function.
void delete_attribute(int object, int keyval, void* value);

/// One turn of the engine.
void progress();
/// Until it says so.
void wait_until(const std::function<bool()>& condition);

MPI_Request add_request(MPI_Comm comm, std::function<bool(Request&)> poll);
/// Takes part in a collective of the communicator: `finish` gets what all have brought.
MPI_Request gather(MPI_Comm comm, Bytes mine, std::function<int(const std::pmr::vector<Bytes>&)> finish);
int finish(MPI_Request request);
Bytes bytes_of(const void* data, std::size_t bytes);
Bytes no_bytes();

/// The error reaches the communicator's handler. Returns it.
int raised(MPI_Comm comm, int code);
/// How many errors have reached handlers that return.
extern std::atomic<long> errors_handled;

}  // namespace fake
