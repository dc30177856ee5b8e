// A count for each handle that is in use.
#include "interpose/types/holds.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace omnes::interpose::holds {

namespace {

struct Use {
  int count = 0;
  bool freed = false;  // by the program
};

template <class Handle>
class Table {
 public:
  void take(Handle handle) {
    const std::lock_guard lock(mutex_);
    ++uses_[handle].count;
    ++size_;
  }
  /// Whether the host has to free it now.
  bool give_back(Handle handle) {
    const std::lock_guard lock(mutex_);
    --size_;
    const auto use = uses_.find(handle);
    if (--use->second.count > 0) return false;
    const bool freed = use->second.freed;
    uses_.erase(use);
    return freed;
  }
  bool put_off(Handle handle) {
    if (size_.load(std::memory_order_relaxed) == 0) return false;
    const std::lock_guard lock(mutex_);
    const auto use = uses_.find(handle);
    if (use == uses_.end() || use->second.freed) return false;
    use->second.freed = true;
    return true;
  }

 private:
  std::mutex mutex_;
  std::atomic<long> size_ = 0;
  std::unordered_map<Handle, Use> uses_;
};

// Never destroyed: MPI may be finalised by a destructor.
auto& types = *new Table<MPI_Datatype>;
auto& operations = *new Table<MPI_Op>;

}  // namespace

void take_type(MPI_Datatype type) { types.take(type); }
void take_op(MPI_Op op) { operations.take(op); }
void give_back_type(MPI_Datatype type) {
  if (types.give_back(type)) host.Type_free(&type);
}
void give_back_op(MPI_Op op) {
  if (operations.give_back(op)) host.Op_free(&op);
}
bool put_off_type(MPI_Datatype type) { return types.put_off(type); }
bool put_off_op(MPI_Op op) { return operations.put_off(op); }

}  // namespace omnes::interpose::holds
