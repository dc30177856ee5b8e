// Each way says where the blocks of the virtual buffers lie; the ops then go through unchanged except for blocks and peers.
#include "mapping/relabel.hpp"

#include <algorithm>
#include <stdexcept>

#include "schedule/contract.hpp"

namespace omnes::mapping {

namespace {

using enum Operation;

bool has_parts(Operation operation) {
  switch (regular(operation)) {
    case gather:
    case scatter:
    case allgather:
    case alltoall:
    case reduce_scatter_block: return true;
    default: return false;
  }
}

/// Whether a result depends on who contributes what: else only the root contributes, or all contributions are combined in any order.
bool contributions_matter(Operation operation, bool ordered) {
  switch (regular(operation)) {
    case barrier:
    case bcast:
    case scatter: return false;
    case reduce:
    case allreduce:
    case reduce_scatter_block: return ordered;
    default: return true;
  }
}

/// Whether ranks end with different results.
bool results_differ(Operation operation) {
  switch (regular(operation)) {
    case scatter:
    case alltoall:
    case reduce_scatter_block:
    case scan:
    case exscan: return true;
    default: return false;
  }
}

/// Blocks of a rank's result, where results differ.
int result_blocks(const Problem& problem, int pieces) {
  if (problem.operation == exscan && problem.rank == 0) return 0;
  return regular(problem.operation) == alltoall ? problem.p * pieces : pieces;
}

/// Where the blocks of a virtual buffer lie: all of them shifted, or part by part.
struct Room {
  Buffer buffer = Buffer::send;
  std::int32_t shift = 0;
  std::vector<Blocks> parts;

  Blocks of(Blocks run, int pieces) const {
    if (parts.empty()) return {buffer, run.first + shift, run.count};
    const Blocks part = parts[run.first / pieces];
    return {part.buffer, part.first + run.first % pieces, run.count};
  }
};

/// A schedule in the making: what both ways share.
class Relabeller {
 public:
  /// `alone`: only the ops of the fix-up are wanted.
  Relabeller(const Schedule& schedule, const Problem& problem, const Mapping& mapping, bool renames_parts, bool alone)
      : schedule_(schedule),
        problem_(problem),
        mapping_(mapping),
        self_(schedule.problem.rank),
        player_(mapping.real_of[problem.rank]),
        pieces_(schedule.pieces),
        alone_(alone),
        b_(problem, alone ? Detail::ops : Detail::whole) {
    b_.cut(pieces_);
    if (alone_) return;
    std::vector<Like> temp = schedule.temp;
    for (Like& like : temp) {
      like.rank = mapping.real_of[like.rank];
      if (renames_parts) like.block = mapping.real_of[like.block / pieces_] * pieces_ + like.block % pieces_;
    }
    b_.temp_sized(temp);
  }

  Schedule exchange(bool ordered) {
    const bool gives = contributions_matter(problem_.operation, ordered), returns = results_differ(problem_.operation);
    const Blocks own = contribution();
    if (gives) {
      const bool into_part = schedule_.problem.in_place;  // of gather and allgather
      Blocks into = b_.part(Buffer::recv, self_);
      if (!into_part)
        into = self_ == rank() && !problem_.in_place ? own : b_.temp(own.count, has_one_part() ? self_ * pieces_ : 0);
      room(Buffer::send) = {into.buffer, into.first, {}};
      pass(own, player_, self_, into);
    }
    Blocks result = recv_blocks(0, result_blocks(schedule_.problem, pieces_));
    const bool wanted = blocks_in(problem_, pieces_, Buffer::recv) > 0;  // all but scatter's root in place
    if (returns && (self_ != rank() || !wanted)) {
      result = b_.temp(result.count,
                       regular(problem_.operation) == alltoall || !has_parts(problem_.operation) ? 0 : self_ * pieces_);
      room(Buffer::recv) = {result.buffer, result.first, {}};
    }
    append_ops();
    if (returns && self_ != rank()) {
      Blocks mine = recv_blocks(0, result_blocks(problem_, pieces_));
      if (!wanted && mine.count > 0) mine = b_.temp(mine.count, rank() * pieces_);
      pass(result, self_, player_, mine);
    }
    return b_.finish();
  }

  Schedule reorder() {
    for (const Buffer buffer : {Buffer::send, Buffer::recv}) {
      const bool all_parts = has_parts(problem_.operation) &&
                             blocks_in(problem_, pieces_, buffer) == problem_.p * pieces_ &&
                             (buffer_of_all(problem_.operation) == buffer || regular(problem_.operation) == alltoall);
      if (all_parts) lay_out(buffer);
    }
    append_ops();
    for (const int part : aside_[static_cast<int>(Buffer::recv)])
      if (written_[part]) b_.copy(room(Buffer::recv).parts[part], b_.part(Buffer::recv, mapping_.real_of[part]));
    return b_.finish();
  }

 private:
  int rank() const { return problem_.rank; }
  Room& room(Buffer buffer) { return rooms_[static_cast<int>(buffer)]; }
  bool has_one_part() const {
    const Operation kind = regular(problem_.operation);
    return kind == gather || kind == allgather;
  }

  /// Where this rank's own contribution lies.
  Blocks contribution() const {
    const Buffer buffer = problem_.in_place ? Buffer::recv : Buffer::send;
    const int part = problem_.in_place && has_one_part() ? rank() : 0;
    return {buffer, part * pieces_, contributed_blocks(problem_, pieces_)};
  }

  /// Sends blocks to one rank and gets others from another; among ourselves, a copy.
  void pass(Blocks out, int to, int from, Blocks into) {
    if (to == rank()) {
      b_.copy(out, into);
      return;
    }
    if (out.count > 0) b_.send(to, out);
    if (into.count > 0) b_.recv(from, into);
  }

  /// Gives every part of the buffer a place: that of the real rank, or aside, in temporary blocks.
  void lay_out(Buffer buffer) {
    std::vector<char> apart(problem_.p, 0);
    for (bool changed = true; changed;) {
      changed = false;
      for_each_run(buffer, [&](int first, int last) {
        bool whole = true;
        for (int part = first; part < last; ++part)
          whole = whole && mapping_.real_of[part + 1] == mapping_.real_of[part] + 1;
        const auto begin = apart.begin() + first, end = apart.begin() + last + 1;
        if ((whole && std::find(begin, end, 1) == end) || std::find(begin, end, 0) == end) return;
        std::fill(begin, end, 1);
        changed = true;
      });
    }
    auto& parts = room(buffer).parts;
    for (int part = 0; part < problem_.p; ++part) {
      const int real = mapping_.real_of[part];
      parts.push_back(apart[part] ? b_.temp(pieces_, real * pieces_) : b_.part(buffer, real));
      if (!apart[part]) continue;
      aside_[static_cast<int>(buffer)].push_back(part);
      const Blocks there = b_.part(buffer, real);
      if (initial(problem_, pieces_, buffer, there.first)) b_.copy(there, parts.back());
    }
  }

  /// The parts first..last of each run that ops touch in the buffer.
  template <class Visit>
  void for_each_run(Buffer buffer, const Visit& visit) const {
    for (const Op& op : schedule_.ops)
      for (const Blocks run : {op.a, op.b, op.dst})
        if (run.buffer == buffer && run.count > 0) visit(run.first / pieces_, (run.first + run.count - 1) / pieces_);
  }

  void append_ops() {
    const auto shift = static_cast<std::uint32_t>(b_.size());
    written_.assign(problem_.p, 0);
    std::vector<std::int32_t> peers;
    std::vector<std::uint32_t> after;
    for (Op op : schedule_.ops) {
      if (op.dst.buffer == Buffer::recv && has_parts(problem_.operation))
        for (int block = op.dst.first; block < op.dst.first + op.dst.count; ++block) written_[block / pieces_] = 1;
      if (alone_) continue;
      peers.clear();
      after.clear();
      for (const std::int32_t peer : schedule_.peers_of(op)) peers.push_back(mapping_.real_of[peer]);
      for (const std::uint32_t dep : schedule_.deps_of(op)) after.push_back(dep + shift);
      for (Blocks* run : {&op.a, &op.b, &op.dst})
        if (run->count > 0 && run->buffer != Buffer::temp) *run = room(run->buffer).of(*run, pieces_);
      if (op.kind != OpKind::send && op.peer >= 0) op.peer = mapping_.real_of[op.peer];
      b_.after(after);
      b_.append(op, peers);
    }
  }

  const Schedule& schedule_;
  const Problem& problem_;
  const Mapping& mapping_;
  const int
      self_;  // the virtual rank that this one plays; also the real rank whose contribution and result that are in an exchange
  const int player_;  // who plays the virtual rank with this one's number
  const int pieces_;
  const bool alone_;
  Builder b_;
  Room rooms_[2] = {{Buffer::send, 0, {}}, {Buffer::recv, 0, {}}};
  std::vector<int> aside_[2];  // the parts that lie in temporary blocks
  std::vector<char> written_;
};

Schedule put_right(const Schedule& schedule, const Problem& problem, const Mapping& mapping, Fixup fixup, bool ordered,
                   bool alone) {
  const std::string reason = why_not(problem.operation, fixup, ordered);
  if (!reason.empty()) throw std::invalid_argument("no " + std::string(name(fixup)) + ": " + reason);
  Relabeller relabeller(schedule, problem, mapping, follows_runs(problem.operation, fixup), alone);
  return fixup == Fixup::exchange ? relabeller.exchange(ordered) : relabeller.reorder();
}

}  // namespace

std::string_view name(Fixup fixup) { return fixup == Fixup::exchange ? "exchange" : "reorder"; }

std::optional<Fixup> fixup_named(std::string_view wanted) {
  if (wanted == "exchange" || wanted == "exch") return Fixup::exchange;
  if (wanted == "reorder") return Fixup::reorder;
  return std::nullopt;
}

std::string why_not(Operation operation, Fixup fixup, bool ordered) {
  if (among_neighbors(operation)) return "its messages follow the program's topology: only the program can renumber";
  if (fixup == Fixup::exchange)
    return sized_by_pairs(operation) ? "the sizes to exchange are known to others only" : std::string();
  if (operation == scan || operation == exscan) return "a prefix follows the order of the ranks";
  if (ordered && reduces(operation)) return "the reduction must keep the order of the ranks";
  return {};
}

Problem virtual_problem(const Problem& problem, const Mapping& mapping, Fixup fixup, bool ordered) {
  Problem played = problem;
  played.rank = mapping.virtual_of[problem.rank];
  played.root = mapping.virtual_of[problem.root];
  if (fixup == Fixup::reorder) return played;
  // What others contribute comes from them; where it has a part in the result, there.
  const Operation kind = regular(problem.operation);
  const bool into_part = kind == allgather || (kind == gather && problem.rank == problem.root);
  const bool stays = (kind == reduce || kind == allreduce) && !ordered;
  played.in_place = into_part || (stays && problem.in_place);
  return played;
}

Schedule relabelled(const Schedule& schedule, const Problem& problem, const Mapping& mapping, Fixup fixup,
                    bool ordered) {
  return put_right(schedule, problem, mapping, fixup, ordered, false);
}

Schedule fixup_alone(const Schedule& schedule, const Problem& problem, const Mapping& mapping, Fixup fixup,
                     bool ordered) {
  return put_right(schedule, problem, mapping, fixup, ordered, true);
}

bool follows_runs(Operation operation, Fixup fixup) { return fixup == Fixup::reorder && has_parts(operation); }

Schedule build_relabelled(const Algorithm& algorithm, const Problem& problem, const Mapping& mapping, Fixup fixup,
                          bool ordered) {
  const Schedule schedule = build(algorithm, virtual_problem(problem, mapping, fixup, ordered));
  Problem real = problem;
  real.radix = schedule.problem.radix;
  return relabelled(schedule, real, mapping, fixup, ordered);
}

}  // namespace omnes::mapping
