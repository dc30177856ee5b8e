// A collective as the program described it, ready to run as often as it likes: what to bring to the schedule's buffers
// before each run, and where to bring the result after it.
//
// Data without gaps are used where they lie. Others are packed on their way into memory that ranks share, and unpacked on their way out of
// it; or they pass through staging memory: where they are short, where messages go through the host, and where a schedule
// reads them several times. Which operations need what is for describe/ to say, whose functions fill a Job in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "interpose/data/parted.hpp"
#include "interpose/data/view.hpp"
#include "interpose/types/operators.hpp"
#include "runtime/prepared.hpp"
#include "runtime/team.hpp"

namespace omnes::interpose {

struct Job {
  /// `rooms`: three stagings, which outlive the job.
  explicit Job(Staging* rooms) : rooms_(rooms) {}
  ~Job() {
    if (held_) [[unlikely]]
      release();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Call call;             ///< send and recv are set by load(), or before by those who need no load()
  bool nothing = false;  ///< no rank has anything to do
  int root = -1;         ///< between two groups, among all ranks; -1: none, or this rank gives MPI_PROC_NULL
  bool lands = true;     ///< what is received belongs to the program (else the buffer only holds a contribution)

  /// Which parts of the receive buffer are also read: all, or that of this rank.
  enum class Kept : std::uint8_t { none, own, all };
  /// A call that moves data as they are; `bytes`: of a part, or this rank's own where parts differ.
  void moves(Operation operation, std::size_t bytes, bool in_place, int root = 0) {
    call.operation = operation;
    call.root = root;
    call.in_place = in_place;
    call.count = bytes;
  }
  void sends(const View& view);
  void sends(PartedView&& parts);
  /// `rank`: whose part is kept; the view has `parts` equal ones.
  void receives(const View& view, Kept kept = Kept::none, int rank = 0, int parts = 1);
  void receives(PartedView&& parts, Kept kept = Kept::none, int rank = 0);
  /// Equal ones, which do not lie one behind the other.
  void receives_with_room_between(PartedView&& parts);
  /// Operands with gaps (see reducing.cpp); `result` is null on ranks that get none.
  void combines_spread(const View& own, const View* result);
  /// The result of this rank's bytes goes to where the operands start.
  void combines_in_place(void* buffer, std::size_t bytes) { keeps_part(buffer, bytes, 0, bytes); }
  /// Of a result of so many bytes, some go to `buffer`: those from `start` on.
  void keeps_part(void* buffer, std::size_t bytes, std::size_t start, std::size_t all);
  /// The same for combines_spread(): a result like the contribution, of which elements from `start` on are kept.
  void keeps_spread_part(std::size_t start) {
    kept_from_ = start;
    result_elements_ = send_.count;
  }

  /// For operations that go on after their call: each load() copies this rank's contribution, if it is small. Programs
  /// must leave it alone until the end, but some do not, and every MPI forgives them, as it has sent it when the call returns. `p`: ranks.
  void copy_small_contribution(int p);

  /// For a predefined operation, or the program's own. Its address must not change: the reduction refers to it.
  Operator op;
  std::vector<std::size_t> counts;  ///< of parts, where no view has them

  void load(const Prepared& prepared) {
    if (!is_straight(prepared.in_rows)) [[unlikely]]
      load_slowly(prepared);
  }
  void land(const Prepared& prepared) {
    if (!is_straight(prepared.in_rows)) [[unlikely]]
      land_slowly(prepared.in_rows);
  }

  /// The data lie where the call finds and leaves them: there is nothing to load or to land. `in_rows`: what Prepared says.
  bool is_straight(bool in_rows) const { return (needs_ & ~(in_rows ? 0 : rows)) == 0; }

  /// There is nothing to do but to pack what has gaps, and to unpack it.
  bool only_packs() const { return needs_ != 0 && (needs_ & ~(packing | landing | spreading)) == 0; }
  /// Of such a job: whether buffers that lie otherwise to each other might be another case.
  bool uses_both_buffers() const {
    return needs_ & spreading ||
           ((call.send != nullptr || needs_ & packing) && (call.recv != nullptr || needs_ & landing));
  }
  /// Of such a job: what is sent and what is received lies so many bytes further on.
  void move(std::ptrdiff_t sent, std::ptrdiff_t received);
  /// Nothing more is to do than to bring some of a result that lies elsewhere to the program's buffer: see keeps_part().
  bool only_keeps_part() const { return needs_ == moving; }
  /// How many elements the program's arrays have of what is sent, and of what is received; 0: this rank's call reads none.
  std::pair<int, int> parts_given() const {
    return {send_parts_ ? send_parts_->given() : 0,
            recv_parts_ ? recv_parts_->given() : static_cast<int>(counts.size())};
  }

  /// Whether this is a reduce_scatter in place, or its block form: the call does not say so.
  bool moves_in_place() const { return (needs_ & moving) != 0; }

  /// Whether runs need an operation or datatype that the program has made.
  bool needs_objects() const;
  /// Keeps those for as long as the job lives, though the program may free them. Called before anything is communicated: from then on others may
  /// see that the call has begun.
  void hold();

 private:
  /// The last two where parts have to lie in a row, and do not.
  enum Need : std::uint8_t {
    packing = 1,
    landing = 2,
    spreading = 4,
    moving = 8,
    copying = 16,
    packing_row = 32,
    landing_row = 64
  };
  static constexpr int rows = packing_row | landing_row;
  void load_slowly(const Prepared& prepared);
  void scatter(const Prepared& prepared, bool packs, bool stages);
  void land_slowly(bool in_rows);
  void release();
  template <class Do>
  void for_each_type(Do apply) const;

  Staging* rooms_;
  std::uint8_t needs_ = 0;
  Kept kept_ = Kept::none;
  bool has_result_ = true;
  bool held_ = false;
  int rank_ = 0, parts_ = 1;
  View send_, recv_;
  std::optional<PartedView> send_parts_, recv_parts_;
  Scattered scattered_send_, scattered_recv_;  // what the call refers to
  /// Bytes up to which data with gaps pass through staging memory, and so are read when the call begins: a copy of them is not seen.
  std::size_t short_enough_ = 4096;
  const void* copied_from_ = nullptr;
  std::size_t copied_bytes_ = 0;
  bool copies_received_ = false;  ///< the contribution lies in the receive buffer
  void* moved_to_ = nullptr;
  std::size_t moved_bytes_ = 0, moved_from_ = 0, moved_of_ = 0;
  std::size_t kept_from_ = 0, result_elements_ = 0;  ///< 0: as many as go to the program
};

/// A job that calls with the same arguments, but perhaps other buffers, run again: see Repeats.
struct KeptJob {
  explicit KeptJob(Staging* rooms) : job(rooms) {}
  /// Moves it to these buffers. Returns whether they lie to each other as before: else the arguments need a closer look.
  bool move_to(const void* to_send, void* to_recv);

  Job job;
  std::shared_ptr<Prepared> prepared;
  std::uint64_t sizing = 0;    ///< the one of `prepared` that has its sizes
  const void* send = nullptr;  ///< where it is now
  void* recv = nullptr;
};

}  // namespace omnes::interpose
