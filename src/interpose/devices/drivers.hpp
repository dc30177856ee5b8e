// The drivers of GPUs: what omnes asks of them.
//
// They are called as their own interfaces say, by functions looked up in the libraries that the program has loaded: no
// header or library of theirs is needed to build or to run.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "interpose/devices/devices.hpp"

namespace omnes::interpose::devices {

class Driver {
 public:
  virtual ~Driver() = default;
  /// Whether the address lies in memory of a device, or in such that moves between devices and the host. Throws Failure.
  virtual bool owns(const void* address) = 0;
  /// All are done when it returns. Throws Failure.
  virtual void copy(std::span<const Copies::Piece> pieces) = 0;
};

/// Makes what asks this library, which is to stay loaded; `name`: its file's.
using Make = std::unique_ptr<Driver>(void* library, const std::string& name);
Make make_cuda, make_hip, make_level_zero;

/// Throws the Failure that says so, and what to set.
[[noreturn]] void cannot(const std::string& why);

/// A function of a driver, looked up by name.
template <class... Arguments>
class Function {
 public:
  Function(void* library, const std::string& library_name, const char* name)
      : function_(reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))),
        lacks_(library_name + " lacks " + name),
        failed_(std::string(name) + " of " + library_name + " failed with code ") {}
  explicit operator bool() const { return function_ != nullptr; }
  /// The driver's code; 0 is success in all of them. Throws Failure where the driver has no such function.
  int operator()(Arguments... arguments) const {
    if (!function_) cannot(lacks_);
    return function_(arguments...);
  }
  /// The same, but throws Failure for any other code.
  void must(Arguments... arguments) const {
    if (const int code = (*this)(arguments...); code != 0) cannot(failed_ + std::to_string(code));
  }

 private:
  int (*function_)(Arguments...);
  std::string lacks_, failed_;
};

/// A stream of our own: those of the program may wait for kernels that have nothing to do with a copy.
class Stream {
 public:
  /// By what NVIDIA's and AMD's drivers have alike. Throws Failure.
  Stream(const Function<void**, unsigned>& create, const Function<void*>& destroy) : destroy_(destroy) {
    constexpr unsigned non_blocking = 1;
    create.must(&handle, non_blocking);
  }
  ~Stream() {
    if (destroy_) destroy_(handle);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void* handle = nullptr;

 private:
  const Function<void*>& destroy_;
};

}  // namespace omnes::interpose::devices
