// Included first in all that Zig compiles: the C library's own functions, which know the processor, by name and version.
//
// Why: where anything of Zig's small runtime library is needed, such as the product of complex numbers, the linker takes all of it. It has
// functions of these names, too, in plain code, and they would win: 64 KiB took twice as long to copy.
#pragma once
#if defined(__x86_64__)
__asm__(".symver memcpy, memcpy@GLIBC_2.14");
#define OMNES_FIRST_GLIBC "GLIBC_2.2.5"
#else
__asm__(".symver memcpy, memcpy@GLIBC_2.17");
#define OMNES_FIRST_GLIBC "GLIBC_2.17"
#endif
__asm__(".symver memmove, memmove@" OMNES_FIRST_GLIBC);
__asm__(".symver memset, memset@" OMNES_FIRST_GLIBC);
__asm__(".symver memcmp, memcmp@" OMNES_FIRST_GLIBC);
__asm__(".symver strlen, strlen@" OMNES_FIRST_GLIBC);
