// What a test asks of a stand-in (driver.c), of NVIDIA's own driver and its first GPU.
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long address;

static void* library;

static void* function(const char* name) {
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = library ? dlsym(library, name) : NULL;
  if (found) return found;
  fprintf(stderr, "no %s: %s\n", name, dlerror());
  exit(1);
}

static void must(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "%s: code %d\n", what, code);
  exit(1);
}
#define MUST(name, types, ...) must(((int(*) types)function(#name))(__VA_ARGS__), #name)

static void start(void) {
  static void* context;
  if (!context) {
    MUST(cuInit, (unsigned), 0);
    MUST(cuDevicePrimaryCtxRetain, (void**, int), &context, 0);
  }
  MUST(cuCtxSetCurrent, (void*), context);
}

void* stand_in_allocate(size_t bytes, int managed) {
  enum { of_all_streams = 1 };
  address at = 0;
  start();
  if (managed)
    MUST(cuMemAllocManaged, (address*, size_t, unsigned), &at, bytes, of_all_streams);
  else
    MUST(cuMemAlloc_v2, (address*, size_t), &at, bytes);
  return (void*)at;
}

void stand_in_free(void* memory) { MUST(cuMemFree_v2, (address), (address)memory); }

void stand_in_copy(void* to, const void* from, size_t bytes) {
  start();
  MUST(cuMemcpy, (address, address, size_t), (address)to, (address)from, bytes);
}

// Which nobody counts here.
long stand_in_copies(void) { return 1; }
