// A program in which some library overwrites the code of madvise, so that it comes to that library before any other, as UCX does: where
// buffers come into a heap nobody is told of pages that are discarded, so none must.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "mapped.h"

static int straight_to_the_kernel(void* address, size_t bytes, int advice) {
  return syscall(SYS_madvise, address, bytes, advice);
}

// False: not known how, on this processor.
static int overwrite(unsigned char* code) {
#ifdef __x86_64__
  const uintptr_t page = sysconf(_SC_PAGESIZE), begin = (uintptr_t)code / page * page;
  unsigned char jump[] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3};  // mov r11, ...; jmp r11
  void* const to = (void*)straight_to_the_kernel;
  memcpy(jump + 2, &to, sizeof to);
  if (mprotect((void*)begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 0;
  memcpy(code, jump, sizeof jump);
  return mprotect((void*)begin, 2 * page, PROT_READ | PROT_EXEC) == 0;
#else
  (void)code;
  return 0;
#endif
}

int main(int argc, char** argv) {
  enum { bytes = 1 << 20, rounds = 400 };
  int rank;
  if (!overwrite(dlsym(RTLD_DEFAULT, "madvise"))) {
    puts("SKIP");
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(data, 1, bytes);
  for (int round = 0; round < rounds; ++round) MPI_Bcast(data, bytes, MPI_BYTE, round % 2, MPI_COMM_WORLD);
  if (is_mapped(data + bytes / 2)) fail("a buffer is in the heap");
  madvise(data, bytes, MADV_DONTNEED);
  for (int i = 0; i < bytes; ++i)
    if (data[i] != 0) {
      fail("after MADV_DONTNEED [%d] = %d", i, data[i]);
      break;
    }
  return finish();
}
