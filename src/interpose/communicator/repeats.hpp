// Blocking calls that a program makes again and again: what their arguments came to the first time.
//
// Overview. To turn arguments into a plan takes questions about datatypes, checks, and a look among the team's plans. The
// same arguments come to the same plan, whatever the buffers. So each communicator keeps, for some recent calls, the
// arguments beside the plan and where in the buffers the data start; one that is the same runs at once (is_same()).
// Programs also make the same calls with other counts: these follow from the kept ones by the bytes of an element, and
// the team has the plan (resize()), or, where that is known to be the same one, they go into it (resize_at_once()).
// Nothing is asked then, either.
//
// What is compared: all arguments as they are, but of a buffer's address only whether it is null, MPI_IN_PLACE or also
// the other buffer's. Of an array (counts, displacements, datatypes) its elements, where this rank's call has to read
// them: elsewhere it may be anything. With other counts, all but these and displacements.
// What is kept: only calls whose data lie in their buffers in a row, which run in one stage, and which need none of the
// program's objects while they run (see Job::hold). Also which ones are left to the host. Of a reduce_scatter between two
// groups, which runs as an allreduce, this rank's part of the result is copied to its buffer, so it takes a longer way.
// Of data that have to be packed, the arguments are kept of a call that comes a second time with the same datatype: many
// datatypes are made for one call, and freed. The next one's job is kept, too, and runs anew for those that are the same: a
// longer way, too.
//
// Why it is correct: all that was checked and decided depends on what is compared, and on these:
// * datatypes and operations: before a freed one's handle can come back, its generation changes (handle_cache.hpp), which
//   is kept, too. Predefined ones stay. Nothing is kept of a call while which any was freed, by another thread;
// * whose memory buffers lie in: where there is a device, calls are kept in another way, and are repeated only by who has
//   asked about their buffers (devices.hpp);
// * the communicator: what is kept goes with it, and when its info asks for other algorithms (forget());
// * one thread at a time is in a blocking collective of a communicator, as MPI demands.
//
// Cost: of a broadcast's arguments, two additions, a multiplication and five comparisons; beside its place, four more.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "interpose/types/operators.hpp"
#include "runtime/team.hpp"

namespace omnes::interpose {

struct Job;
struct KeptJob;

/// An array among the arguments of a call.
struct GivenArray {
  const void* elements;
  std::size_t element_bytes;  ///< a multiple of 4
  bool of_received;
};

/// In the first word of a call's arguments: what it sends and what it receives lies, or seems to lie, in one buffer.
inline constexpr std::uint64_t same_buffer = std::uint64_t{1} << 20;

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
  /// Whether a word is the count of a buffer that has one part, or equal ones: it comes right behind the buffer.
  static constexpr bool is_count(int place) {
    int next = 1;
    bool behind_buffer = false, found = false;
    [[maybe_unused]] const auto see = [&](bool buffer, bool integral) {
      if (integral && next++ == place) found = behind_buffer;
      behind_buffer = buffer;
    };
    (see(std::is_same_v<Arguments, const void*> || std::is_same_v<Arguments, void*>, std::is_integral_v<Arguments>),
     ...);
    return found;
  }

  /// Whether a rank's own data lie in one buffer, and parts in the other, as in MPI_Gather and MPI_Scatter.
  static constexpr bool has_own_part() {
    int counts = 0;
    for (int i = 1; i < words; ++i) counts += is_count(i);
    return sends && receives && (counts == 2 || (counts == 1 && arrays == 2));
  }

  explicit Given(Operation operation, Arguments... arguments) {
    (take(arguments), ...);
    word[0] = static_cast<std::uint64_t>(operation) | (std::uint64_t{0} + ... + element_bytes<Arguments>()) << 8;
    if ((sends && is_special(send)) || (receives && is_special(recv)) || (sends && receives && send == recv))
        [[unlikely]]
      word[0] |= std::uint64_t{send == nullptr} << 16 | std::uint64_t{send == MPI_IN_PLACE} << 17 |
                 std::uint64_t{recv == nullptr} << 18 | std::uint64_t{recv == MPI_IN_PLACE} << 19 |
                 (send == recv ? same_buffer : 0);
  }

  std::array<std::uint64_t, words> word;
  std::array<GivenArray, arrays> array;
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

/// The same of any call: for what is compiled once.
class AnyGiven {
 public:
  template <class... Arguments>
  explicit AnyGiven(const Given<Arguments...>& given) : AnyGiven(given, given.word, given.array) {}
  /// With these words and arrays of it.
  template <class... Arguments>
  AnyGiven(const Given<Arguments...>& given, std::span<const std::uint64_t> its_word,
           std::span<const GivenArray> its_array)
      : words(given.words),
        arrays(given.arrays),
        word(its_word),
        array(its_array),
        send(given.send),
        recv(given.recv),
        has_own_part_(given.has_own_part()) {
    for (int i = 0; i < words; ++i) counts_ |= std::uint32_t{given.is_count(i)} << i;
  }
  bool is_count(int place) const { return counts_ >> place & 1; }
  bool has_own_part() const { return has_own_part_; }
  /// The one that the program has called.
  Operation operation() const { return static_cast<Operation>(word.front() & 0xFF); }
  /// The counts of what is sent and of what is received, and behind them the displacements, if there are any.
  const GivenArray* counts_sent() const { return array.data(); }
  const GivenArray* counts_received() const { return array.data() + (arrays > 2 ? arrays - 2 : 0); }

  const int words, arrays;
  const std::span<const std::uint64_t> word;
  const std::span<const GivenArray> array;
  const void* const send;
  void* const recv;

 private:
  std::uint32_t counts_ = 0;
  bool has_own_part_;
};

class Repeats {
 public:
  static constexpr int max_words = 6;  // of MPI_Gather and MPI_Scatter

  /// How a generation is kept of calls whose buffers were asked about, and of others.
  static std::uint64_t mark(std::uint64_t generation, bool asked) { return asked ? ~generation : generation; }
  static constexpr std::uint64_t nothing_kept = std::uint64_t{1} << 63;  // no generation is, either way
  static constexpr std::uint64_t of_host = ~std::uint64_t{0};            // no sizing
  static constexpr std::uint64_t of_none = ~std::uint64_t{1};            // likewise
  static constexpr std::uint64_t out_of_range = std::uint64_t{1} << 63;  // for a count

  /// Aligned, so that an index is a shift; the first two cache lines have all that a call needs that repeats.
  struct alignas(512) Repeat {
    bool is_valid(bool asked = false) const {
      return mark(watched->load(std::memory_order_acquire), asked) == generation;
    }

    /// Where in a buffer the data start; nowhere, when the call makes no use of the buffer.
    class Start {
     public:
      Start() = default;
      Start(const void* data, const void* buffer)
          : offset_(number(data) - number(buffer)), mask_(data == nullptr ? 0 : ~std::uintptr_t{0}) {}
      /// Where a used buffer itself starts.
      void move_to_begin() { offset_ = 0; }
      std::byte* in(const void* buffer) const {
        return reinterpret_cast<std::byte*>((number(buffer) + offset_) & mask_);
      }

      bool is_used() const { return mask_ != 0; }

     private:
      static std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
      std::uintptr_t offset_ = 0, mask_ = 0;
    };

    std::array<std::uint64_t, max_words> word{};
    const Generation* watched = &forgotten_at_once;  ///< of the datatype or operation that could be freed
    std::uint64_t generation = nothing_kept;         ///< its generation then
    std::uint64_t sizing = 0;                        ///< the one of `prepared` that has these counts
    std::shared_ptr<Prepared> prepared;              ///< or why it is left to the host
    Start send, recv;
    int parts_sent = 0, parts_received = 0;  ///< elements of the arrays that tell of them; 0: they are not read

    /// Own data that begin among the parts of the other buffer, so many bytes, are for a closer look (aliases.hpp). `shift`: for one comparison.
    std::uintptr_t span = 0, shift = 0;
    std::size_t span_unit = 0;  ///< of equal parts: for each element; 0: nothing can be there

    // What other counts come to.
    // Equal parts whose plan has multiples: the counts that are in its range, from the least one on, and the bytes (of reductions: elements) to
    // one of them.
    std::uint64_t least_count = out_of_range, more_counts = 0;
    std::size_t unit = 0;
    /// Bytes (of reductions: elements) to an element of what is sent and received; 0: this rank's call does not read it.
    std::size_t send_unit = 0, recv_unit = 0;
    Operator op;                             ///< what its reduction refers to, if to anything
    std::vector<std::byte> elements;         ///< of the arrays that are read, one after the other
    Call call;                               ///< except buffers and sizes
    std::array<const TypeInfo*, 2> types{};  ///< of the program's datatypes in a call that can be revived
    bool has_span = false;                   ///< also where it is 0, without data
    bool resizable = false;
    bool has_single_parts = false;  ///< which its plan moves one by one: resize_parts()
    bool packs = false;             ///< data with gaps: what runs is a KeptJob
    bool keeps_part = false;        ///< only so much of a result that lies elsewhere is the program's:
    std::size_t kept_from = 0, kept_bytes = 0;

    /// Of no plan yet: nothing can be given to it at once.
    void forget_range() {
      has_single_parts = false;
      least_count = out_of_range;
      more_counts = 0;
    }
    /// Of a call whose own part lies in its place, which the host lets pass: with this count.
    void let_overlap() {
      span = span_unit = 0;
      resizable = false;
      forget_range();
    }
    /// Of the result those elements, from that one on.
    void keep_part(std::size_t count, std::size_t from) {
      kept_from = from * call.element;
      kept_bytes = count * call.element;
    }
    /// Takes another count in range.
    void take_count(std::uint64_t count) {
      prepared->size_whole(count * unit, call.element);
      sizing = prepared->plan.sizing;
      if (span_unit != 0) set_span(count * span_unit);
    }
    void set_span(std::size_t bytes) {
      has_span = true;
      span = bytes;
      shift = call.operation == Operation::scatter || call.operation == Operation::scatterv ? bytes - 1 : 0;
    }
    bool overlaps(const void* of_send, const void* of_recv) const {
      return reinterpret_cast<std::uintptr_t>(of_send) - reinterpret_cast<std::uintptr_t>(of_recv) + shift < span;
    }

    Bases bases(const void* of_send, void* of_recv) const { return {{send.in(of_send), recv.in(of_recv), nullptr}}; }
  };

  /// Whether the host serves all calls of the operation, whatever their arguments.
  bool left_to_host(Operation operation) const { return left_ >> static_cast<int>(operation) & 1; }
  void leave_all_to_host() { left_ = ~std::uint32_t{0}; }

  /// A call that was made before with such arguments, whatever the counts, and what arrays hold; null: none is kept. It may no
  /// longer be valid. Of these functions each takes the arguments of a certain operation, Given, or of any.
  template <class Arguments>
  [[gnu::always_inline]] Repeat* find(const Arguments& given) {
    const std::size_t place = home_of(given);
    if (Repeat& at = repeats_[place]; has_words(at, given)) [[likely]]
      return &at;
    Repeat& beside = repeats_[place ^ 1];
    return has_words(beside, given) ? &beside : nullptr;
  }
  /// Whether what was found is valid and had the same counts, and this one's data lie apart. `asked`: who calls asks about
  /// its buffers, and so did who kept it.
  template <class Arguments>
  static bool is_same(const Repeat& repeat, const Arguments& given, bool asked = false) {
    return repeat.is_valid(asked) && has_counts(repeat, given);
  }
  /// The same, without a look whether it is valid.
  template <class Arguments>
  static bool has_counts(const Repeat& repeat, const Arguments& given) {
    for (int i = 1; i < given.words; ++i)
      if (given.is_count(i) && repeat.word[i] != given.word[i]) return false;
    if (given.has_own_part() && repeat.overlaps(given.send, given.recv)) return false;
    return given.arrays == 0 || same_elements(repeat, given.array);
  }
  /// Whether what was found may run: nobody else's sizes are in its plan, and it is not left to the host.
  static bool is_ready(const Repeat& repeat) { return repeat.sizing == repeat.prepared->plan.sizing; }

  /// Gives a call these counts, if its plan needs no more: of equal parts in its range, or of such as it moves one by one.
  /// Whether it can run so; then ask no more whether it is ready.
  template <class... Arguments>
  [[gnu::always_inline]] static bool resize_at_once(Repeat& repeat, const Given<Arguments...>& given, int p, int rank) {
    static_assert(Given<Arguments...>::words <= max_words);
    if constexpr (Given<Arguments...>::arrays > 0) return resize_single_parts(repeat, given, p, rank);
    if constexpr (!Given<Arguments...>::is_count(1)) return false;
    const std::uint64_t count = given.word[std::min(1, given.words - 1)];
    bool in_range = count - repeat.least_count <= repeat.more_counts;
    for (int i = 2; i < given.words; ++i) in_range = in_range && (!given.is_count(i) || given.word[i] == count);
    if (!in_range) return resize_single_parts(repeat, given, p, rank);
    for (int i = 1; i < given.words; ++i)
      if (given.is_count(i)) repeat.word[i] = count;
    repeat.take_count(count);
    return !(given.has_own_part() && repeat.overlaps(given.send, given.recv));
  }

  /// Of what was found, of which a datatype was freed since: whether its handle names one that looks like that. Then it may
  /// be the same again.
  static bool revive(Repeat& repeat, const AnyGiven& given, bool asked);

  /// Of what was found, of a team, with other counts, or whose plan has served others since: whether its `call` is ready to
  /// run with these. Else they need a closer look.
  bool resize(Repeat& repeat, const AnyGiven& given, int p, int rank, Team& team, bool asked);

  /// Keeps what these arguments came to, if it is of the kind that is kept. `forgotten`: all_forgotten from before they were
  /// looked at; `asked`: about its buffers, which lie in the host's memory. `p`, `rank`: of the ranks in this one's group.
  void keep(const AnyGiven& given, int p, int rank, std::uint64_t forgotten, bool asked,
            const std::shared_ptr<Prepared>& prepared, const Job& job);

  /// The job of a call that packs, for who calls to describe if it is new; it stays until such arguments are kept anew.
  std::shared_ptr<KeptJob>& job_of(const Repeat& repeat) { return jobs_[place_of(repeat)]; }

  void forget() {
    repeats_ = {};
    jobs_ = {};
    packed_last_ = {};
    kept_beside_ = 0;
    left_ = 0;
  }

  static constexpr int place_bits = 5;  ///< 2^5: calls that take turns in a loop of a program are fewer
  static constexpr std::size_t places = std::size_t{1} << place_bits;
  std::size_t place_of(const Repeat& repeat) const { return static_cast<std::size_t>(&repeat - repeats_.data()); }

 private:
  /// Where such a call is kept; or at the place beside it, whose number differs in the last bit.
  template <class Arguments>
  static std::size_t home_of(const Arguments& given) {
    // The last one is a root, where there is one, and is not to make up for another operation; without arrays, the third is
    // a datatype, where there is one.
    const int type = given.arrays > 0 ? 0 : std::min(2, given.words - 1);
    const std::uint64_t sum = (given.word.front() << 8) + given.word[type] + given.word.back();
    return sum * 0x9E3779B97F4A7C15u >> (64 - place_bits);  // Fibonacci hashing: 2^64 / golden ratio
  }
  template <class Arguments>
  static bool has_words(const Repeat& repeat, const Arguments& given) {
    for (int i = 0; i < given.words; ++i)
      if (!given.is_count(i) && repeat.word[i] != given.word[i]) return false;
    return true;
  }
  /// Where to keep it: that of two places where nothing valid is, or each in turn.
  Repeat& place_for(const AnyGiven& given);

  template <class... Arguments>
  [[gnu::always_inline]] static bool resize_single_parts(Repeat& repeat, const Given<Arguments...>& given, int p,
                                                         int rank) {
    if (!repeat.has_single_parts) return false;
    // Piece by piece, so that calls that repeat have them in registers only.
    std::array<std::uint64_t, Given<Arguments...>::words> word;
    std::array<GivenArray, Given<Arguments...>::arrays> array;
    for (int i = 0; i < given.words; ++i) word[i] = given.word[i];
    for (int i = 0; i < given.arrays; ++i) {
      const auto& [elements, element_bytes, of_received] = given.array[i];
      array[i] = {elements, element_bytes, of_received};
    }
    return take_single_parts(repeat, AnyGiven(given, word, array), p, rank);
  }
  /// Those of a call whose plan moves parts one by one; whether it can run so.
  static bool take_single_parts(Repeat& repeat, const AnyGiven& given, int p, int rank);

  /// Sets the sizes of repeat.call; whether they are those of a call that differs in nothing else and has data.
  bool take_counts(Repeat& repeat, const AnyGiven& given, int p, int rank);
  /// Finds its plan, and where its data lie; whether it can run so.
  bool prepare(Repeat& repeat, Team& team, const void* send, void* recv);
  static bool take_parts(Repeat& repeat, const AnyGiven& given, int p, int rank);
  template <class Integer>
  static bool take_parts_of(Repeat& repeat, const AnyGiven& given, int p, int rank);
  static void find_range(Repeat& repeat);
  /// Where this rank's own data are not to begin.
  static void find_span(Repeat& repeat, const AnyGiven& given, int p, int rank);
  static void watch(Repeat& repeat, const Job& job, const AnyGiven& given, std::uint64_t forgotten, bool asked);
  /// Of a call that packs: whether the last such one at its place had, most likely, the same numbers and datatypes.
  bool comes_again(const AnyGiven& given);
  void find_units(Repeat& repeat, const Job& job, const AnyGiven& given, int p);
  static void find_single_parts(Repeat& repeat, const Call& call, const AnyGiven& given);

  /// What a call runs as and where its data start, once it is known of which kind it is.
  static void describe(Repeat& repeat, const std::shared_ptr<Prepared>& prepared, const Job& job, const void* send,
                       const void* recv);

  static int parts_of(const Repeat& repeat, const GivenArray& array) {
    return array.of_received ? repeat.parts_received : repeat.parts_sent;
  }
  static bool same_elements(const Repeat& repeat, std::span<const GivenArray> arrays) {
    const std::byte* kept = repeat.elements.data();
    for (const GivenArray& array : arrays) {
      const int parts = parts_of(repeat, array);
      if (parts == 0) continue;
      const std::size_t bytes = parts * array.element_bytes;
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
  static void copy_elements(Repeat& repeat, std::span<const GivenArray> arrays);

  /// Bytes of parts, and before them, of the call that was resized last: sent, received.
  std::array<std::vector<std::size_t>, 2> counts_, starts_;
  std::array<std::size_t, 2> first_{};  // bytes before the first that has any
  std::array<bool, 2> in_row_{};        // from there on they lie one behind the other
  static_assert(sizeof(Repeat) == 512);
  std::array<std::shared_ptr<KeptJob>, places> jobs_;
  std::array<std::uint64_t, places> packed_last_{};  // hashes
  std::uint32_t kept_beside_ = 0;  // a bit for each place: the last call that went for one of it lay beside it
  std::array<Repeat, places> repeats_;
  std::uint32_t left_ = 0;  // a bit for each operation; last, so that it may share a cache line with what comes behind
  static_assert(operation_count <= 32);
};

}  // namespace omnes::interpose
