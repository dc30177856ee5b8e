// Intel's, behind the loader of Level Zero.
//
// Memory is asked about, and copied, in a context of ours: the drivers know all memory of the process in each of theirs. We
// do not start Level Zero: until the program has, there is no memory of a device.
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "interpose/devices/drivers.hpp"

namespace omnes::interpose::devices {

namespace {

// Of ze_api.h.
using Handle = void*;  // of a driver, a context, a device, a command list
struct ContextDescription {
  int structure_type = 0xd;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
struct QueueDescription {
  int structure_type = 0xe;
  const void* next = nullptr;
  std::uint32_t ordinal = 0, index = 0, flags = 0;
  int mode = 1;  // synchronous: copies are done when they return
  int priority = 0;
};
struct MemoryProperties {
  int structure_type = 0x17;
  void* next = nullptr;
  int type = 0;
  std::uint64_t id = 0, page_size = 0;
};
constexpr int of_device = 2, shared = 3;

class LevelZero final : public Driver {
 public:
  LevelZero(void* library, const std::string& name)
      : get_drivers_(library, name, "zeDriverGet"),
        get_devices_(library, name, "zeDeviceGet"),
        create_context_(library, name, "zeContextCreate"),
        get_properties_(library, name, "zeMemGetAllocProperties"),
        create_list_(library, name, "zeCommandListCreateImmediate"),
        append_copy_(library, name, "zeCommandListAppendMemoryCopy") {}

  bool owns(const void* address) override { return home_of(address).context != nullptr; }

  // Command lists belong to one thread at a time.
  void copy(std::span<const Copies::Piece> pieces) override {
    const Home home = home_of(pieces.front().reads ? pieces.front().from : pieces.front().to);
    const std::lock_guard lock(mutex_);
    Handle& list = lists_[home.device];
    const QueueDescription description;
    if (!list) create_list_.must(home.context, home.device, &description, &list);
    for (const Copies::Piece& piece : pieces)
      append_copy_.must(list, piece.to, piece.from, piece.bytes, nullptr, 0, nullptr);
  }

 private:
  struct Home {
    Handle context = nullptr, device = nullptr;
  };

  /// Where the memory belongs; nowhere when the CPU can use it.
  Home home_of(const void* address) {
    if (!started_.load(std::memory_order_acquire) && !start()) return {};
    for (const Home& known : homes_) {
      MemoryProperties properties;
      Handle device = nullptr;  // of shared memory there may be none
      if (get_properties_(known.context, address, &properties, &device) != 0) continue;
      if (properties.type == of_device || properties.type == shared)
        return {known.context, device ? device : known.device};
    }
    return {};
  }

  /// Makes a context for each driver. False: the program has not started Level Zero.
  bool start() {
    const std::lock_guard lock(mutex_);
    if (started_.load(std::memory_order_relaxed)) return true;
    std::uint32_t count = 0;
    if (get_drivers_(&count, nullptr) != 0 || count == 0) return false;
    std::vector<Handle> drivers(count);
    if (get_drivers_(&count, drivers.data()) != 0) return false;
    for (const Handle driver : drivers) {
      const ContextDescription description;
      Home home;
      std::uint32_t one = 1;
      if (create_context_(driver, &description, &home.context) != 0) continue;
      if (get_devices_(driver, &one, &home.device) == 0 && home.device) homes_.push_back(home);
    }
    started_.store(true, std::memory_order_release);
    return true;
  }

  Function<std::uint32_t*, Handle*> get_drivers_;
  Function<Handle, std::uint32_t*, Handle*> get_devices_;
  Function<Handle, const ContextDescription*, Handle*> create_context_;
  Function<Handle, const void*, MemoryProperties*, Handle*> get_properties_;
  Function<Handle, Handle, const QueueDescription*, Handle*> create_list_;
  Function<Handle, void*, const void*, std::size_t, Handle, std::uint32_t, Handle*> append_copy_;
  std::mutex mutex_;
  std::vector<Home> homes_;  // of each driver: our context, its first device
  std::atomic<bool> started_ =
      false;                        // after which homes_ does not change: who has read it (acquire) reads that freely
  std::map<Handle, Handle> lists_;  // of devices
};

}  // namespace

std::unique_ptr<Driver> make_level_zero(void* library, const std::string& name) {
  return std::make_unique<LevelZero>(library, name);
}

}  // namespace omnes::interpose::devices
