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

Blocks Builder::temp(int count, int like) {
  OMNES_ASSERT(count >= 0 && like >= 0);
  if (tally_) return {Buffer::temp, 0, count};
  const auto first = static_cast<std::int32_t>(schedule_.temp.size());
  for (int i = 0; i < count; ++i) schedule_.temp.push_back({like + i, rank()});
  return {Buffer::temp, first, count};
}

Blocks Builder::temp_like(std::span<const std::int32_t> data_blocks) {
  if (tally_) return {Buffer::temp, 0, static_cast<std::int32_t>(data_blocks.size())};
  const auto first = static_cast<std::int32_t>(schedule_.temp.size());
  for (const std::int32_t block : data_blocks) schedule_.temp.push_back({block, rank()});
  return {Buffer::temp, first, static_cast<std::int32_t>(data_blocks.size())};
}

Blocks Builder::temp_sized(std::span<const Like> sizes) {
  if (tally_) return {Buffer::temp, 0, static_cast<std::int32_t>(sizes.size())};
  const auto first = static_cast<std::int32_t>(schedule_.temp.size());
  schedule_.temp.insert(schedule_.temp.end(), sizes.begin(), sizes.end());
  return {Buffer::temp, first, static_cast<std::int32_t>(sizes.size())};
}

Blocks Builder::temp_between(std::span<const Pair> pairs) {
  OMNES_ASSERT(sized_by_pairs(problem().operation));
  if (tally_) return {Buffer::temp, 0, static_cast<std::int32_t>(pairs.size()) * pieces()};
  const auto first = static_cast<std::int32_t>(schedule_.temp.size());
  for (const Pair& pair : pairs)
    for (int piece = 0; piece < pieces(); ++piece) schedule_.temp.push_back({pair.from * pieces() + piece, pair.to});
  return {Buffer::temp, first, static_cast<std::int32_t>(pairs.size()) * pieces()};
}

// A barrier moves no data: its messages count as blocks.
void Builder::count(int to, Blocks what) {
  const int blocks = schedule_.problem.operation == Operation::barrier ? 1 : what.count;
  if (blocks > 0 && to != rank()) tally_->add(to, blocks);
}

void Builder::send(int to, Blocks what) {
  if (tally_) return count(to, what);
  Op op;
  op.kind = OpKind::send;
  op.peer = to;
  op.a = what;
  add(op);
}

void Builder::send(std::span<const std::int32_t> to, Blocks what) {
  if (to.empty()) return;
  if (to.size() == 1) return send(to[0], what);
  if (tally_) {
    for (const std::int32_t peer : to) count(peer, what);
    return;
  }
  Op op;
  op.kind = OpKind::send;
  op.first_peer = static_cast<std::uint32_t>(schedule_.peers.size());
  op.peer_count = static_cast<std::uint32_t>(to.size());
  op.a = what;
  schedule_.peers.insert(schedule_.peers.end(), to.begin(), to.end());
  add(op);
}

void Builder::publish(Blocks what) {
  if (p() == 1) return;
  for (int peer = 0; tally_ && peer < p(); ++peer) count(peer, what);
  if (tally_) return;
  Op op;
  op.kind = OpKind::send;
  op.published = true;
  op.a = what;
  add(op);
}

void Builder::recv(int from, Blocks into) {
  if (tally_) return tally_->receive();
  Op op;
  op.kind = OpKind::recv;
  op.peer = from;
  op.dst = into;
  add(op);
}

void Builder::recv_published(int from, Blocks into) {
  if (tally_) return tally_->receive();
  Op op;
  op.kind = OpKind::recv;
  op.published = true;
  op.peer = from;
  op.dst = into;
  add(op);
}

void Builder::reduce_from(int from, Blocks a, Blocks into, bool incoming_first, bool published) {
  if (tally_) return tally_->receive();
  Op op;
  op.kind = OpKind::recv_reduce;
  op.incoming_first = incoming_first;
  op.published = published;
  op.peer = from;
  op.a = a;
  op.dst = into;
  add(op);
}

void Builder::copy(Blocks from, Blocks into) {
  if (from == into || tally_) return;
  Op op;
  op.kind = OpKind::copy;
  op.a = from;
  op.dst = into;
  add(op);
}

void Builder::reduce(Blocks a, Blocks b, Blocks into) {
  if (tally_) return;
  Op op;
  op.kind = OpKind::reduce;
  op.a = a;
  op.b = b;
  op.dst = into;
  add(op);
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
  if (tally_) return;
  Op op;  // copies nothing
  op.kind = OpKind::copy;
  add(op);
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
