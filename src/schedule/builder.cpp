// The builder's bookkeeping: who wrote and who read each block last.
#include "schedule/builder.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace omnes {

namespace {

// As many ops at most are waited for one by one: it adds no op to small steps, as most are.
constexpr std::size_t max_awaited = 16;

}  // namespace

Builder::Builder(const Problem& problem, Detail detail) : detail_(detail) {
  OMNES_ASSERT(problem.rank >= 0 && problem.rank < problem.p && problem.root >= 0 && problem.root < problem.p);
  OMNES_ASSERT(problem.segments >= 1 && problem.radix >= 0);
  schedule_.problem = problem;
}

Builder::Builder(const Problem& problem, Tally& tally) : Builder(problem) { tally_ = &tally; }

void Builder::cut(int pieces) {
  OMNES_ASSERT(pieces >= 1 && schedule_.ops.empty());
  schedule_.pieces = pieces;
}

Blocks Builder::own() const {
  const Problem& problem = schedule_.problem;
  if (!problem.in_place) return {Buffer::send, 0, pieces()};
  const Operation kind = regular(problem.operation);
  const bool has_part = kind == Operation::gather || kind == Operation::allgather;
  return part(Buffer::recv, has_part ? rank() : 0);
}

/// Temporary blocks, block i with the size that like_of(i) says.
template <class LikeOf>
Blocks Builder::add_temp(std::size_t count, const LikeOf& like_of) {
  const Blocks added{Buffer::temp, static_cast<std::int32_t>(schedule_.temp.size()), static_cast<std::int32_t>(count)};
  for (std::size_t i = 0; !tally_ && i < count; ++i) schedule_.temp.push_back(like_of(static_cast<std::int32_t>(i)));
  return added;
}

Blocks Builder::temp(int count, int like) {
  OMNES_ASSERT(count >= 0 && like >= 0);
  return add_temp(count, [&](std::int32_t i) { return Like{like + i, rank()}; });
}

Blocks Builder::temp_like(std::span<const std::int32_t> data_blocks) {
  return add_temp(data_blocks.size(), [&](std::int32_t i) { return Like{data_blocks[i], rank()}; });
}

Blocks Builder::temp_sized(std::span<const Like> sizes) {
  return add_temp(sizes.size(), [&](std::int32_t i) { return sizes[i]; });
}

Blocks Builder::temp_between(std::span<const Pair> pairs) {
  OMNES_ASSERT(sized_by_pairs(problem().operation));
  return add_temp(pairs.size() * pieces(), [&](std::int32_t i) {
    const Pair& pair = pairs[i / pieces()];
    return Like{pair.from * pieces() + i % pieces(), pair.to};
  });
}

// A barrier moves no data: its messages count as blocks.
void Builder::count(int to, Blocks what) {
  const int blocks = schedule_.problem.operation == Operation::barrier ? 1 : what.count;
  if (blocks > 0 && to != rank()) tally_->add(to, blocks);
}

void Builder::send(int to, Blocks what) {
  if (tally_) return count(to, what);
  add({.kind = OpKind::send, .peer = to, .a = what});
}

void Builder::send(std::span<const std::int32_t> to, Blocks what) {
  if (to.empty()) return;
  if (to.size() == 1) return send(to[0], what);
  if (tally_) {
    for (const std::int32_t peer : to) count(peer, what);
    return;
  }
  append({.kind = OpKind::send, .peer_count = static_cast<std::uint32_t>(to.size()), .a = what}, to);
}

void Builder::publish(Blocks what) {
  if (p() == 1) return;
  for (int peer = 0; tally_ && peer < p(); ++peer) count(peer, what);
  if (!tally_) add({.kind = OpKind::send, .published = true, .a = what});
}

void Builder::add_receive(const Op& op) {
  if (tally_) return tally_->receive();
  add(op);
}

void Builder::recv(int from, Blocks into, bool published) {
  add_receive({.kind = OpKind::recv, .published = published, .peer = from, .dst = into});
}

void Builder::recv_reduce(int from, Blocks a, Blocks into, bool published) {
  add_receive({.kind = OpKind::recv_reduce, .published = published, .peer = from, .a = a, .dst = into});
}

void Builder::recv_reduce_first(int from, Blocks a, Blocks into, bool published) {
  add_receive(
      {.kind = OpKind::recv_reduce, .incoming_first = true, .published = published, .peer = from, .a = a, .dst = into});
}

void Builder::copy(Blocks from, Blocks into) {
  if (from != into && !tally_) add({.kind = OpKind::copy, .a = from, .dst = into});
}

void Builder::reduce(Blocks a, Blocks b, Blocks into) {
  if (!tally_) add({.kind = OpKind::reduce, .a = a, .b = b, .dst = into});
}

void Builder::append(Op op, std::span<const std::int32_t> peers) {
  if (op.peer_count > 0) {
    op.first_peer = static_cast<std::uint32_t>(schedule_.peers.size());
    op.peer_count = static_cast<std::uint32_t>(peers.size());
    schedule_.peers.insert(schedule_.peers.end(), peers.begin(), peers.end());
  } else if (op.kind == OpKind::send && !op.published) {
    OMNES_ASSERT(!peers.empty());
    op.peer = peers.front();
  }
  add(op);
}

void Builder::step() {
  if (tally_) return;
  if (schedule_.ops.size() == step_begin_) return;  // nothing since the last step
  step_prev_ = step_begin_;
  step_begin_ = schedule_.ops.size();
  if (step_begin_ - step_prev_ <= max_awaited) return;
  join();
  step_prev_ = step_begin_;
  step_begin_ = schedule_.ops.size();
}

void Builder::join() {
  if (!tally_) add({.kind = OpKind::copy});  // of nothing
}

Builder::Touch& Builder::touch(Buffer buffer, std::int32_t block) {
  auto& touched = touched_[static_cast<int>(buffer)];
  if (touched.size() <= static_cast<std::size_t>(block)) touched.resize(block + 1);
  return touched[block];
}

void Builder::add(Op op) {
  OMNES_ASSERT(op.kind == OpKind::copy || op.kind == OpKind::reduce || op.published || op.peer_count > 0 ||
               (op.peer >= 0 && op.peer < p() && op.peer != rank()));
  OMNES_ASSERT(op.a.count >= 0 && op.dst.count >= 0 && op.a.first >= 0 && op.dst.first >= 0);
  if (detail_ != Detail::whole) {
    schedule_.ops.push_back(op);
    return;
  }
  const auto self = static_cast<std::uint32_t>(schedule_.ops.size());
  scratch_.clear();
  scratch_.swap(awaited_);
  // The step before this one is waited for whole; what came before it is waited for by it.
  if (step_begin_ > 0)
    for (std::size_t i = step_prev_; i < step_begin_; ++i) scratch_.push_back(static_cast<std::uint32_t>(i));
  const auto reads = [&](Blocks blocks) {
    for (std::int32_t i = blocks.first; i < blocks.first + blocks.count; ++i) {
      Touch& block = touch(blocks.buffer, i);
      if (block.writer >= 0) scratch_.push_back(static_cast<std::uint32_t>(block.writer));
      block.readers.push_back(self);
    }
  };
  reads(op.a);
  reads(op.b);
  for (std::int32_t i = op.dst.first; i < op.dst.first + op.dst.count; ++i) {
    Touch& block = touch(op.dst.buffer, i);
    if (block.writer >= 0) scratch_.push_back(static_cast<std::uint32_t>(block.writer));
    for (const std::uint32_t reader : block.readers)
      if (reader != self) scratch_.push_back(reader);
    block.readers.clear();
    block.writer = self;
  }
  std::sort(scratch_.begin(), scratch_.end());
  scratch_.erase(std::unique(scratch_.begin(), scratch_.end()), scratch_.end());
  op.first_dep = static_cast<std::uint32_t>(schedule_.deps.size());
  op.dep_count = static_cast<std::uint32_t>(scratch_.size());
  schedule_.deps.insert(schedule_.deps.end(), scratch_.begin(), scratch_.end());
  schedule_.ops.push_back(op);
}

Schedule Builder::finish() {
  schedule_.problem.hierarchy = nullptr;
  schedule_.problem.composition.clear();
  return std::move(schedule_);
}

}  // namespace omnes
