// Stands in for the driver library of a GPU: libcuda.so.1, libamdhip64.so.6 or .so.5, libze_loader.so.1, by what is defined:
// CUDA, HIP (its version) or ZE. Memory of its "device" is mapped without any access; the driver has a view of its own.
// Copies in a stream are made when it is synchronized, so that who forgets that gets nothing. The program's own copies to the device
// return while they are under way in the default stream, as NVIDIA's do: other streams that do not wait for it read what was there.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { success = 0, invalid_value = 1, not_initialized = 3, invalid_context = 201 };
enum { most = 16 };  // a trial has two

struct allocation {
  char *address, *view;  // the program's pointer; the driver's
  size_t bytes;
  int managed;
};
static struct allocation allocations[most];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, default_stream = PTHREAD_MUTEX_INITIALIZER;
static int started;

static struct allocation find(const void* pointer) {
  struct allocation found = {0};
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < most; ++i) {
    const struct allocation* a = &allocations[i];
    if (a->address && (const char*)pointer >= a->address && (const char*)pointer < a->address + a->bytes) found = *a;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

static void* view_of(const void* pointer) {
  const struct allocation a = find(pointer);
  return a.address ? a.view + ((const char*)pointer - a.address) : (void*)pointer;
}

static void copy(void* to, const void* from, size_t bytes) { memcpy(view_of(to), view_of(from), bytes); }

// For the test program, the same in all three.
void* stand_in_allocate(size_t bytes, int managed) {
  started = 1;
  const int file = memfd_create("device", 0);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return NULL;
  struct allocation a = {.bytes = bytes, .managed = managed};
  a.address = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, file, 0);
  a.view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (a.address == MAP_FAILED || a.view == MAP_FAILED) return NULL;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < most; ++i)
    if (!allocations[i].address) {
      allocations[i] = a;
      pthread_mutex_unlock(&mutex);
      return a.address;
    }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void end_default_stream(void);
void stand_in_free(void* pointer) {
  end_default_stream();
  const struct allocation a = find(pointer);
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < most; ++i)
    if (allocations[i].address == a.address) allocations[i].address = NULL;
  pthread_mutex_unlock(&mutex);
  munmap(a.address, a.bytes);
  munmap(a.view, a.bytes);
}

// In the default stream.
static struct {
  void *to, *data;
  size_t bytes;
} under_way;
static void end_copy(void) {  // with the lock
  if (under_way.data) copy(under_way.to, under_way.data, under_way.bytes);
  free(under_way.data);
  under_way.data = NULL;
}
static void end_default_stream(void) {
  pthread_mutex_lock(&default_stream);
  end_copy();
  pthread_mutex_unlock(&default_stream);
}

void stand_in_copy(void* to, const void* from, size_t bytes) {
  pthread_mutex_lock(&default_stream);
  end_copy();
  if (find(to).address) {
    under_way.to = to;
    under_way.data = malloc(bytes);
    under_way.bytes = bytes;
    to = under_way.data;
  }
  copy(to, from, bytes);
  pthread_mutex_unlock(&default_stream);
}

// How many copies the driver has been asked for, other than by the above.
static long copies;
long stand_in_copies(void) { return copies; }

struct queued {
  void* to;
  const void* from;
  size_t bytes;
};
static struct queued pinned[most];  // of each: to, and bytes

// How many pieces of the host's memory are pinned, and how many copies went to or from one.
static long copies_to_pinned;
long stand_in_pinned(void) {
  long number = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < most; ++i) number += pinned[i].to != NULL;
  pthread_mutex_unlock(&mutex);
  return number;
}
long stand_in_copies_to_pinned(void) { return copies_to_pinned; }

static int is_pinned(const void* pointer, size_t bytes) {
  int found = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < most; ++i) {
    const char* const first = pinned[i].to;
    found |= first && (const char*)pointer < first + pinned[i].bytes && first < (const char*)pointer + bytes;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

struct stream {
  struct queued* queued;
  size_t number;
  int waits;  // for the default stream
};
static struct stream* make_stream(int waits) {
  struct stream* const made = calloc(1, sizeof(struct stream));
  if (made) made->waits = waits;
  return made;
}
static int enqueue(struct stream* stream, void* to, const void* from, size_t bytes) {
  ++copies;
  copies_to_pinned += is_pinned(to, 1) || is_pinned(from, 1);
  stream->queued = realloc(stream->queued, (stream->number + 1) * sizeof *stream->queued);
  stream->queued[stream->number++] = (struct queued){to, from, bytes};
  return success;
}
static int synchronize(struct stream* stream) {
  if (stream->waits) end_default_stream();
  for (size_t i = 0; i < stream->number; ++i)
    copy(stream->queued[i].to, stream->queued[i].from, stream->queued[i].bytes);
  stream->number = 0;
  return success;
}
static int destroy(struct stream* stream) {
  free(stream->queued);
  free(stream);
  return success;
}

#ifdef CUDA
enum { is_registered = 712, is_not_registered = 713 };
static char its_context;
// Of a thread that has never set one: none. In static memory, as LeakSanitizer takes some blocks of another model for what they are not.
static __thread __attribute__((tls_model("initial-exec"))) void* current;

int cuMemHostRegister_v2(void* pages, size_t bytes, unsigned flags) {
  if (!current) return invalid_context;
  if (flags != 1 || (uintptr_t)pages % 4096 != 0 || bytes % 4096 != 0) return invalid_value;
  if (is_pinned(pages, bytes)) return is_registered;
  pthread_mutex_lock(&mutex);
  int i = 0;
  while (i < most && pinned[i].to) ++i;
  if (i < most) pinned[i] = (struct queued){pages, NULL, bytes};
  pthread_mutex_unlock(&mutex);
  return i < most ? success : invalid_value;
}
int cuMemHostUnregister(void* pages) {
  if (!current) return invalid_context;
  int code = is_not_registered;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < most; ++i)
    if (pinned[i].to == pages) pinned[i].to = NULL, code = success;
  pthread_mutex_unlock(&mutex);
  return code;
}
int cuCtxGetId(void* context, unsigned long long* id) {
  *id = 17;
  return context == &its_context ? success : invalid_context;
}

int cuPointerGetAttribute(void* data, int attribute, unsigned long long pointer) {
  const struct allocation a = find((void*)pointer);
  if (!started) return not_initialized;
  if (!a.address && is_pinned((void*)pointer, 1)) {
    if (attribute == 1) *(void**)data = &its_context;
    if (attribute == 2) *(unsigned*)data = 1;
    if (attribute == 8) *(unsigned*)data = 0;
    return success;
  }
  if (!a.address) return invalid_value;
  if (attribute == 1) *(void**)data = a.managed ? NULL : &its_context;
  if (attribute == 2) *(unsigned*)data = a.managed ? 1 : 2;
  if (attribute == 8) *(unsigned*)data = (unsigned)a.managed;
  if (attribute == 9) *(int*)data = 0;
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &its_context;
  return device == 0 ? success : invalid_value;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return device == 0 ? success : invalid_value; }
int cuCtxPushCurrent_v2(void* context) {
  current = context;
  return context == &its_context ? success : invalid_context;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = current;
  current = NULL;
  return success;
}
int cuStreamCreate(struct stream** stream, unsigned flags) {
  *stream = make_stream(flags == 0);
  return current && flags <= 1 ? success : invalid_context;
}
int cuStreamDestroy_v2(struct stream* stream) { return destroy(stream); }
#ifndef LACKS_COPIES
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes, struct stream* stream) {
  return current ? enqueue(stream, (void*)to, (const void*)from, bytes) : invalid_context;
}
#endif
int cuStreamSynchronize(struct stream* stream) { return current ? synchronize(stream) : invalid_context; }
#endif

#ifdef HIP
static __thread int last_error;

int hipRuntimeGetVersion(int* version) {
  *version = HIP * 10000000;
  return success;
}
int hipPeekAtLastError(void) { return last_error; }
int hipGetLastError(void) {
  const int error = last_error;
  last_error = success;
  return error;
}
int hipPointerGetAttributes(void* attributes, const void* pointer) {
  const struct allocation a = find(pointer);
  int* const type = attributes;
  int* const managed = (int*)((char*)attributes + 24);
  *managed = a.managed;
  if (!a.address && HIP < 6) return last_error = invalid_value;
  *type = HIP < 6 ? 1 : a.address ? a.managed ? 3 : 2 : 0;
  return success;
}
int hipStreamCreateWithFlags(struct stream** stream, unsigned flags) {
  *stream = make_stream(flags == 0);
  return flags <= 1 ? success : invalid_value;
}
int hipStreamDestroy(struct stream* stream) { return destroy(stream); }
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, struct stream* stream) {
  return kind == 4 ? enqueue(stream, to, from, bytes) : invalid_value;
}
int hipStreamSynchronize(struct stream* stream) { return synchronize(stream); }
#endif

#ifdef ZE
enum { uninitialized = 0x78000001 };
static char its_driver, its_device, its_context;

int zeDriverGet(uint32_t* number, void** drivers) {
  if (!started) return uninitialized;
  *number = 1;
  if (drivers) *drivers = &its_driver;
  return success;
}
int zeDeviceGet(void* driver, uint32_t* number, void** devices) {
  *number = 1;
  if (devices) *devices = &its_device;
  return driver == &its_driver ? success : invalid_value;
}
int zeContextCreate(void* driver, const void* description, void** context) {
  *context = &its_context;
  return driver == &its_driver && *(const int*)description == 0xd ? success : invalid_value;
}
int zeMemGetAllocProperties(void* context, const void* pointer, void* properties, void** device) {
  const struct allocation a = find(pointer);
  if (context != &its_context || *(const int*)properties != 0x17) return invalid_value;
  *(int*)((char*)properties + 16) = a.address ? a.managed ? 3 : 2 : 0;
  *device = a.address && !a.managed ? &its_device : NULL;
  return success;
}
int zeCommandListCreateImmediate(void* context, void* device, const void* description, struct stream** list) {
  const int* words = description;  // type, pad, next (two words), ordinal, index, flags, mode
  if (context != &its_context || device != &its_device || words[0] != 0xe || words[7] != 1) return invalid_value;
  *list = make_stream(1);
  return success;
}
int zeCommandListAppendMemoryCopy(struct stream* list, void* to, const void* from, size_t bytes, void* signal,
                                  uint32_t waits, void** events) {
  if (signal || waits || events) return invalid_value;
  enqueue(list, to, from, bytes);
  return synchronize(list);
}
#endif
