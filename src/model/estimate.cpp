// Going through the schedules of a few ranks.
#include "model/estimate.hpp"

#include <algorithm>

#include "base/assert.hpp"

#include "model/tape.hpp"

namespace omnes::model {

namespace {

// What building a schedule costs, beside a unit for each op: of a flat algorithm, and of one composed over groups.
constexpr int build_flat = 8, build_composed = 120;
// Segments that make more steps of one rank's are not estimated: building them takes too long.
constexpr std::size_t max_steps = 1000;

bool own_data(const Blocks& blocks) { return blocks.count == 0 || blocks.buffer == Buffer::send; }

}  // namespace

Estimator::Estimator(const MachineCosts& machine, const Placement& placement, const std::string& reduction)
    : machine_(machine),
      placement_(placement),
      gamma_(machine.reduction(reduction)),
      level_of_(levels_of(machine, placement)),
      by_rank_(placement.p) {
  for (std::size_t l = 0; l < placement.levels.size(); ++l) {
    const auto& unit = placement.levels[l].unit;
    sizes_.emplace_back(*std::ranges::max_element(unit) + 1);
    for (const std::int32_t u : unit) ++sizes_.back()[u];
    if (machine.levels[level_of_[l]].memory) widest_memory_ = l;
  }
}

double Estimator::operator()(const Choice& choice, Problem problem, double part_bytes, int& work) {
  OMNES_ASSERT(problem.p == placement_.p && choice.algorithm != nullptr);
  choice_ = &choice;
  problem_ = std::move(problem);
  problem_.radix = choice.radix;
  problem_.composition = choice.levels;
  problem_.segments = 1;
  work_ = work;
  // What the algorithm cuts a part into by itself tells how many segments there are; as in Team::plan_of.
  const int p = placement_.p, root = problem_.root;
  Rank* whole = choice.segment > 0 ? &begin_at(root) : nullptr;
  const int pieces = whole && !choice.algorithm->hierarchical ? whole->schedule.pieces : std::max(choice.radix, 1);
  problem_.segments = segments_for(choice, p, static_cast<std::size_t>(part_bytes) / static_cast<std::size_t>(pieces));
  if (whole && whole->schedule.ops.size() * static_cast<std::size_t>(problem_.segments) > max_steps) {
    work = work_;
    return never;
  }
  Rank& first = begin_at(root);
  block_bytes_ = part_bytes / first.schedule.pieces;

  // From the last rank to the first: where trees are deep, that is among the last.
  run(first, nullptr, false);
  for (int i = 1; i < p && work_ > 0; ++i)
    if (Rank* rank = look_at((root + p - i) % p)) run(*rank, nullptr, false);
  for (std::size_t i = 0; i < seen_.size(); ++i) run(*seen_[i], nullptr, false);
  double end = 0;
  for (const auto& rank : seen_) end = std::max({end, rank->time, rank->ready, rank->ended});
  work = work_;
  return machine_.call + std::max(end, busiest());
}

Estimator::Rank& Estimator::begin_at(int root) {
  for (const auto& rank : seen_) by_rank_[rank->number] = nullptr;
  seen_.clear();
  work_ = std::max(work_, 1);
  return *look_at(root);
}

// Null where too much has been looked at.
Estimator::Rank* Estimator::look_at(int number) {
  if (by_rank_[number] || work_ <= 0) return by_rank_[number];
  problem_.rank = number;
  auto rank = std::make_unique<Rank>();
  rank->number = number;
  rank->schedule = build(*choice_->algorithm, problem_, Detail::ops);
  work_ -= (choice_->algorithm->hierarchical ? build_composed : build_flat) +
           static_cast<int>(rank->schedule.ops.size() + rank->schedule.peers.size());
  rank->left.assign(placement_.levels.size(), 0);
  seen_.push_back(std::move(rank));
  return by_rank_[number] = seen_.back().get();
}

const LevelCosts& Estimator::level_between(int a, int b, std::uint8_t* number) const {
  const std::uint8_t level = level_of_[placement_.level_between(a, b)];
  if (number) *number = level;
  return machine_.levels[level];
}

// To its end, or until it has posted a message that `until` has not taken yet.
void Estimator::run(Rank& self, const Rank* until, bool published) {
  if (self.running) return;
  self.running = true;
  while (self.next < self.schedule.ops.size()) {
    const Op& op = self.schedule.ops[self.next++];
    switch (op.kind) {
      case OpKind::send: send(self, op); break;
      case OpKind::recv:
      case OpKind::recv_reduce: receive(self, op); break;
      case OpKind::copy:
      case OpKind::reduce: {
        if (!own_data(op.a) || !own_data(op.b)) self.time = std::max(self.time, self.ready);
        const double bytes = op.dst.count * block_bytes_;
        const Curve& curve = op.kind == OpKind::copy ? machine_.copy : gamma_;
        self.time += machine_.step + (op.dst.count > 0 ? curve(bytes) : 0);
      }
    }
    if (!until || op.kind != OpKind::send) continue;
    if (op.published ? published : !published && std::ranges::count(self.schedule.peers_of(op), until->number) > 0)
      break;
  }
  self.running = false;
}

void Estimator::send(Rank& self, const Op& op) {
  if (!own_data(op.a)) self.time = std::max(self.time, self.ready);
  self.time += machine_.step;
  const double bytes = op.a.count * block_bytes_;
  const auto peers = op.published ? std::span<const std::int32_t>() : self.schedule.peers_of(op);
  const int near_readers =
      widest_memory_ ? sizes_[*widest_memory_][placement_.levels[*widest_memory_].unit[self.number]] - 1 : 0;
  const LevelCosts* near = nullptr;
  int readers = 0;
  if (op.published && near_readers > 0) {
    near = &machine_.levels[level_of_[*widest_memory_]];
    readers = 1;
  }
  for (const std::int32_t peer : peers)
    if (const LevelCosts& level = level_between(self.number, peer); level.memory) {
      near = &level;
      ++readers;
    }
  Post post;
  if (near) {
    self.time += readers * near->send;
    post.single = bytes >= near->single_from;
    const double copied = post.single ? 0 : near->copy_in(bytes);
    post.first = self.time + copied * near->first_share(bytes) + near->latency;
    self.time += copied;
    post.last = self.time + near->latency;
  }
  if (op.published) {
    const int far = placement_.p - 1 - near_readers;
    if (far > 0) {
      const LevelCosts& level = machine_.levels.back();
      if (!near) post.first = self.time;
      post.sent = std::max(self.time + level.send, self.port_out);  // of the first; what was sent before is on its way
      note_leaving(self, static_cast<std::uint8_t>(machine_.levels.size() - 1), bytes, far);
      const double gap = std::max(level.send, level.wire(bytes));
      self.port_out = post.sent + far * gap;
      self.ended = std::max(self.ended, self.port_out - gap + level.held(bytes));
      self.time += far * level.send;
    }
    self.published.push_back(post);
    return;
  }
  for (const std::int32_t peer : peers) {
    std::uint8_t number = 0;
    const LevelCosts& level = level_between(self.number, peer, &number);
    post.to = peer;
    if (level.memory) {
      self.posts.push_back(post);
      continue;
    }
    self.time += level.send;
    self.sent = self.time;
    Post message{
        .to = peer, .single = bytes >= level.synchronous_from, .first = self.time + level.latency, .sent = self.time};
    // One that waits for its reader is on its way at the earliest when that could be asked and could answer.
    const double begin = std::max(self.time + (message.single ? 2 * level.latency : 0), self.port_out);
    const double wire = level.wire(bytes) * (self.port_in > begin ? level.exchange : 1);
    self.port_out = begin + wire;
    message.last = begin;
    if (!message.single) {
      message.first = message.last = begin + level.latency + wire;
      self.ended = std::max(self.ended, begin + level.held(bytes));
    }
    note_leaving(self, number, bytes, 1);
    self.posts.push_back(message);
  }
}

// A message that has been posted and that this reader has not taken.
Estimator::Post* Estimator::find(Rank& sender, Rank& reader, bool published) {
  if (published) {
    if (reader.taken_of.empty()) reader.taken_of.assign(placement_.p, 0);
    std::uint16_t& taken = reader.taken_of[sender.number];
    return taken < sender.published.size() ? &sender.published[taken++] : nullptr;
  }
  auto& posts = sender.posts;
  while (sender.first_left < posts.size() && posts[sender.first_left].taken) ++sender.first_left;
  for (std::size_t i = sender.first_left; i < posts.size(); ++i)
    if (posts[i].to == reader.number && !posts[i].taken) {
      posts[i].taken = true;
      return &posts[i];
    }
  return nullptr;
}

// As if the sender, which nobody has looked at, did what its receiver does: it has sent this when the receiver sent as many
// messages as this is the one that it receives, or, where it sends fewer, only now.
Estimator::Post Estimator::guessed(const Rank& self, const Op& op, const LevelCosts& level, double bytes) const {
  if (op.published && level.memory && self.received_published <= self.published.size())
    return self.published[self.received_published - 1];
  if (!op.published && self.received <= self.posts.size()) {
    const Post& post = self.posts[self.received - 1];
    if (level_between(self.number, post.to).memory == level.memory) return post;
  }
  const double time = self.time + machine_.step + level.send;
  Post post;
  if (level.memory) {
    post.single = bytes >= level.single_from;
    const double copied = post.single ? 0 : level.copy_in(bytes);
    post.first = time + copied * level.first_share(bytes) + level.latency;
    post.last = time + copied + level.latency;
  } else {
    post.single = !op.published && bytes >= level.synchronous_from;
    const double wire = level.wire(bytes) * (self.port_out > time ? level.exchange : 1);
    post.first = time + level.latency + (post.single ? 0 : wire);
    post.sent = time;
  }
  return post;
}

void Estimator::receive(Rank& self, const Op& op) {
  const LevelCosts& level = level_between(self.number, op.peer);
  const double bytes = op.dst.count * block_bytes_;
  const bool reducing = op.kind == OpKind::recv_reduce;
  const double combining = reducing && op.dst.count > 0 ? gamma_(bytes) : 0;
  ++(op.published ? self.received_published : self.received);
  Rank* const sender = look_at(op.peer);
  Post* known = sender ? find(*sender, self, op.published) : nullptr;
  if (sender && !known) {
    run(*sender, &self, op.published);
    known = find(*sender, self, op.published);
  }
  Post post = known ? *known : guessed(self, op, level, bytes);
  if (known && op.published && !level.memory) {  // one message for each rank beyond the node, in order
    const int place = (self.number - op.peer + placement_.p) % placement_.p - 1;
    post.first = post.sent + place * std::max(level.send, level.wire(bytes)) + level.latency + level.wire(bytes);
    post.sent = -never;
    post.single = false;
  }
  if (reducing && !own_data(op.a)) self.time = std::max(self.time, self.ready);
  double begin = std::max(self.time, post.first) + machine_.step + level.recv;
  if (!level.memory) {
    if (level.crossed(self.sent, post.sent)) begin += level.exchange_latency;
    double arrived = begin;
    if (post.single) {  // the sender waits for this
      const double start = std::max(begin + level.latency, post.last);
      arrived = std::max(start + level.latency, self.port_in) + level.wire(bytes);
      if (known) sender->ended = std::max(sender->ended, level.sender_free(start, arrived, bytes));
    } else {
      arrived = std::max(begin, self.port_in + level.wire(bytes));
    }
    self.port_in = arrived;
    self.time = reducing ? arrived + combining : begin;
    self.ready = std::max(self.ready, std::max(arrived, self.time));
  } else if (!post.single) {
    const double work = std::max(level.copy(bytes), combining);
    self.time = std::max(begin + work, post.last + level.recv + work * level.first_share(bytes));
  } else {
    const bool shared = !reducing && (!known || sender->time <= begin);
    const Curve& single = op.published ? level.single_publish : level.single;
    self.time = begin + (reducing ? level.single_reduce(bytes) + combining : single(shared ? bytes / 2 : bytes));
    if (known) {
      if (shared) sender->time = std::max(sender->time, self.time);
      sender->ended = std::max(sender->ended, self.time + level.latency);
    }
  }
}

void Estimator::note_leaving(Rank& self, std::uint8_t level, double bytes, int messages) {
  for (std::size_t l = 0; l < self.left.size(); ++l)
    if (level_of_[l] < level) self.left[l] += bytes * messages;
}

// What the busiest unit of a level needs for all that leaves it; ranks that nobody has looked at do as the idlest seen.
double Estimator::busiest() const {
  double most = 0;
  for (std::size_t l = 0; l < placement_.levels.size(); ++l) {
    const double out = machine_.levels[level_of_[l]].out;
    if (out == 0) continue;
    double least = seen_.front()->left[l];
    for (const auto& rank : seen_) least = std::min(least, rank->left[l]);
    std::vector<double> beyond(sizes_[l].size());
    for (const auto& rank : seen_) beyond[placement_.levels[l].unit[rank->number]] += rank->left[l] - least;
    for (std::size_t unit = 0; unit < beyond.size(); ++unit)
      most = std::max(most, out * (beyond[unit] + least * sizes_[l][unit]));
  }
  return most;
}

}  // namespace omnes::model
