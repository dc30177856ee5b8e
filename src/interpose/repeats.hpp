// Blocking calls that a program makes again and again: what their arguments came to the first time.
//
// Overview. To turn arguments into a plan takes questions about datatypes, checks, and a look among the team's plans. The
// same arguments come to the same plan, whatever the buffers. So each communicator keeps, for some recent calls, the
// arguments beside the plan and where in the buffers the data start; a call that is found there runs at once.
//
// What is compared: all arguments as they are, but of a buffer's address only whether it is null, MPI_IN_PLACE or also
// the other buffer's. Of an array (counts, displacements, datatypes) its elements, where this rank's call has to read
// them: elsewhere it may be anything.
// What is kept: only calls whose data lie in their buffers in a row, and which run in one stage. Also which ones are left
// to the host.
//
// Why it is correct: all that was checked and decided depends on what is compared, and on these:
// * datatypes and operations: before a freed one's handle can come back, the caches of datatypes are emptied, and with
//   them this one;
// * whose memory buffers lie in: where there is a device, calls are kept under another mark, and are repeated only by who
//   has asked about their buffers (devices.hpp);
// * the communicator: what is kept goes with it, and when its info asks for other algorithms (forget());
// * one thread at a time is in a blocking collective of a communicator, as MPI demands.
//
// Cost: of a broadcast's arguments, two additions, a multiplication and five comparisons.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "interpose/operators.hpp"
#include "runtime/team.hpp"

namespace omnes::interpose {

struct Job;

/// The arguments of a call but its communicator. A lone buffer counts as received. Arrays between the two buffers say
/// what is sent, arrays after them what is received.
template <class... Arguments>
class Given {
  template <class T>
  static constexpr bool is_array = std::is_pointer_v<T> && !std::is_void_v<std::remove_pointer_t<T>>;
  template <class T>
  static constexpr std::uint64_t element_bytes() {
    if constexpr (is_array<T>) return sizeof(std::remove_pointer_t<T>);
    return 0;
  }

 public:
  static constexpr int words = 1 + (0 + ... + std::is_integral_v<Arguments>);
  static constexpr int arrays = (0 + ... + is_array<Arguments>);

  explicit Given(Operation operation, Arguments... arguments) {
    (take(arguments), ...);
    word[0] = static_cast<std::uint64_t>(operation) | (std::uint64_t{0} + ... + element_bytes<Arguments>()) << 8;
    if ((sends && is_special(send)) || (receives && is_special(recv)) || (sends && receives && send == recv))
        [[unlikely]]
      word[0] |= std::uint64_t{send == nullptr} << 16 | std::uint64_t{send == MPI_IN_PLACE} << 17 |
                 std::uint64_t{recv == nullptr} << 18 | std::uint64_t{recv == MPI_IN_PLACE} << 19 |
                 std::uint64_t{send == recv} << 20;
  }

  struct Array {
    const void* elements;
    std::size_t element_bytes;  ///< a multiple of 4
    bool of_received;
  };
  std::array<std::uint64_t, words> word;
  std::array<Array, arrays> array;
  const void* send = nullptr;
  void* recv = nullptr;

 private:
  static constexpr bool sends = (false || ... || std::is_same_v<Arguments, const void*>);
  static constexpr bool receives = (false || ... || std::is_same_v<Arguments, void*>);
  /// Null or MPI_IN_PLACE, which is near it in all families: one comparison. No data lie there.
  static bool is_special(const void* buffer) {
    constexpr std::uintptr_t near = 256;
    return reinterpret_cast<std::uintptr_t>(buffer) + near < 2 * near;
  }
  void take(const void* buffer) { send = buffer; }
  void take(void* buffer) {
    recv = buffer;
    received_ = true;
  }
  template <class Element>
    requires(!std::is_void_v<Element>)
  void take(const Element* elements) {
    array[next_array_++] = {elements, sizeof(Element), received_};
  }
  template <class Number>
    requires std::is_integral_v<Number>
  void take(Number number) {
    word[next_word_++] = static_cast<std::uint64_t>(number);
  }
  int next_word_ = 1, next_array_ = 0;
  bool received_ = false;
};

class Repeats {
 public:
  static constexpr int most_words = 6;              // of MPI_Gather and MPI_Scatter
  static constexpr std::uint64_t nothing_kept = 0;  // no generation: they start with 1

  struct Repeat {
    /// Where in a buffer the data start; nowhere, when the call makes no use of the buffer.
    class Start {
     public:
      Start() = default;
      Start(const void* data, const void* buffer)
          : offset_(number(data) - number(buffer)), mask_(data == nullptr ? 0 : ~std::uintptr_t{0}) {}
      std::byte* in(const void* buffer) const {
        return reinterpret_cast<std::byte*>((number(buffer) + offset_) & mask_);
      }

     private:
      static std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
      std::uintptr_t offset_ = 0, mask_ = 0;
    };

    std::array<std::uint64_t, most_words> word{};
    std::uint64_t mark = nothing_kept;
    std::shared_ptr<Prepared> prepared;  ///< or why it is left to the host
    Start send, recv;
    Operator op;  ///< what its reduction refers to, if to anything
    bool reads_sent = false, reads_received = false;
    std::vector<std::byte> elements;  ///< of the arrays that are read, one after the other

    Bases bases(const void* of_send, void* of_recv) const { return {{send.in(of_send), recv.in(of_recv), nullptr}}; }
  };

  /// Whether the host serves all calls of the operation, whatever their arguments.
  bool left_to_host(Operation operation) const { return left_ >> static_cast<int>(operation) & 1; }

  /// What a call is kept under: the generation of the caches of datatypes before it was described. `asked`: about its
  /// buffers, which lie in the host's memory.
  static std::uint64_t mark(std::uint64_t types, bool asked) { return asked ? ~types : types; }

  /// The call of a communicator of p ranks that has been made before with such arguments, or null.
  template <class... Arguments>
  const Repeat* find(const Given<Arguments...>& given, int p, std::uint64_t mark = TypeCache::generation()) const {
    const Repeat& repeat = repeats_[place(given)];
    if (repeat.mark != mark) return nullptr;
    for (int i = 0; i < given.words; ++i)
      if (repeat.word[i] != given.word[i]) return nullptr;
    constexpr int arrays = Given<Arguments...>::arrays;
    if constexpr (arrays > 0)
      if (!same_elements(repeat, given.array.data(), arrays, p)) return nullptr;
    return &repeat;
  }

  /// Keeps what these arguments came to, if it is of the kind that is kept.
  template <class... Arguments>
  void keep(const Given<Arguments...>& given, int p, const std::shared_ptr<Prepared>& prepared, const Job& job,
            std::uint64_t mark) {
    static_assert(Given<Arguments...>::words <= most_words);
    Repeat& repeat = repeats_[place(given)];
    repeat.mark = nothing_kept;
    if (!describe(repeat, prepared, job, given.send, given.recv, given.arrays > 0)) return;
    copy_elements(repeat, given.array.data(), given.arrays, p);
    std::copy(given.word.begin(), given.word.end(), repeat.word.begin());
    repeat.mark = mark;
  }

  void forget() {
    repeats_ = {};
    left_ = 0;
  }

 private:
  static constexpr int place_bits = 4;  // 2^4 calls that take turns are what a loop of a program has

  template <class... Arguments>
  static std::size_t place(const Given<Arguments...>& given) {
    // The last one is a root, where there is one, the second mostly a count.
    const std::uint64_t sum = given.word.front() + given.word[std::min(1, given.words - 1)] + given.word.back();
    return sum * 0x9E3779B97F4A7C15u >> (64 - place_bits);  // Fibonacci hashing: 2^64 / golden ratio
  }

  bool describe(Repeat& repeat, const std::shared_ptr<Prepared>& prepared, const Job& job, const void* send,
                const void* recv, bool has_arrays);

  template <class Array>
  static bool is_read(const Repeat& repeat, const Array& array) {
    return array.of_received ? repeat.reads_received : repeat.reads_sent;
  }
  template <class Array>
  static bool same_elements(const Repeat& repeat, const Array* arrays, int n, int p) {
    const std::byte* kept = repeat.elements.data();
    for (const Array& array : std::span(arrays, n)) {
      if (!is_read(repeat, array)) continue;
      const std::size_t bytes = p * array.element_bytes;
      if (array.elements == nullptr || !equal(kept, static_cast<const std::byte*>(array.elements), bytes)) return false;
      kept += bytes;
    }
    return true;
  }
  /// memcmp without a call where that would take longer.
  static bool equal(const std::byte* a, const std::byte* b, std::size_t bytes) {
    constexpr std::size_t few = 64;
    if (bytes > few) return std::memcmp(a, b, bytes) == 0;
    std::uint64_t x, y;
    for (; bytes >= sizeof x; bytes -= sizeof x, a += sizeof x, b += sizeof x) {
      std::memcpy(&x, a, sizeof x);
      std::memcpy(&y, b, sizeof y);
      if (x != y) return false;
    }
    if (bytes == 0) return true;
    std::uint32_t last_of_a, last_of_b;
    std::memcpy(&last_of_a, a, sizeof last_of_a);
    std::memcpy(&last_of_b, b, sizeof last_of_b);
    return last_of_a == last_of_b;
  }
  template <class Array>
  static void copy_elements(Repeat& repeat, const Array* arrays, int n, int p) {
    repeat.elements.clear();
    for (const Array& array : std::span(arrays, n)) {
      if (!is_read(repeat, array)) continue;
      const auto* first = static_cast<const std::byte*>(array.elements);
      repeat.elements.insert(repeat.elements.end(), first, first + p * array.element_bytes);
    }
  }

  std::uint32_t left_ = 0;  // a bit for each operation
  static_assert(operation_count <= 32);
  std::array<Repeat, 1 << place_bits> repeats_;
};

}  // namespace omnes::interpose
