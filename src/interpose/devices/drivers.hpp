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
  /// Has the device read and write these pages of the host itself, where its driver does so faster than it copies to and from others, until
  /// unpin(). `there`: in the device's memory. Returns whether it does.
  virtual bool pin(void*, std::size_t, const void* /*there*/) { return false; }
  virtual void unpin(void*) {}
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

/// Of streams of our own, in both NVIDIA's and AMD's drivers. The program's may wait for kernels that have nothing to do with a copy; ours
/// waits for the default stream, where the program's own copy to the device may still be under way although its call has returned.
constexpr unsigned after_default_stream = 0;

}  // namespace omnes::interpose::devices
