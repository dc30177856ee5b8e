// NVIDIA's driver, libcuda.
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

  // The stream does not outlive the call, as the program may end the context at any time.
  void copy(std::span<const Copies::Piece> pieces) override {
    const Context context(*this, pieces.front().reads ? pieces.front().from : pieces.front().to);
    const Stream stream(create_stream_, destroy_stream_);
    for (const Copies::Piece& piece : pieces)
      copy_.must(number(piece.to), number(piece.from), piece.bytes, stream.handle);
    synchronize_.must(stream.handle);
  }

 private:
  /// The one that the memory belongs to is this thread's meanwhile. Memory of no context in particular belongs to all of
  /// its device.
  struct Context {
    Context(const Cuda& its_driver, const void* address) : driver(its_driver) {
      Handle context = nullptr;
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
    int device = -1;  // whose context has been retained
  };

  Function<void*, int, Address> get_attribute_;
  Function<Handle> push_;
  Function<Handle*> pop_;
  Function<Handle*, int> retain_;
  Function<int> release_;
  Function<Handle*, unsigned> create_stream_;
  Function<Handle> destroy_stream_;
  Function<Address, Address, std::size_t, Handle> copy_;
  Function<Handle> synchronize_;
};

}  // namespace

std::unique_ptr<Driver> make_cuda(void* library, const std::string& name) {
  return std::make_unique<Cuda>(library, name);
}

}  // namespace omnes::interpose::devices
