// What peers can map of a program's memory.
#ifndef MAPPED_H
#define MAPPED_H

#include <stdio.h>
#include <string.h>

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

#endif
