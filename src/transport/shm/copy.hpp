// Copying payloads.
//
// Why not memcpy: from 2 KiB on, the C library's uses the processor's `rep movsb`, which on AMD's Zen 3 and 4 is several times slower when the
// destination lies 1 to 63 bytes behind the source within a page: just what a slot (on a page) and a large allocation (on a page + 16) make.
// Measured there: 8 KiB out of a slot took 2.9 us instead of 0.4. On Intel's, where it is the fastest way, it is used.
#pragma once

#include <cstddef>

namespace omnes::shm {

/// Like memcpy: `to` and `from` do not overlap.
void copy_bytes(void* to, const void* from, std::size_t bytes);

}  // namespace omnes::shm
