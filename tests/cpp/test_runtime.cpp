// Runs every algorithm of the catalogue with real data: threads as ranks, over shared memory, over messages, and over both at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/samples.hpp"
#include "runtime/team.hpp"
#include "transport/shm/heap/adoption.hpp"

using namespace omnes;

namespace {

// Messages between threads of this process: what the host MPI's point-to-point is to real ranks. Synchronous, so that a schedule that relies on
// buffering would hang.
class Mailbox {
 public:
  struct Message {
    const void* data;
    std::size_t bytes;
    bool taken = false;
  };
  std::shared_ptr<Message> post(int from, int to, ChannelKind channel, const void* data, std::size_t bytes) {
    auto message = std::make_shared<Message>(Message{data, bytes});
    const std::lock_guard lock(mutex_);
    boxes_[{from, to, channel}].push_back(message);
    return message;
  }
  // The k-th receive of a channel takes its k-th message.
  std::size_t ticket(int from, int to, ChannelKind channel) {
    const std::lock_guard lock(mutex_);
    return tickets_[{from, to, channel}]++;
  }
  bool take(int from, int to, ChannelKind channel, std::size_t ticket, void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[{from, to, channel}];
    if (ticket >= box.size()) return false;
    EXPECT_EQ(box[ticket]->bytes, bytes);
    if (bytes > 0) std::memcpy(data, box[ticket]->data, bytes);
    box[ticket]->taken = true;
    return true;
  }
  bool taken(const Message& message) {
    const std::lock_guard lock(mutex_);
    return message.taken;
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<int, int, ChannelKind>, std::deque<std::shared_ptr<Message>>> boxes_;
  std::map<std::tuple<int, int, ChannelKind>, std::size_t> tickets_;
};

// What it waits for is completed there and nowhere else, if `waits`, as in a simulation.
class ThreadPort {
 public:
  ThreadPort(Mailbox& mailbox, int rank, bool waits) : mailbox_(mailbox), rank_(rank), waits_(waits) {}

  MessagePort port() {
    MessagePort port;
    port.context = this;
    port.isend = [](void* self, int to, ChannelKind channel, const void* data, std::size_t bytes,
                    PortRequest* request) {
      return static_cast<ThreadPort*>(self)->isend(to, channel, data, bytes, request);
    };
    port.irecv = [](void* self, int from, ChannelKind channel, void* data, std::size_t bytes, PortRequest* request) {
      return static_cast<ThreadPort*>(self)->irecv(from, channel, data, bytes, request);
    };
    port.test = [](void* self, std::span<PortRequest* const> requests) {
      auto& port = *static_cast<ThreadPort*>(self);
      for (PortRequest* request : requests) {
        const Pending& pending = port.pending_[request->handle];
        request->through = port.waits_ ? pending.done : port.try_once(pending);
      }
      return 0;
    };
    if (!waits_) return port;
    port.wait = [](void* self, std::span<PortRequest* const> requests, bool for_all) {
      return static_cast<ThreadPort*>(self)->wait(requests, for_all);
    };
    return port;
  }
  void before_receiving(std::function<void()> call) { before_receiving_ = std::move(call); }
  void before_sending(std::function<void()> call) { before_sending_ = std::move(call); }

 private:
  struct Pending {
    std::shared_ptr<Mailbox::Message> sent;
    int from = 0;
    ChannelKind channel = ChannelKind::pair;
    std::size_t ticket = 0;
    void* data = nullptr;
    std::size_t bytes = 0;
    bool done = false;
  };
  int isend(int to, ChannelKind channel, const void* data, std::size_t bytes, PortRequest* request) {
    before_sending_();
    pending_.push_back({mailbox_.post(rank_, to, channel, data, bytes), 0, channel, 0, nullptr, 0});
    request->handle = pending_.size() - 1;
    return 0;
  }
  int irecv(int from, ChannelKind channel, void* data, std::size_t bytes, PortRequest* request) {
    before_receiving_();
    pending_.push_back({nullptr, from, channel, mailbox_.ticket(from, rank_, channel), data, bytes});
    request->handle = pending_.size() - 1;
    return 0;
  }
  bool try_once(const Pending& pending) {
    if (pending.sent) return mailbox_.taken(*pending.sent);
    return mailbox_.take(pending.from, rank_, pending.channel, pending.ticket, pending.data, pending.bytes);
  }
  int wait(std::span<PortRequest* const> requests, bool for_all) {
    EXPECT_FALSE(requests.empty());
    for (std::size_t through = 0; through < (for_all ? requests.size() : 1); std::this_thread::yield()) {
      for (const PortRequest* request : requests) {
        Pending& pending = pending_[request->handle];
        if (pending.done || !(pending.done = try_once(pending))) continue;
        if (++through == 1 && !for_all) break;
      }
    }
    return 0;
  }

  Mailbox& mailbox_;
  int rank_;
  bool waits_;
  std::deque<Pending> pending_;
  std::function<void()> before_receiving_ = [] {}, before_sending_ = [] {};
};

// Multiplication of 2 x 2 matrices modulo 2^64: associative, not commutative, and exact.
struct Matrix {
  std::uint64_t m[4];
  bool operator==(const Matrix&) const = default;
};
Matrix times(const Matrix& l, const Matrix& r) {
  return {{l.m[0] * r.m[0] + l.m[1] * r.m[2], l.m[0] * r.m[1] + l.m[1] * r.m[3], l.m[2] * r.m[0] + l.m[3] * r.m[2],
           l.m[2] * r.m[1] + l.m[3] * r.m[3]}};
}
void multiply(const void*, const void* left, const void* right, void* dst, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<Matrix*>(dst)[i] = times(static_cast<const Matrix*>(left)[i], static_cast<const Matrix*>(right)[i]);
}

void add(const void*, const void* left, const void* right, void* dst, std::size_t count) {
  kernel(ReduceOp::sum, Element::u64)(nullptr, left, right, dst, count);
}

const int some_context = 0;  // not null: as for a user's operation, operands are staged

// claimed: matrices, but declared commutative, as a program may do.
enum class Combines { kernel, function, matrices, claimed };

enum class Over { memory, messages, both };

struct Case {
  Operation operation;
  const Algorithm* algorithm;
  int p, root, radix;
  std::size_t count;
  bool in_place;
  Over over;
  Combines combines;
  bool scattered = false;  // buffers are
};

std::string describe(const Case& c) {
  return std::string(name(c.operation)) + "/" + c.algorithm->name + " p=" + std::to_string(c.p) +
         " root=" + std::to_string(c.root) + " k=" + std::to_string(c.radix) + " count=" + std::to_string(c.count) +
         (c.in_place ? " in place" : "") + " over=" + std::to_string(static_cast<int>(c.over)) +
         " combines=" + std::to_string(static_cast<int>(c.combines));
}

// Element i of what `rank` contributes to part `part`. Never zero, different everywhere.
std::uint64_t value(int rank, int part, std::size_t i, int round) {
  return 1 + static_cast<std::uint64_t>(round) * 1000003 + rank * 10007 + part * 101 + i * 3;
}

// Elements in the part that `from` has for `to`, where parts may be unequal: some are empty.
std::size_t uneven(std::size_t count, int from, int to) {
  return count * static_cast<std::size_t>((from * 2 + to) % 4) / 2;
}

// They repeat the calls with other values and sizes, so that cached plans and reused queues are tried too.
constexpr int rounds = 3;

// Words of which each lies behind one that is not theirs.
class Spread {
 public:
  explicit Spread(const std::vector<std::uint64_t>& words) : data_(2 * words.size(), gap) {
    for (std::size_t i = 0; i < words.size(); ++i) data_[2 * i + 1] = words[i];
  }
  Spread(const Spread&) = delete;
  Spread& operator=(const Spread&) = delete;

  const Scattered* scattered() const { return &scattered_; }
  std::vector<std::uint64_t> words() const {
    std::vector<std::uint64_t> words;
    for (std::size_t i = 0; i < data_.size(); i += 2) {
      EXPECT_EQ(data_[i], gap);
      words.push_back(data_[i + 1]);
    }
    return words;
  }

 private:
  static constexpr std::uint64_t gap = 0xABCDEF;

  std::byte* at(std::size_t byte) const {
    EXPECT_LT(byte / 8, data_.size() / 2);
    return reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(&data_[2 * (byte / 8) + 1])) + byte % 8;
  }
  static void pack(const void* self, std::size_t offset, std::byte* to, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = *static_cast<const Spread*>(self)->at(offset + i);
  }
  static void unpack(const void* self, std::size_t offset, const std::byte* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) *static_cast<const Spread*>(self)->at(offset + i) = from[i];
  }

  std::vector<std::uint64_t> data_;
  const Scattered scattered_{pack, unpack, this};
};

// One rank's calls of a case, checked.
class Rank {
 public:
  Rank(const Case& c, Team& team, int rank)
      : c_(c),
        team_(team),
        rank_(rank),
        words_(c.combines >= Combines::matrices ? 4 : 1),
        neighbors_(neighbors_of(rank)) {}

  void run(int round) {
    round_ = round;
    const Operation operation = c_.operation, kind = regular(operation);
    const bool at_root = rank_ == c_.root;
    const bool in_place = c_.in_place && has_in_place(operation) && (!rooted(operation) || at_root);
    Words send, recv, want;
    Counts send_counts, recv_counts;
    switch (kind) {
      case Operation::bcast:
        want = part(c_.root, 0, count());
        recv = at_root ? want : Words(want.size(), untouched);
        break;
      case Operation::reduce:
      case Operation::allreduce:
      case Operation::scan:
      case Operation::exscan: {
        send = part(rank_, 0, count());
        const int last = kind == Operation::scan ? rank_ + 1 : kind == Operation::exscan ? rank_ : c_.p;
        if (kind != Operation::reduce || at_root) want = last > 0 ? reduced(0, count(), last) : Words{};
        if (in_place && want.empty()) want = send;
        recv.assign(want.size(), untouched);
        if (in_place) recv = send;
        break;
      }
      case Operation::gather:
      case Operation::allgather:
        send = part(rank_, 0, size(rank_, 0));
        if (kind == Operation::gather && !at_root) break;
        for (int r = 0; r < c_.p; ++r) {
          recv_counts.push_back(size(r, 0));
          const Words theirs = part(r, 0, size(r, 0));
          if (r == rank_ && in_place) {
            recv.insert(recv.end(), send.begin(), send.end());
          } else {
            recv.resize(recv.size() + theirs.size(), untouched);
          }
          want.insert(want.end(), theirs.begin(), theirs.end());
        }
        break;
      case Operation::scatter:
        if (at_root) send = parts_for_all(send_counts);
        if (in_place) break;
        want = part(c_.root, rank_, size(c_.root, rank_));
        recv.assign(want.size(), untouched);
        break;
      case Operation::alltoall:
        send = parts_for_all(send_counts);
        for (int r = 0; r < c_.p; ++r) {
          recv_counts.push_back(size(r, rank_));
          const Words theirs = part(r, rank_, size(r, rank_));
          want.insert(want.end(), theirs.begin(), theirs.end());
        }
        recv.assign(want.size(), untouched);
        if (in_place) recv = send;
        break;
      case Operation::reduce_scatter_block: {
        for (int r = 0; r < c_.p; ++r) {
          send_counts.push_back(size(0, r));
          const Words theirs = part(rank_, r, size(0, r));
          send.insert(send.end(), theirs.begin(), theirs.end());
        }
        want = reduced(rank_, size(0, rank_), c_.p);
        recv.assign(want.size(), untouched);
        break;
      }
      case Operation::neighbor_allgather:
        send = part(rank_, 0, size(rank_, 0));
        for (const int source : neighbors_.sources) {
          recv_counts.push_back(size(source, 0));
          const Words theirs = part(source, 0, size(source, 0));
          want.insert(want.end(), theirs.begin(), theirs.end());
        }
        recv.assign(want.size(), untouched);
        break;
      case Operation::neighbor_alltoall:
        for (int i = 0; i < std::ssize(neighbors_.destinations); ++i) {
          send_counts.push_back(size(rank_, i));
          const Words theirs = part(rank_, i, size(rank_, i));
          send.insert(send.end(), theirs.begin(), theirs.end());
        }
        for (int i = 0; i < std::ssize(neighbors_.sources); ++i) {
          const int source = neighbors_.sources[i], port = neighbors_.ports[i];
          recv_counts.push_back(size(source, port));
          const Words theirs = part(source, port, size(source, port));
          want.insert(want.end(), theirs.begin(), theirs.end());
        }
        recv.assign(want.size(), untouched);
        break;
      default: break;
    }
    const Words send_before = send;

    Reduction reduction;
    Call call;
    call.operation = operation;
    call.root = c_.root;
    call.in_place = in_place;
    call.send = in_place && kind != Operation::scatter ? nullptr : send.data();
    call.recv = recv.data();
    call.count = count();
    call.element = sizeof(std::uint64_t) * words_;
    if (unequal(operation)) {
      call.count = own_count();
      call.send_counts = send_counts;
      call.recv_counts = recv_counts;
      if (in_place && kind == Operation::alltoall) call.send_counts = {};
    }
    call.neighbors = &neighbors_;
    if (reduces(operation)) {
      switch (c_.combines) {
        case Combines::kernel: reduction = {kernel(ReduceOp::sum, Element::u64), nullptr, true}; break;
        case Combines::function: reduction = {add, &some_context, true}; break;
        case Combines::matrices: reduction = {multiply, &some_context, false}; break;
        case Combines::claimed: reduction = {multiply, &some_context, true}; break;
      }
      call.reduction = &reduction;
    }
    const Spread spread_send(send), spread_recv(recv);
    if (c_.scattered && !team_.prepare(call, Form::blocking)->needs_all_counts) {
      // One after the other, and both.
      if (round != 0 && call.send != nullptr) {
        call.scattered.send = spread_send.scattered();
        call.send = nullptr;
      }
      if (round != 1) {
        call.scattered.recv = spread_recv.scattered();
        call.recv = nullptr;
      }
    }
    ASSERT_EQ(team_.run(call), 0) << describe(c_);
    if (call.scattered.send) {
      ASSERT_EQ(spread_send.words(), send) << describe(c_);
    }
    if (call.scattered.recv) recv = spread_recv.words();
    if (c_.combines != Combines::claimed || c_.algorithm->ordered) {
      ASSERT_EQ(recv, want) << describe(c_) << " rank " << rank_ << " round " << round;
    }
    received_ = recv;
    ASSERT_EQ(send, send_before) << describe(c_) << " rank " << rank_;
  }

  using Words = std::vector<std::uint64_t>;
  /// In the last round.
  const Words& received() const { return received_; }

 private:
  using Counts = std::vector<std::size_t>;
  static constexpr std::uint64_t untouched = 0xDEADBEEF;

  Neighbors neighbors_of(int rank) const {
    return among_neighbors(c_.operation) ? sample_neighbors(Topology::irregular, c_.p, rank) : Neighbors{};
  }

  // The second round has other sizes, and so perhaps as many pieces, perhaps not.
  std::size_t count() const { return round_ == 1 ? c_.count / 2 + 2 : c_.count; }

  // Elements of part `to` of what `from` contributes.
  std::size_t size(int from, int to) const {
    if (!unequal(c_.operation)) return count();
    if (regular(c_.operation) != Operation::alltoall) return uneven(count(), from, to);
    // In place, two ranks send each other the same amount.
    if (c_.in_place && from > to) std::swap(from, to);
    // At last other ranks change what they send each other, of which rank 0 hears nothing.
    const bool changed = round_ == rounds - 1 && from > 0 && to > 0;
    return uneven(count(), from + changed, to);
  }
  std::size_t own_count() const {
    if (regular(c_.operation) == Operation::scatter) return size(c_.root, rank_);
    if (regular(c_.operation) == Operation::reduce_scatter_block) return size(0, rank_);
    return size(rank_, 0);
  }
  Words part(int from, int to, std::size_t count) const {
    Words words(count * words_);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = value(from, to, i, round_);
    return words;
  }
  Words parts_for_all(Counts& counts) const {
    Words all;
    for (int r = 0; r < c_.p; ++r) {
      counts.push_back(size(rank_, r));
      const Words one = part(rank_, r, size(rank_, r));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
  // What the first `ranks` ranks contribute to a part, combined.
  Words reduced(int to, std::size_t count, int ranks) const {
    Words result = part(0, to, count);
    for (int r = 1; r < ranks; ++r) {
      const Words next = part(r, to, count);
      if (c_.combines >= Combines::matrices) {
        multiply(nullptr, result.data(), next.data(), result.data(), count);
      } else {
        for (std::size_t i = 0; i < result.size(); ++i) result[i] += next[i];
      }
    }
    return result;
  }

  const Case& c_;
  Team& team_;
  int rank_;
  int round_ = 0;
  Words received_;
  std::size_t words_;
  Neighbors neighbors_;
};

class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {};

}  // namespace

namespace {

constexpr std::size_t many = 1500;  // elements: several segments

// Of a rank that is a thread. `node`: by rank.
TeamSetup setup_of(int rank, const std::vector<int>& node, const Selector& selector, bool shares_memory) {
  TeamSetup setup;
  setup.p = static_cast<int>(node.size());
  setup.rank = rank;
  setup.node = node;
  setup.selector = &selector;
  setup.waiting.oversubscribed = true;
  setup.shares_memory = shares_memory;
  return setup;
}

// The ranks of a case, as threads.
void run_case(const Case& c, const Selector& selector, std::optional<Placement> placement = {},
              bool single_copies = false) {
  const int nodes = c.over == Over::both ? 2 : 1;
  Mailbox mailbox;
  std::vector<int> node(c.p);
  for (int r = 0; r < c.p; ++r) node[r] = c.over == Over::messages ? r : r % nodes;
  if (c.algorithm->hierarchical) {  // nodes of consecutive ranks, and pairs of these
    placement = {c.p, {{"numa", {}}, {"node", {}}}};
    for (int r = 0; r < c.p; ++r) {
      if (c.over == Over::both) node[r] = r * nodes / c.p;
      placement->levels[0].unit.push_back(r / 2 + (c.over == Over::both ? c.p * node[r] : 0));
      placement->levels[1].unit.push_back(c.over == Over::both ? node[r] : r / 4);
    }
  }

  std::vector<std::shared_ptr<shm::Segment>> segments;
  for (int n = 0; n < nodes && c.over != Over::messages; ++n) {
    shm::Geometry geometry;
    geometry.p = static_cast<int>(std::count(node.begin(), node.end(), n));
    std::string error;
    segments.push_back(geometry.p > 0 ? shm::Segment::in_process(geometry, error) : nullptr);
    ASSERT_TRUE(geometry.p == 0 || segments.back()) << error;
  }
  std::vector<std::unique_ptr<shm::Endpoint>> endpoints(c.p);  // all there before the first is used
  for (int r = 0; r < c.p && c.over != Over::messages; ++r) {
    const auto local = static_cast<int>(std::count(node.begin(), node.begin() + r, node[r]));
    endpoints[r] = std::make_unique<shm::Endpoint>(segments[node[r]], local);
  }
  for (const auto& endpoint : endpoints)
    if (single_copies && endpoint) endpoint->probe_single_copy();
  std::vector<Rank::Words> received(c.p);
  std::vector<std::thread> threads;
  for (int r = 0; r < c.p; ++r) {
    threads.emplace_back([&, r] {
      ThreadPort port(mailbox, r, c.over == Over::messages && c.count == many);
      TeamSetup setup = setup_of(r, node, selector, endpoints[r] != nullptr);
      setup.placement = placement;
      Team team(std::move(setup));
      team.lane().open(std::move(endpoints[r]), port.port());
      Rank rank(c, team, r);
      for (int round = 0; round < rounds && !testing::Test::HasFatalFailure(); ++round) rank.run(round);
      received[r] = rank.received();
    });
  }
  for (auto& thread : threads) thread.join();
  if (c.operation == Operation::allreduce) {
    EXPECT_EQ(std::ranges::count(received, received[0]), c.p) << describe(c);
  }
}

// Bad accesses show with few ranks, and under a sanitizer every thread costs several.
#ifdef __SANITIZE_ADDRESS__
constexpr int sizes[] = {2, 5};
#else
constexpr int sizes[] = {1, 2, 5, 8};
#endif

std::vector<int> some_roots(const Algorithm& algorithm, int p) {
  if (!rooted(algorithm.operation) || p == 1) return {0};
  return p == 2 ? std::vector{0, 1} : std::vector{0, p / 2, p - 1};
}

TEST_P(EveryAlgorithm, MovesAndCombinesRealData) {
  const Algorithm& algorithm = *GetParam();
  const std::string variable = "OMNES_" + [&] {
    std::string upper(name(algorithm.operation));
    for (char& letter : upper) letter = static_cast<char>(std::toupper(letter));  // leaves _ alone
    return upper;
  }();
  for (const int p : sizes) {
    for (const int radix : algorithm.default_radix > 0 ? std::vector{0, 3} : std::vector{0}) {
      Problem problem;
      problem.operation = algorithm.operation;
      problem.p = p;
      problem.radix = radix;
      if (!why_not(algorithm, problem, true).empty()) continue;
      std::string choice = algorithm.name;
      if (radix > 0) choice += ":k=" + std::to_string(radix);
      if (algorithm.segmented) choice += std::string(radix > 0 ? "," : ":") + "segment=1K";
      setenv(variable.c_str(), choice.c_str(), 1);
      const Selector selector = Selector::from_environment();
      unsetenv(variable.c_str());
      for (const std::size_t count : {std::size_t{1}, static_cast<std::size_t>(p + 1), many}) {
        for (const int root : some_roots(algorithm, p)) {
          for (const bool in_place : {false, true}) {
            if (in_place && !has_in_place(algorithm.operation)) continue;
            for (const Over over : {Over::memory, Over::messages, Over::both}) {
              for (const auto combines :
                   {Combines::kernel, Combines::function, Combines::matrices, Combines::claimed}) {
                if (combines != Combines::kernel && !reduces(algorithm.operation)) continue;
                if (combines == Combines::function && (over != Over::both || count != many)) continue;
                if (combines == Combines::matrices && !algorithm.ordered) continue;
                if (combines == Combines::claimed && (over != Over::memory || count == 1)) continue;
                Case c{algorithm.operation, &algorithm, p, root, radix, count, in_place, over, combines};
                run_case(c, selector);
                c.scattered = over == Over::memory && !reduces(algorithm.operation);
                if (c.scattered && p <= 5) run_case(c, selector);
                if (HasFatalFailure() || HasNonfatalFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

// Those that share a link come one after the other then.
TEST(Receives, AreFewAtOnceOnAChannel) {
  constexpr int segments = 16;
  struct Counting {
    int posted = 0, through = 0, most = 0;
  };
  for (const Operation operation : {Operation::bcast, Operation::reduce}) {
    const int rank = operation == Operation::bcast ? 1 : 0;  // from the other one comes all
    const Schedule schedule = build(*find_algorithm(operation, "chain"),
                                    {.operation = operation, .p = 2, .rank = rank, .segments = segments});
    Plan plan = bind(schedule, {{-1, -1}}, {});
    resize(plan, {.send = {.count = segments}, .recv = {.count = segments}});
    Counting counting;
    MessagePort port;
    port.context = &counting;
    port.irecv = [](void* self, int, ChannelKind, void*, std::size_t, PortRequest*) {
      auto& [posted, through, most] = *static_cast<Counting*>(self);
      most = std::max(most, ++posted - through);
      return 0;
    };
    port.test = [](void* self, std::span<PortRequest* const> requests) {
      requests.front()->through = true;
      ++static_cast<Counting*>(self)->through;
      return 0;
    };
    std::vector<std::byte> send(segments), recv(segments), temp(plan.arena_bytes);
    const Reduction reduction{[](const void*, const void*, const void*, void*, std::size_t) {}};
    Executor executor;
    executor.use(nullptr, port);
    executor.have_room(plan.steps.size());
    executor.begin(plan, {{send.data(), recv.data(), temp.data()}}, &reduction);
    while (executor.advance()) continue;
    EXPECT_TRUE(executor.finished()) << name(operation);
    EXPECT_EQ(counting.posted, segments) << name(operation);
    EXPECT_GT(counting.most, 1) << name(operation);
    EXPECT_LT(counting.most, segments / 2) << name(operation);
  }
}

// Programs whose ranks have something for few others say so with counts of 0.
TEST(UnequalParts, WithoutDataAreNotWaitedFor) {
  constexpr int p = 3, rank = 1;
  std::string error;
  const auto segment = shm::Segment::in_process({.p = p}, error);
  shm::Endpoint endpoint(segment, rank);
  Executor executor;
  executor.use(&endpoint, {});
  // Whether this rank is done before any other one has come.
  const auto ends_alone = [&](Operation operation, const std::vector<std::size_t>& sent,
                              const std::vector<std::size_t>& received) {
    const Schedule schedule =
        build(*find_algorithm(regular(operation), "linear"), {.operation = operation, .p = p, .rank = rank});
    Plan plan = bind(schedule, {{0, 1, 2}}, {});
    resize(plan, {.send = {.counts = sent}, .recv = {.counts = received}});
    std::vector<std::byte> send(8), recv(8), temp(plan.arena_bytes);
    executor.have_room(plan.steps.size());
    executor.begin(plan, {{send.data(), recv.data(), temp.data()}}, nullptr);
    return executor.finished();
  };
  const std::vector<std::size_t> none(p), of_own{0, 5, 0}, of_others{2, 0, 3};
  EXPECT_TRUE(ends_alone(Operation::alltoallv, none, none));
  EXPECT_TRUE(ends_alone(Operation::alltoallv, of_own, of_own));
  EXPECT_TRUE(ends_alone(Operation::alltoallv, of_others, of_own));
  EXPECT_TRUE(ends_alone(Operation::allgatherv, {5}, of_own));
  EXPECT_FALSE(ends_alone(Operation::allgatherv, {0}, of_others));
}

// Long messages that are copied once: others help a root that copies its own part meanwhile.
TEST(CopiesBeside, LongPartsInSharedMemory) {
  for (const Operation operation : {Operation::gather, Operation::gatherv, Operation::scatter, Operation::scatterv}) {
    const bool gathers = operation == Operation::gather || operation == Operation::gatherv;
    const Algorithm& linear = *find_algorithm(gathers ? Operation::gather : Operation::scatter, "linear");
    constexpr std::size_t elements = 20'000;  // 160 kB
    for (const int p : {2, 5})
      for (const bool in_place : {false, true})
        run_case({operation, &linear, p, p / 2, 0, elements, in_place, Over::memory, Combines::kernel}, Selector({}),
                 {}, true);
  }
}

// While the host's messages come into a buffer, its pages stay where they are: another thread may write them.
TEST(Adoption, IsOverBeforeMessagesOfOtherNodesCome) {
  constexpr int p = 3, home = 1;  // which gets from another node what it passes on in its own
  const std::vector<int> node{0, 1, 1};
  const char* const forced[] = {"OMNES_BCAST=chain:segment=64K", nullptr};
  const Selector selector{Settings::from(forced)};
  std::string error;
  const auto heap = shm::Heap::make(std::size_t{64} << 20, error);
  const auto adoption = shm::Adoption::make(*heap, [] { return true; });
  if (!adoption) GTEST_SKIP() << "this kernel does not say where memory is mapped (Linux 6.11 does)";
  Mailbox mailbox;
  const auto segment = shm::Segment::in_process({.p = 2}, error);
  std::vector<std::unique_ptr<shm::Endpoint>> endpoints(p);
  for (int r = home; r < p; ++r) endpoints[r] = std::make_unique<shm::Endpoint>(segment, r - home);
  endpoints[home]->set_direct_copy_from(100, heap.get());
  endpoints[home]->adopt_by(adoption.get());
  int moved_late = 0;
  std::vector<std::thread> threads;
  for (int r = 0; r < p; ++r) {
    threads.emplace_back([&, r] {
      ThreadPort port(mailbox, r, false);
      std::uint64_t before = 0;
      if (r == home) port.before_receiving([&] { before = adoption->tally().buffers; });
      Team team(setup_of(r, node, selector, endpoints[r] != nullptr));
      team.lane().open(std::move(endpoints[r]), port.port());
      constexpr std::size_t bytes = std::size_t{1} << 20;
      std::vector<char> buffer(bytes);
      Call call;
      call.operation = Operation::bcast;
      call.recv = buffer.data();
      call.count = bytes;
      call.element = 1;
      for (int round = 0; round < 500; ++round) {
        std::ranges::fill(buffer, static_cast<char>(r == 0 ? round : -1));
        EXPECT_EQ(team.run(call), 0);
        EXPECT_EQ(std::ranges::count(buffer, static_cast<char>(round)), bytes);
        if (r == home) moved_late += adoption->tally().buffers != before;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(adoption->tally().buffers, 0U);
  EXPECT_EQ(moved_late, 0);
}

/// Runs body(team, rank) in each rank of a node, as threads. How many buffers one of them has adopted; nothing: this kernel does
/// not say where memory is mapped.
template <class Body>
std::optional<std::uint64_t> buffers_adopted(int p, int home, Body body) {
  std::string error;
  const auto heap = shm::Heap::make(std::size_t{64} << 20, error);
  const auto adoption = shm::Adoption::make(*heap, [] { return true; });
  if (!adoption) return std::nullopt;
  const Selector selector({});
  const auto segment = shm::Segment::in_process({.p = p}, error);
  std::vector<std::unique_ptr<shm::Endpoint>> endpoints(p);
  for (int r = 0; r < p; ++r) endpoints[r] = std::make_unique<shm::Endpoint>(segment, r);
  endpoints[home]->set_direct_copy_from(100, heap.get());
  endpoints[home]->adopt_by(adoption.get());
  std::vector<std::thread> threads;
  for (int r = 0; r < p; ++r) {
    threads.emplace_back([&, r] {
      Team team(setup_of(r, std::vector<int>(p), selector, true));
      team.lane().open(std::move(endpoints[r]), {});
      body(team, r);
    });
  }
  for (auto& thread : threads) thread.join();
  return adoption->tally().buffers;
}

/// A call that adds bytes.
Call adding(Operation operation, const Reduction& sum, const std::vector<char>& send, std::vector<char>& recv) {
  Call call;
  call.operation = operation;
  call.send = send.data();
  call.recv = recv.data();
  call.count = recv.size();
  call.element = 1;
  call.reduction = &sum;
  return call;
}

// Of parts with displacements: where no gap is between them, this rank's own part among them.
TEST(Adoption, OfPartsThatLieInARow) {
  constexpr int p = 3, root = 1;
  constexpr std::size_t part = std::size_t{512} << 10;
  for (const std::size_t gap : {std::size_t{0}, std::size_t{4096}}) {
    const auto buffers = buffers_adopted(p, root, [&](Team& team, int r) {
      const std::vector<std::size_t> counts(p, part), starts{0, part + gap, 2 * (part + gap)};
      std::vector<char> all(p * (part + gap)), own(part);
      Call call;
      call.operation = Operation::scatterv;
      call.root = root;
      call.recv = own.data();
      call.count = part;
      call.element = 1;
      if (r == root) {
        call.send = all.data();
        call.send_counts = counts;
        call.send_starts = starts;
      }
      for (int round = 0; round < 500; ++round) {
        for (int i = 0; i < p; ++i) std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(starts[i]), part, round + i);
        EXPECT_EQ(team.run(call), 0);
        EXPECT_EQ(std::ranges::count(own, static_cast<char>(round + r)), part);
      }
    });
    if (!buffers) GTEST_SKIP() << "this kernel does not say where memory is mapped (Linux 6.11 does)";
    EXPECT_EQ(*buffers > 0, gap == 0);
  }
}

// Of two ranks, results that are sent on stay where they are: else both would take each other's lines back in each call.
TEST(Adoption, NotOfResultsThatTwoRanksExchange) {
  constexpr std::size_t elements = std::size_t{1} << 20;
  const Reduction sum{.fn = kernel(ReduceOp::sum, Element::i8)};
  const auto buffers = buffers_adopted(2, 0, [&](Team& team, int) {
    const std::vector<char> send(elements, 1);
    std::vector<char> recv(elements);
    const Call call = adding(Operation::allreduce, sum, send, recv);
    for (int round = 0; round < 500; ++round) {
      EXPECT_EQ(team.run(call), 0);
      EXPECT_EQ(std::ranges::count(recv, 2), elements);
    }
  });
  if (!buffers) GTEST_SKIP() << "this kernel does not say where memory is mapped (Linux 6.11 does)";
  EXPECT_EQ(*buffers, 1U);  // what is sent
}

// What a step releases goes before later copies: else the reader of a segment would wait for all of them.
TEST(Order, ReleasedMessagesGoBeforeLaterCopies) {
  constexpr int p = 2;
  constexpr std::size_t bytes = 8192;
  const std::vector<int> node{0, 1};
  const char* const forced[] = {"OMNES_SCAN=linear:segment=1K", nullptr};
  const Selector selector{Settings::from(forced)};
  Mailbox mailbox;
  int sent = 0, late = 0;
  std::vector<std::thread> threads;
  for (int r = 0; r < p; ++r) {
    threads.emplace_back([&, r] {
      ThreadPort port(mailbox, r, false);
      Team team(setup_of(r, node, selector, false));
      team.lane().open(nullptr, port.port());
      const std::vector<char> send(bytes, 1);
      std::vector<char> recv(bytes);
      if (r == 0) {
        port.before_sending([&] {
          ++sent;
          late += recv.back() != 0;
        });
      }
      const Reduction sum{.fn = kernel(ReduceOp::sum, Element::i8)};
      EXPECT_EQ(team.run(adding(Operation::scan, sum, send, recv)), 0);
      EXPECT_EQ(std::ranges::count(recv, static_cast<char>(r + 1)), bytes);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sent, 8);
  EXPECT_EQ(late, 0);
}

// On nodes that ranks were dealt to in turns, and on some of unequal sizes; what is renumbered is known from the team.
TEST_P(EveryAlgorithm, MovesAndCombinesTheSameRenumbered) {
  const Algorithm& algorithm = *GetParam();
  constexpr int p = 8, root = 3;
  if (algorithm.hierarchical || !why_not(algorithm, {.operation = algorithm.operation, .p = p}, true).empty()) return;
  const Placement placements[] = {{p, {{"node", {0, 1, 2, 3, 0, 1, 2, 3}}}},
                                  {p, {{"numa", {0, 1, 0, 2, 3, 2, 0, 4}}, {"node", {0, 0, 0, 1, 1, 1, 0, 1}}}}};
  for (const Remap remap : {Remap::exchange, Remap::reorder}) {
    Settings settings;
    settings.remap = remap;
    settings.forced[static_cast<int>(algorithm.operation)] = Choice{&algorithm, 0, algorithm.segmented ? 1024u : 0u};
    const Selector selector(settings);
    const bool reorder =
        remap == Remap::reorder;  // in place, and of few elements; the exchange keeps the order of ranks
    const bool in_place = reorder && has_in_place(algorithm.operation);
    for (const auto combines : {Combines::kernel, Combines::matrices}) {
      const bool matrices = combines == Combines::matrices;
      if (matrices && (reorder || !reduces(algorithm.operation) || !algorithm.ordered)) continue;
      run_case({algorithm.operation, &algorithm, p, rooted(algorithm.operation) ? root : 0, 0,
                reorder ? p + 1 : many / 4, in_place, Over::both, combines},
               selector, placements[reorder]);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm, testing::ValuesIn(catalogue()), [](const auto& info) {
  return std::string(name(info.param->operation)) + "_" + info.param->name;
});

}  // namespace
