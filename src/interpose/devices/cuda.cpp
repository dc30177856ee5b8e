// NVIDIA's driver, libcuda.
#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "interpose/devices/drivers.hpp"

namespace omnes::interpose::devices {

namespace {

// Of cuda.h.
using Address = unsigned long long;  // CUdeviceptr
using Handle = void*;                // CUcontext, CUstream
constexpr int attribute_context = 1, attribute_memory_type = 2, attribute_is_managed = 8, attribute_device = 9;
constexpr unsigned type_host = 1;

Address number(const void* address) { return reinterpret_cast<Address>(address); }

class Cuda final : public Driver {
 public:
  Cuda(void* library, const std::string& name)
      : get_attribute_(library, name, "cuPointerGetAttribute"),
        push_(library, name, "cuCtxPushCurrent_v2"),
        pop_(library, name, "cuCtxPopCurrent_v2"),
        retain_(library, name, "cuDevicePrimaryCtxRetain"),
        release_(library, name, "cuDevicePrimaryCtxRelease_v2"),
        get_id_(library, name, "cuCtxGetId"),
        register_(library, name, "cuMemHostRegister_v2"),
        unregister_(library, name, "cuMemHostUnregister"),
        create_stream_(library, name, "cuStreamCreate"),
        destroy_stream_(library, name, "cuStreamDestroy_v2"),
        copy_(library, name, "cuMemcpyAsync"),
        synchronize_(library, name, "cuStreamSynchronize") {}

  bool owns(const void* address) override {
    unsigned type = 0,
             is_managed = 0;  // of what the driver has never heard of, and before its start, it returns an error
    if (get_attribute_(&type, attribute_memory_type, number(address)) != 0 || type == 0) return false;
    if (type != type_host) return true;
    return get_attribute_(&is_managed, attribute_is_managed, number(address)) == 0 && is_managed;
  }

  void copy(std::span<const Copies::Piece> pieces) override {
    const Context context(*this, pieces.front().reads ? pieces.front().from : pieces.front().to);
    KeptStream stream(*this, context);
    for (const Copies::Piece& piece : pieces)
      copy_.must(number(piece.to), number(piece.from), piece.bytes, stream.handle);
    synchronize_.must(stream.handle);
    stream.is_done();
  }

  bool pin(void* pages, std::size_t bytes, const void* there) override {
    constexpr unsigned in_all_contexts = 1;
    if (!register_ || !unregister_) return false;
    const Context context(*this, there);
    return register_(pages, bytes, in_all_contexts) == 0;
  }

  // A context that has ended has taken its pins with it: then the driver knows nothing of these pages.
  void unpin(void* pages) override {
    Handle context = nullptr, before = nullptr;
    if (get_attribute_(&context, attribute_context, number(pages)) != 0 || !context || push_(context) != 0) return;
    unregister_(pages);
    if (pop_) pop_(&before);
  }

 private:
  /// The one that the memory belongs to is this thread's meanwhile. Memory of no context in particular belongs to all of
  /// its device.
  struct Context {
    Context(const Cuda& its_driver, const void* address) : driver(its_driver) {
      if (driver.get_attribute_(&context, attribute_context, number(address)) != 0) context = nullptr;
      if (!context) {
        driver.get_attribute_.must(&device, attribute_device, number(address));
        driver.retain_.must(&context, device);
      }
      if (const int code = driver.push_(context); code != 0) {
        release();
        cannot("no context of its GPU can be used (code " + std::to_string(code) + ")");
      }
    }
    ~Context() {
      Handle before = nullptr;
      if (driver.pop_) driver.pop_(&before);
      release();
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    void release() const {
      if (device >= 0 && driver.release_) driver.release_(device);
    }
    const Cuda& driver;
    Handle context = nullptr;
    int device = -1;  // whose context has been retained
  };

  /// A stream of ours that waits for the next copy, as it takes longer to make one than to copy a little. The program may end a context, and
  /// its streams with it, at any time, and the next one may have its address, but not its number.
  struct Idle {
    Handle context;
    unsigned long long number;
    Handle stream;
  };

  class KeptStream {
   public:
    KeptStream(Cuda& its_driver, const Context& its_context) : driver_(its_driver), context_(its_context.context) {
      if (driver_.get_id_ && driver_.get_id_(context_, &number_) == 0) handle = driver_.take(context_, number_);
      if (handle == nullptr) driver_.create_stream_.must(&handle, after_default_stream);
    }
    ~KeptStream() {
      if (done_ && number_ != 0 && driver_.keep({context_, number_, handle})) return;
      if (driver_.destroy_stream_) driver_.destroy_stream_(handle);
    }
    KeptStream(const KeptStream&) = delete;
    KeptStream& operator=(const KeptStream&) = delete;
    void is_done() { done_ = true; }
    Handle handle = nullptr;

   private:
    Cuda& driver_;
    const Handle context_;
    unsigned long long number_ = 0;
    bool done_ = false;
  };

  Handle take(Handle context, unsigned long long number) {
    const std::lock_guard lock(mutex_);
    std::erase_if(idle_, [&](const Idle& one) { return one.context == context && one.number != number; });
    const auto found = std::ranges::find(idle_, number, &Idle::number);
    if (found == idle_.end()) return nullptr;
    const Handle stream = found->stream;
    idle_.erase(found);
    return stream;
  }

  bool keep(const Idle& stream) noexcept try {
    constexpr std::size_t most = 16;
    const std::lock_guard lock(mutex_);
    if (idle_.size() >= most) return false;
    idle_.push_back(stream);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  Function<void*, int, Address> get_attribute_;
  Function<Handle> push_;
  Function<Handle*> pop_;
  Function<Handle*, int> retain_;
  Function<int> release_;
  Function<Handle, unsigned long long*> get_id_;
  Function<void*, std::size_t, unsigned> register_;
  Function<void*> unregister_;
  Function<Handle*, unsigned> create_stream_;
  Function<Handle> destroy_stream_;
  Function<Address, Address, std::size_t, Handle> copy_;
  Function<Handle> synchronize_;
  std::mutex mutex_;
  std::vector<Idle> idle_;
};

}  // namespace

std::unique_ptr<Driver> make_cuda(void* library, const std::string& name) {
  return std::make_unique<Cuda>(library, name);
}

}  // namespace omnes::interpose::devices
