// What peers can map of a program's memory.
#ifndef MAPPED_H
#define MAPPED_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Whether the page of this address belongs to a heap that peers can map.
static int is_mapped(const void* address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  int found = 0;
  while (fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (unsigned long)address - from < to - from)
      found = strstr(line, "memfd:omnes-heap") != NULL;
  }
  fclose(maps);
  return found;
}

// What this process's heap has of memory.
__attribute__((unused)) static long heap_bytes(void) {
  DIR* const files = opendir("/proc/self/fd");
  long bytes = 0;
  for (struct dirent* file; (file = readdir(files)) != NULL;) {
    char name[300], target[64] = "";
    struct stat status;
    snprintf(name, sizeof name, "/proc/self/fd/%s", file->d_name);
    if (readlink(name, target, sizeof target - 1) > 0 && strstr(target, "memfd:omnes-heap") && stat(name, &status) == 0)
      bytes = status.st_blocks * 512l;
  }
  closedir(files);
  return bytes;
}

#endif
