// Op by op: maps ranks, blocks and dependencies.
#include "algorithms/embedding.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace omnes::inline algorithms {

namespace {

/// More ops than this are waited for through one that does nothing, as in the builder's steps.
constexpr std::size_t max_awaited = 16;

class Embedder {
 public:
  Embedder(Builder& b, const Schedule& inner, const Embedding& embedding)
      : b_(b),
        inner_(inner),
        embedding_(embedding),
        everybody_(inner.problem.p == b.p()),
        temp_(lay_out_temp()),
        ends_(inner.ops.size()) {}

  void add_all() {
    for (std::size_t i = 0; i < inner_.ops.size(); ++i) {
      const Op& op = inner_.ops[i];
      std::vector<std::uint32_t>& ends = ends_[i];
      for (const std::uint32_t dep : inner_.deps_of(op)) ends.insert(ends.end(), ends_[dep].begin(), ends_[dep].end());
      std::ranges::sort(ends);
      ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
      b_.after(ends);
      const std::uint32_t before = b_.size();
      add(op, ends.size());
      if (b_.size() > before) ends.assign(1, before);
      b_.after({});
    }
  }

 private:
  View lay_out_temp() {
    std::vector<Like> sizes;
    View view{Buffer::temp, 0, {0}};
    for (const Like& like : inner_.temp) {
      embedding_.sizes(like, sizes);
      view.starts.push_back(static_cast<std::int32_t>(sizes.size()));
    }
    view.first = b_.temp_sized(sizes).first;
    return view;
  }

  void add(const Op& op, std::size_t awaited) {
    const Blocks a = here(op.a), b = here(op.b), dst = here(op.dst);
    switch (op.kind) {
      case OpKind::send: return op.published && everybody_ ? b_.publish(a) : b_.send(receivers(op), a);
      case OpKind::recv: return receive(op, dst);
      case OpKind::recv_reduce: return dst.count == 0 ? receive(op, dst) : receive_and_reduce(op, a, dst);
      case OpKind::copy:
      case OpKind::reduce: break;
    }
    if (dst.count == 0) {
      if (awaited > max_awaited) b_.join();
    } else if (op.kind == OpKind::copy) {
      b_.copy(a, dst);
    } else {
      b_.reduce(a, b, dst);
    }
  }

  void receive(const Op& op, Blocks into) { b_.recv(embedding_.ranks[op.peer], into, op.published && everybody_); }

  void receive_and_reduce(const Op& op, Blocks a, Blocks into) {
    const int from = embedding_.ranks[op.peer];
    const bool published = op.published && everybody_;
    return op.incoming_first ? b_.recv_reduce_first(from, a, into, published)
                             : b_.recv_reduce(from, a, into, published);
  }

  std::vector<std::int32_t> receivers(const Op& op) const {
    std::vector<std::int32_t> to;
    if (op.published) {
      for (int i = 0; i < inner_.problem.p; ++i)
        if (i != inner_.problem.rank) to.push_back(embedding_.ranks[i]);
    } else {
      for (const std::int32_t peer : inner_.peers_of(op)) to.push_back(embedding_.ranks[peer]);
    }
    return to;
  }

  Blocks here(Blocks blocks) const {
    if (blocks.count == 0) return {};
    if (blocks.buffer == Buffer::temp) return temp_(blocks);
    return blocks.buffer == Buffer::send ? embedding_.send(blocks) : embedding_.recv(blocks);
  }

  Builder& b_;
  const Schedule& inner_;
  const Embedding& embedding_;
  const bool everybody_;
  View temp_;
  std::vector<std::vector<std::uint32_t>> ends_;  // of each inner op: the op that it became, or what it waited for
};

}  // namespace

Blocks View::operator()(Blocks inner) const {
  OMNES_ASSERT(inner.first + inner.count < static_cast<std::int32_t>(starts.size()));
  const std::int32_t begin = starts[inner.first], end = starts[inner.first + inner.count];
  return begin == end ? Blocks{} : Blocks{buffer, first + begin, end - begin};
}

View cut_evenly(Blocks blocks, int runs) {
  View view{blocks.buffer, blocks.first, {}};
  for (std::int64_t i = 0; i <= runs; ++i) view.starts.push_back(static_cast<std::int32_t>(blocks.count * i / runs));
  return view;
}

void embed(Builder& b, const Schedule& inner, const Embedding& embedding) {
  OMNES_ASSERT(static_cast<int>(embedding.ranks.size()) == inner.problem.p);
  Embedder(b, inner, embedding).add_all();
}

}  // namespace omnes::inline algorithms
