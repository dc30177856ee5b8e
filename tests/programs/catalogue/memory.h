// Where a trial's buffers lie: with malloc, or in the memory of a "device" that only its driver can use.
//
// The driver's library is named by TEST_DRIVER. TEST_DEVICE_RANKS: "all", "odd" or "even" ranks have their buffers there,
// TEST_MANAGED=1: as managed memory.
#ifndef CATALOGUE_MEMORY_H
#define CATALOGUE_MEMORY_H

#include <dlfcn.h>

#include "../check.h"

static struct {
  void* library;
  void* (*allocate)(size_t bytes, int managed);
  void (*free)(void* memory);
  void (*copy)(void* to, const void* from, size_t bytes);
  long (*copies)(void);
  int managed;
} device;  // allocate is null where buffers lie with malloc

static void* of_driver(void* library, const char* name) {
  void* const function = dlsym(library, name);
  if (!function) fail("the driver lacks %s", name);
  return function;
}

// After MPI_Init, as many programs load theirs.
static void open_device(int rank) {
  const char* const driver = getenv("TEST_DRIVER");
  const char* const ranks = getenv("TEST_DEVICE_RANKS");
  if (!driver) return;
  void* const library = device.library = dlopen(driver, RTLD_NOW);
  if (!library) {
    fail("%s", dlerror());
    return;
  }
  if (ranks && strcmp(ranks, rank % 2 ? "even" : "odd") == 0) return;
  device.managed = getenv("TEST_MANAGED") != NULL;
  device.free = (void (*)(void*))of_driver(library, "stand_in_free");
  device.copy = (void (*)(void*, const void*, size_t))of_driver(library, "stand_in_copy");
  device.copies = (long (*)(void))of_driver(library, "stand_in_copies");
  device.allocate = (void* (*)(size_t, int))of_driver(library, "stand_in_allocate");
}

// What MPI is given for a buffer of the host: itself, or a copy of it in the device's memory.
static void* place(const void* buffer, size_t bytes) {
  if (!device.allocate) return (void*)buffer;
  void* const there = device.allocate(bytes, device.managed);
  device.copy(there, buffer, bytes);
  return there;
}

static void upload(void* there, const void* buffer, size_t bytes) {
  if (there != buffer) device.copy(there, buffer, bytes);
}

static void download(void* buffer, const void* there, size_t bytes) {
  if (there != buffer) device.copy(buffer, there, bytes);
}

static void release(void* there, const void* buffer) {
  if (there != buffer) device.free(there);
}

#endif
