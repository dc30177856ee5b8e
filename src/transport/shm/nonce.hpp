// A number that nobody else has: whoever reads it elsewhere knows that it has found what it was told of.
//
// Not std::random_device: a C++ library built for a new C library takes arc4random from that, which older ones lack.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace omnes::shm {

/// Where the system gives none (in a sandbox), the time, the process and an address of it tell processes apart.
inline std::uint64_t new_nonce() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) == sizeof nonce) return nonce;
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return (now << 24 ^ static_cast<std::uint64_t>(getpid())) * 0x9e3779b97f4a7c15 ^
         reinterpret_cast<std::uint64_t>(&nonce);
}

}  // namespace omnes::shm
