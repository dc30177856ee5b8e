// What is explored, of the transport through shared memory: hand-overs of lines, slots and buffers, sets of readers, and sleep.
//   interleavings [--runs N] [--random N] [--seed N] [SCENARIO...]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "explorer.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/waiting.hpp"

namespace {

using namespace omnes::shm;
using explorer::Run;
using explorer::Scenario;

constexpr std::size_t slot_bytes = 64;

/// What ranks share in one run: their queues, and buffers of the program.
struct Stage {
  std::shared_ptr<Segment> segment;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::vector<std::uint8_t>> buffers;

  explicit Stage(int p, int slots = 1, bool come = true, std::size_t bytes = slot_bytes) {
    std::string error;
    segment = Segment::in_process({p, slots, bytes}, error);
    explorer::check(segment != nullptr, error.c_str());
    explorer::share(segment->base(), segment->bytes());
    endpoints.resize(static_cast<std::size_t>(p));
    buffers.reserve(16);
    for (int rank = 0; come && rank < p; ++rank) enter(rank);
  }
  Endpoint& enter(int rank) {
    auto& endpoint = endpoints[static_cast<std::size_t>(rank)];
    endpoint = std::make_unique<Endpoint>(segment, rank);
    return *endpoint;
  }
  /// But for ranks 1 to `refused`, to which the system refuses what lies in rank 0.
  void read_each_other(std::size_t from, int refused = 0) {
    std::vector<Access> access(endpoints.size());
    for (Access& peer : access) peer.pid = 1;
    for (auto& endpoint : endpoints) {
      access[0].pid = endpoint->rank() <= refused ? explorer::unreadable : 1;
      endpoint->know_access(access);
      endpoint->set_single_copy_from(from);
    }
  }
  /// Of the program: reading and writing it is looked at, too.
  std::uint8_t* buffer(std::size_t bytes) {
    auto& made = buffers.emplace_back(bytes);
    explorer::share(made.data(), bytes);
    return made.data();
  }
};

std::uint8_t expected(int message, std::size_t i) { return static_cast<std::uint8_t>(message * 37 + i + 1); }
void fill(std::uint8_t* data, std::size_t bytes, int message) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = expected(message, i);
}
void look(const std::uint8_t* data, std::size_t bytes, int message) {
  bool same = true;
  for (std::size_t i = 0; i < bytes; ++i) same = same && data[i] == expected(message, i);
  explorer::check(same, "a message is not what was sent");
}

void send(Endpoint& from, std::vector<std::int32_t> to, std::uint8_t* data, std::size_t bytes, int message,
          bool by_source = false) {
  fill(data, bytes, message);
  Transfer transfer;
  if (by_source) {
    const auto write = [](void* all, std::size_t offset, std::byte* into, std::size_t some) {
      copy_bytes(into, static_cast<std::byte*>(all) + offset, some);
    };
    while (!from.send(to, Source{write, data}, bytes, transfer)) explorer::pause();
    return;
  }
  while (!(to.empty() ? from.publish(data, bytes, transfer) : from.send(to, data, bytes, transfer))) explorer::pause();
}
void receive(Endpoint& at, int from, bool published, std::uint8_t* data, std::size_t bytes, int message) {
  Transfer transfer;
  while (!(published ? at.recv_published(from, data, bytes, transfer) : at.recv(from, data, bytes, transfer)))
    explorer::pause();
  explorer::check(!at.mismatch(), "a message has not the length that was sent");
  look(data, bytes, message);
}

/// Messages from rank 0 to all others, one after the other out of one buffer into one.
Run messages(const std::shared_ptr<Stage>& stage, bool published, std::size_t bytes, int count,
             bool by_source = false) {
  Run run;
  const int p = static_cast<int>(stage->endpoints.size());
  std::vector<std::int32_t> readers;
  for (int reader = 1; reader < p && !published; ++reader) readers.push_back(reader);
  run.push_back([=, data = stage->buffer(bytes)] {
    for (int m = 0; m < count; ++m) send(*stage->endpoints[0], readers, data, bytes, m, by_source);
  });
  for (int reader = 1; reader < p; ++reader)
    run.push_back([=, data = stage->buffer(bytes)] {
      for (int m = 0; m < count; ++m)
        receive(*stage->endpoints[static_cast<std::size_t>(reader)], 0, published, data, bytes, m);
    });
  return run;
}

Run messages(int p, bool published, std::size_t bytes, int count, std::size_t single_copy_from = SIZE_MAX,
             bool by_source = false) {
  auto stage = std::make_shared<Stage>(p);
  stage->read_each_other(single_copy_from);
  return messages(stage, published, bytes, count, by_source);
}

/// The same where the system refuses single copies to readers 1 to `to`.
Run refused(int p, bool published, std::size_t bytes, int count, int to, std::size_t slot = slot_bytes) {
  auto stage = std::make_shared<Stage>(p, 1, true, slot);
  stage->read_each_other(bytes, to);
  return messages(stage, published, bytes, count);
}

/// A reader to whom the system refuses a single copy gets it, though another one, which waits for it, holds the only slot.
Run refused_without_slots() {
  constexpr std::size_t bytes = 256;  // fills the slot
  auto stage = std::make_shared<Stage>(3, 1, true, bytes);
  stage->read_each_other(bytes + 1, 1);
  Run run;
  for (int rank = 0; rank < 3; ++rank)
    run.push_back([=, data = stage->buffer(bytes + 16)] {
      Endpoint& self = *stage->endpoints[static_cast<std::size_t>(rank)];
      if (rank == 0) {
        send(self, {2}, data, bytes, 0);
        send(self, {1}, data, bytes + 16, 1);
      } else if (rank == 1) {
        receive(self, 0, false, data, bytes + 16, 1);
        send(self, {2}, data, 8, 2);
      } else {
        receive(self, 1, false, data, 8, 2);
        receive(self, 0, false, data, bytes, 0);
      }
    });
  return run;
}

/// Both send, then receive.
Run exchange(std::size_t bytes, int count, std::size_t single_copy_from = SIZE_MAX) {
  auto stage = std::make_shared<Stage>(2);
  stage->read_each_other(single_copy_from);
  Run run;
  for (int rank = 0; rank < 2; ++rank)
    run.push_back([=, out = stage->buffer(bytes), in = stage->buffer(bytes)] {
      Endpoint& self = *stage->endpoints[static_cast<std::size_t>(rank)];
      const std::vector<std::int32_t> peer{1 - rank};
      for (int m = 0; m < count; ++m) {
        fill(out, bytes, m);
        Transfer sending, receiving;
        bool sent = false, received = false;
        for (;;) {
          sent = sent || self.send(peer, out, bytes, sending);
          received = received || self.recv(1 - rank, in, bytes, receiving);
          if (sent && received) break;
          explorer::pause();
        }
        look(in, bytes, m);
      }
    });
  return run;
}

/// A rank comes when the other one has sent already.
Run first_use() {
  auto stage = std::make_shared<Stage>(2, 1, false);
  Run run;
  for (int rank = 0; rank < 2; ++rank)
    run.push_back([=, data = stage->buffer(100)] {
      Endpoint& self = stage->enter(rank);
      if (rank == 0) {
        send(self, {1}, data, 8, 0);
        receive(self, 1, false, data, 8, 1);
      } else {
        receive(self, 0, false, data, 8, 0);
        send(self, {0}, data, 8, 1);
      }
    });
  return run;
}

/// A segment's second users go on where its first ones stopped, once all of these have let it go. What these have done till then is seen.
Run hand_over() {
  auto stage = std::make_shared<Stage>(2);
  std::uint8_t* const left = stage->buffer(8);
  Run run;
  for (int rank = 0; rank < 2; ++rank)
    run.push_back([=, data = stage->buffer(8)] {
      Endpoint& self = *stage->endpoints[static_cast<std::size_t>(rank)];
      if (rank == 0) {
        send(self, {1}, data, 8, 0);
        fill(left, 8, 2);
      } else {
        receive(self, 0, false, data, 8, 0);
      }
      Endpoint::let_go(*stage->segment, rank, 1);
      while (!Endpoint::all_have_let_go(*stage->segment, 1)) explorer::pause();
      look(left, 8, 2);
      if (rank == 1) {
        send(self, {0}, data, 8, 1);
      } else {
        receive(self, 1, false, data, 8, 1);
      }
    });
  return run;
}

/// Time passes, yields come back at once, and who sleeps does so until he is woken.
class ExploredSystem final : public System {
 public:
  std::int64_t now() override { return now_ += 100; }
  void relax() override {}
  void yield() override {}
  void nap(std::int64_t) override { explorer::pause(); }
  void sleep(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is, std::int64_t at_most) override {
    System::real().sleep(word, while_it_is, at_most);
  }
  Strangers& strangers() override { return strangers_; }
  std::int64_t preemptions() override { return 0; }

 private:
  std::int64_t now_ = 1;
  Strangers strangers_;
};

/// Sleeps while it waits.
void take(Endpoint& at, int from, std::uint8_t* data, int message) {
  ExploredSystem system;
  WaitPolicy policy;
  policy.oversubscribed = true;
  policy.yields_reach = false;
  policy.sleep_word = at.sleep_word();
  policy.system = &system;
  Transfer transfer;
  Waiter waiter(policy);
  while (!at.recv(from, data, 8, transfer)) waiter.pause();
  look(data, 8, message);
}

/// The reader sleeps while it waits; `both`: then the sender waits for an answer.
Run asleep(bool fences, bool both) {
  auto stage = std::make_shared<Stage>(2);
  if (fences)
    for (auto& endpoint : stage->endpoints) endpoint->fence_wakes();
  Run run;
  for (int rank = 0; rank < 2; ++rank)
    run.push_back([=, data = stage->buffer(8)] {
      Endpoint& self = *stage->endpoints[static_cast<std::size_t>(rank)];
      if (rank == 0) {
        send(self, {1}, data, 8, 0);
        if (both) take(self, 1, data, 1);
      } else {
        take(self, 0, data, 0);
        if (both) send(self, {0}, data, 8, 1);
      }
    });
  return run;
}

/// Two readers that sleep at one word, as the threads of a process do.
Run asleep_at_one_word() {
  auto stage = std::make_shared<Stage>(3);
  for (auto& endpoint : stage->endpoints) {
    endpoint->fence_wakes();
    endpoint->sleeps_at(2, stage->endpoints[1]->sleep_word());
  }
  Run run;
  for (int rank = 0; rank < 3; ++rank)
    run.push_back([=, data = stage->buffer(8)] {
      Endpoint& self = *stage->endpoints[static_cast<std::size_t>(rank)];
      if (rank > 0) return take(self, 0, data, rank);
      for (int to = 1; to < 3; ++to) send(self, {to}, data, 8, to);
    });
  return run;
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"line", [] { return messages(2, false, 8, 3); }, 3, 2},
      {"lines", [] { return messages(2, false, 150, 2); }},
      {"ring", [] { return messages(2, false, 8, 70); }, 1, 0},  // longer than it is
      {"lines-ring", [] { return messages(2, false, 150, 40); }, 1, 0},
      {"slot", [] { return messages(2, false, 5 * slot_bytes, 1); }},  // one slot, used again and again
      {"slots", [] { return messages(2, false, 4 * slot_bytes, 2); }, 1, 1},
      {"source", [] { return messages(2, false, 5 * slot_bytes, 1, 1, true); }},
      {"set", [] { return messages(3, false, 4 * slot_bytes, 1); }, 1, 1},
      {"publish", [] { return messages(3, true, 8, 2); }, 2, 1},
      {"publish-slot", [] { return messages(3, true, 4 * slot_bytes, 1); }, 1, 1},
      {"exchange", [] { return exchange(4 * slot_bytes, 1); }, 1, 1},
      {"single-copy", [] { return messages(2, false, 1000, 2, 500); }},
      {"single-copy-set", [] { return messages(3, false, 1000, 1, 500); }, 2, 1},
      {"single-copy-shared", [] { return messages(2, false, 40000, 1, 500); }, 3, 2},
      {"single-copy-exchange", [] { return exchange(40000, 1, 500); }, 2, 1},
      {"single-copy-refused", [] { return refused(2, false, 210, 2, 1); }, 1, 1},
      {"single-copy-refused-shared", [] { return refused(2, false, 40000, 1, 1, 16384); }, 2, 1},
      {"single-copy-refused-to-both", [] { return refused(3, true, 210, 1, 2); }, 1, 1},
      {"single-copy-refused-to-one", [] { return refused(3, true, 210, 2, 1); }, 1, 1},
      {"single-copy-no-slot", refused_without_slots, 1, 1},
      {"first-use", first_use, 3, 2},
      {"hand-over", hand_over},
      {"sleep", [] { return asleep(true, false); }, 2, 2},
      {"sleep-both", [] { return asleep(true, true); }, 1, 2},
      {"sleep-at-one-word", asleep_at_one_word, 2, 1},
      {"sleep-without-fences", [] { return asleep(false, false); }, 2, 2, true},
  };
  return all;
}

std::uint64_t number(const char* text) { return text ? std::strtoull(text, nullptr, 10) : 0; }

}  // namespace

int main(int argc, char** argv) {
  explorer::Limits limits;
  std::vector<std::string_view> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--runs") {
      limits.max_runs = number(argv[++i]);
    } else if (word == "--random") {
      limits.random_runs = number(argv[++i]);
    } else if (word == "--seed") {
      limits.seed = number(argv[++i]);
    } else {
      chosen.push_back(word);
    }
  }
  std::size_t found = 0;
  for (const Scenario& scenario : scenarios()) {
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), scenario.name) == chosen.end()) continue;
    ++found;
    const explorer::Outcome outcome = explorer::explore(scenario, limits);
    if (!outcome.failure.empty()) {
      std::printf("%s(run %llu)\n", outcome.failure.c_str(),
                  static_cast<unsigned long long>(outcome.tried + outcome.random));
      return 1;
    }
    std::printf("%-22s %8llu runs%s, %llu at random\n", scenario.name.c_str(),
                static_cast<unsigned long long>(outcome.tried), outcome.cut ? " (not all)" : "",
                static_cast<unsigned long long>(outcome.random));
    std::fflush(stdout);
  }
  if (found < chosen.size() || found == 0) {
    std::fprintf(stderr, "no such scenario; valid are:");
    for (const Scenario& scenario : scenarios()) std::fprintf(stderr, " %s", scenario.name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
}
