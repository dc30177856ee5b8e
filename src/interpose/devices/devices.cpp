// Finds drivers, notices that libraries are loaded, and collects copies.
#include "interpose/devices/devices.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

#include "interpose/devices/drivers.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/host/loaded_objects.hpp"
#include "interpose/process/notes.hpp"
#include "interpose/types/types.hpp"

namespace omnes::interpose::devices {

namespace {

constexpr struct {
  const char* file;  // how the library's file name starts
  Make* make;
} kinds[] = {{"libcuda.so", make_cuda}, {"libamdhip64.so", make_hip}, {"libze_loader.so", make_level_zero}};
constexpr int most = std::size(kinds);

// Written by looks, one at a time; found_count after the drivers that it counts, so that who has read it (acquire) sees
// them. Never destroyed: MPI may be finalised by a destructor.
Driver* found[most];
std::atomic<int> found_count{0};

// How often something has been loaded (the program's start counts as once), and how often that was when the last look
// began. Raised before the caches are emptied (release), so that a call which is described anew for that sees it; set at
// the end of a look (release), so that nobody goes on without what it has found.
std::atomic<unsigned> loads{1};
std::atomic<unsigned> looked_at{0};

std::string file_of(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

void look() {
  static std::mutex mutex;
  static bool known[most] = {};
  const std::lock_guard lock(mutex);
  const unsigned now = loads.load(std::memory_order_acquire);
  if (looked_at.load(std::memory_order_relaxed) == now) return;
  std::string path[most];
  for (const std::string& object : loaded_objects())
    for (int i = 0; i < most; ++i)
      if (file_of(object.c_str()).starts_with(kinds[i].file)) path[i] = object;
  for (int i = 0; i < most; ++i) {
    if (known[i] || path[i].empty()) continue;
    void* const library = dlopen(path[i].c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (!library) continue;
    known[i] = true;
    const int count = found_count.load(std::memory_order_relaxed);
    found[count] = kinds[i].make(library, file_of(path[i].c_str())).release();
    found_count.store(count + 1, std::memory_order_release);
  }
  looked_at.store(now, std::memory_order_release);
}

}  // namespace

Driver* driver_of(const void* address) {
  if constexpr (simulated) return nullptr;
  if (looked_at.load(std::memory_order_acquire) != loads.load(std::memory_order_acquire)) [[unlikely]]
    look();
  const int count = found_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i)
    if (found[i]->owns(address)) {
      static const bool noted = (note("buffers in a GPU's memory are copied to the host and back"), true);
      static_cast<void>(noted);
      return found[i];
    }
  return nullptr;
}

bool any() { return found_count.load(std::memory_order_acquire) > 0; }

bool pin(Driver& driver, void* pages, std::size_t bytes, const void* there) noexcept try {
  return driver.pin(pages, bytes, there);
} catch (const Failure&) {
  return false;  // a copy will say what is wrong, if it is
}

void unpin(Driver& driver, void* pages) noexcept { driver.unpin(pages); }

void Copies::add(Driver* driver, const Piece& piece) {
  if (piece.bytes == 0) return;
  if (!driver) {
    std::memcpy(piece.to, piece.from, piece.bytes);
    return;
  }
  if (driver != driver_) finish();
  driver_ = driver;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.reads == piece.reads && last.to + last.bytes == piece.to && last.from + last.bytes == piece.from) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces_.push_back(piece);
}

void Copies::finish() {
  if (!pieces_.empty()) driver_->copy(pieces_);
  pieces_.clear();
}

void cannot(const std::string& why) {
  throw Failure{
      code_saying("buffers in a GPU's memory cannot be served: " + why + "; OMNES_OFF=1 leaves them to the MPI")};
}

#if !defined(OMNES_ABI_SMPI) && !defined(OMNES_COMPONENT)
using Open = void* (*)(const char*, int);

/// Before a library is loaded. Returns the real dlopen.
extern "C" __attribute__((used, visibility("hidden"))) Open omnes_before_dlopen(const char* file, int mode) {
  static const Open real = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
  if (file && !(mode & RTLD_NOLOAD)) {
    loads.fetch_add(1, std::memory_order_release);
    TypeCache::forget_all();
  }
  return real;
}

// Goes on to the real one by a jump: where that searches depends on who has called it, which it tells by the address that
// it returns to.
#if defined(__x86_64__)
asm(".text\n"
    ".globl dlopen\n"
    ".type dlopen, @function\n"
    "dlopen:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  pushq %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  subq $8, %rsp\n"  // calls want the stack aligned to 16 bytes
    "  .cfi_adjust_cfa_offset 8\n"
    "  call omnes_before_dlopen\n"
    "  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  jmp *%rax\n"
    "  .cfi_endproc\n"
    ".size dlopen, . - dlopen\n");
#elif defined(__aarch64__)
asm(".text\n"
    ".globl dlopen\n"
    ".type dlopen, %function\n"
    "dlopen:\n"
    "  .cfi_startproc\n"
    "  stp x29, x30, [sp, -32]!\n"
    "  .cfi_adjust_cfa_offset 32\n"
    "  stp x0, x1, [sp, 16]\n"
    "  bl omnes_before_dlopen\n"
    "  mov x16, x0\n"
    "  ldp x0, x1, [sp, 16]\n"
    "  ldp x29, x30, [sp], 32\n"
    "  .cfi_adjust_cfa_offset -32\n"
    "  br x16\n"
    "  .cfi_endproc\n"
    ".size dlopen, . - dlopen\n");
#else
extern "C" __attribute__((visibility("default"))) void* omnes_dlopen(const char* file, int mode) asm("dlopen");
extern "C" void* omnes_dlopen(const char* file, int mode) { return omnes_before_dlopen(file, mode)(file, mode); }
#endif
#endif

}  // namespace omnes::interpose::devices
