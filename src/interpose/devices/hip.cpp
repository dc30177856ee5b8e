// AMD's, libamdhip64.
#include "interpose/devices/drivers.hpp"

namespace omnes::interpose::devices {

namespace {

// Of hip_runtime_api.h.
struct Attributes {  // hipPointerAttribute_t
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
  std::uint64_t room[8];  // for what later versions may add
};
using Handle = void*;                 // hipStream_t
constexpr int copy_by_addresses = 4;  // hipMemcpyDefault
constexpr int version_6 = 60000000;   // as hipRuntimeGetVersion counts
// hipMemoryType of version 6. Before, what was not registered was an error, and host memory 0, of a device 1.
constexpr int unregistered = 0, of_host = 1, of_host_before_6 = 0;

class Hip final : public Driver {
 public:
  Hip(void* library, const std::string& name)
      : get_version_(library, name, "hipRuntimeGetVersion"),
        get_attributes_(library, name, "hipPointerGetAttributes"),
        peek_error_(library, name, "hipPeekAtLastError"),
        take_error_(library, name, "hipGetLastError"),
        create_stream_(library, name, "hipStreamCreateWithFlags"),
        destroy_stream_(library, name, "hipStreamDestroy"),
        copy_(library, name, "hipMemcpyAsync"),
        synchronize_(library, name, "hipStreamSynchronize") {
    int version = 0;
    before_6_ = get_version_ && get_version_(&version) == 0 && version < version_6;
  }

  // The runtime keeps errors for the program to ask for: it must not find that of our question.
  bool owns(const void* address) override {
    Attributes attributes{};
    const bool clean = !peek_error_ || peek_error_() == 0;
    if (get_attributes_(&attributes, address) != 0) {
      if (clean && take_error_) take_error_();
      return false;
    }
    if (attributes.is_managed) return true;
    if (before_6_) return attributes.type != of_host_before_6;
    return attributes.type != unregistered && attributes.type != of_host;
  }

  void copy(std::span<const Copies::Piece> pieces) override {
    const Stream stream(*this);
    for (const Copies::Piece& piece : pieces)
      copy_.must(piece.to, piece.from, piece.bytes, copy_by_addresses, stream.handle);
    synchronize_.must(stream.handle);
  }

 private:
  struct Stream {
    explicit Stream(const Hip& its_driver) : driver(its_driver) {
      driver.create_stream_.must(&handle, after_default_stream);
    }
    ~Stream() {
      if (driver.destroy_stream_) driver.destroy_stream_(handle);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    const Hip& driver;
    Handle handle = nullptr;
  };

  Function<int*> get_version_;
  Function<Attributes*, const void*> get_attributes_;
  Function<> peek_error_, take_error_;
  Function<Handle*, unsigned> create_stream_;
  Function<Handle> destroy_stream_;
  Function<void*, const void*, std::size_t, int, Handle> copy_;
  Function<Handle> synchronize_;
  bool before_6_ = false;
};

}  // namespace

std::unique_ptr<Driver> make_hip(void* library, const std::string& name) {
  return std::make_unique<Hip>(library, name);
}

}  // namespace omnes::interpose::devices
