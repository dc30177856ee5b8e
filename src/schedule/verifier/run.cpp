// Progress and contract: all ranks run together on symbolic values, with the slowest communication that is allowed.
//
// How. An op starts when its dependencies are complete. A message is delivered when its sender and all its receivers
// have started and the message before it in the channel is delivered; then its receivers are complete, and its sender
// once all its messages are. If no more can happen and ops remain, they are in a deadlock, and following what each
// waits for shows it.
#include <algorithm>

#include "schedule/contract.hpp"
#include "schedule/text.hpp"
#include "schedule/verifier/arrivals.hpp"
#include "schedule/verifier/group.hpp"
#include "schedule/verifier/outcome.hpp"
#include "schedule/verifier/values.hpp"

namespace omnes::verifier {

namespace {

class Run {
 public:
  Run(const Group& group, const Messages& messages)
      : group_(group),
        messages_(messages),
        values_(group.p(), max_contributed(group)),
        arrivals_(group),
        missing_deps_(group.op_count()),
        undelivered_(group.op_count()),
        missing_for_(messages.list.size()) {
    fill_buffers();
    list_dependents();
  }

  std::optional<Finding> check(Claims claims) {
    for (OpId id = 0; id < group_.op_count(); ++id)
      if (missing_deps_[id] == 0) ready_.push_back(id);
    std::uint64_t completed = 0;
    while (!ready_.empty() && !finding_) {
      const OpId id = ready_.back();
      ready_.pop_back();
      start(id);
      for (; !complete_.empty(); ++completed) {
        const OpId done = complete_.back();
        complete_.pop_back();
        for (const OpId next : dependents_of(done)) {
          arrivals_.pass(done, next);
          if (--missing_deps_[next] == 0) ready_.push_back(next);
        }
      }
    }
    if (finding_) return finding_;
    if (completed < group_.op_count()) return deadlock();
    if (auto finding = arrivals_.check(group_)) return finding;
    return check_outcome(group_, values_, held_, claims);
  }

 private:
  static int max_contributed(const Group& group) {
    int most = 0;
    for (int rank = 0; rank < group.p(); ++rank)
      most = std::max(most, contributed_blocks(group.of(rank).problem, group.pieces()));
    return most;
  }

  void fill_buffers() {
    held_.assign(group_.block_count(), unwritten);
    for (int rank = 0; rank < group_.p(); ++rank)
      for (const Buffer buffer : {Buffer::send, Buffer::recv})
        for (int block = 0; block < group_.blocks_in(rank, buffer); ++block)
          if (const auto origin = initial(group_.of(rank).problem, group_.pieces(), buffer, block))
            held_[group_.block_id(rank, buffer, block)] = values_.moved(*origin);
  }

  void list_dependents() {
    first_dependent_.assign(group_.op_count() + 1, 0);
    const auto each = [&](auto&& visit) {
      for (OpId id = 0; id < group_.op_count(); ++id) {
        const int rank = group_.rank_of(id);
        for (const std::uint32_t dep : group_.of(rank).deps_of(group_.op(id))) visit(group_.op_id(rank, dep), id);
      }
    };
    each([&](OpId dep, OpId id) {
      ++missing_deps_[id];
      ++first_dependent_[dep + 1];
    });
    for (OpId id = 0; id < group_.op_count(); ++id) first_dependent_[id + 1] += first_dependent_[id];
    dependents_.resize(first_dependent_.back());
    std::vector<std::uint32_t> at(first_dependent_.begin(), first_dependent_.end() - 1);
    each([&](OpId dep, OpId id) { dependents_[at[dep]++] = id; });
    for (std::size_t i = 0; i < messages_.list.size(); ++i) {
      const Message& message = messages_.list[i];
      ++undelivered_[message.sender];
      missing_for_[i] = 1 + message.receiver_count + (message.before >= 0 ? 1 : 0);
    }
  }

  std::span<const OpId> dependents_of(OpId id) const {
    return {dependents_.data() + first_dependent_[id], first_dependent_[id + 1] - first_dependent_[id]};
  }

  void start(OpId id) {
    const Op& op = group_.op(id);
    const auto messages = messages_.of(id);
    if (op.kind == OpKind::copy || op.kind == OpKind::reduce) {
      execute(id);
      complete_.push_back(id);
    } else if (messages.empty()) {  // a publish in a group of one
      complete_.push_back(id);
    }
    for (const std::uint32_t message : messages) progress(message);
  }

  /// One more of what the message waits for is there.
  void progress(std::int32_t at) {
    for (; at >= 0 && --missing_for_[at] == 0; at = messages_.list[at].next) {
      const Message& message = messages_.list[at];
      for (const OpId receiver : messages_.receivers_of(message)) {
        deliver(message.sender, receiver);
        complete_.push_back(receiver);
      }
      if (--undelivered_[message.sender] == 0) complete_.push_back(message.sender);
    }
  }

  void execute(OpId id) {
    const Op& op = group_.op(id);
    for (int i = 0; i < op.dst.count; ++i) {
      const Value a = read(id, op.a, i);
      write(id, op.dst, i, op.kind == OpKind::copy ? a : combined(a, read(id, op.b, i)));
    }
  }

  void deliver(OpId sender, OpId receiver) {
    const Op &send = group_.op(sender), &op = group_.op(receiver);
    arrivals_.message(sender, receiver);
    for (int i = 0; i < op.dst.count; ++i) {
      Value incoming = read(sender, send.a, i);
      if (op.kind == OpKind::recv_reduce) {
        const Value a = read(receiver, op.a, i);
        incoming = op.incoming_first ? combined(incoming, a) : combined(a, incoming);
      }
      write(receiver, op.dst, i, incoming);
    }
  }

  Value combined(Value left, Value right) {
    return left == unwritten || right == unwritten ? unwritten : values_.combined(left, right);
  }

  Value read(OpId id, Blocks run, int i) {
    const Value value = held_[group_.block_id(group_.rank_of(id), run.buffer, run.first + i)];
    if (value == unwritten && !finding_)
      finding_ =
          group_.finding(id, to_text(Blocks{run.buffer, run.first + i, 1}), "is read before anything is written to it");
    return value;
  }

  void write(OpId id, Blocks run, int i, Value value) {
    held_[group_.block_id(group_.rank_of(id), run.buffer, run.first + i)] = value;
  }

  Finding deadlock() const {
    OpId id = 0;
    while (!blocked(id)) ++id;
    // Follow what each op waits for until one comes again: the circle starts there.
    std::vector<OpId> chain;
    while (std::find(chain.begin(), chain.end(), id) == chain.end()) {
      chain.push_back(id);
      id = awaited(id);
    }
    chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), id));
    std::rotate(chain.begin(), std::min_element(chain.begin(), chain.end()), chain.end());
    chain.push_back(chain.front());
    std::string text = "deadlock: it waits for";
    for (std::size_t i = 1; i < chain.size(); ++i)
      text += (i > 1 ? ", that for " : " ") + (i + 1 < chain.size() ? group_.describe(chain[i]) : "the first again");
    return group_.finding(chain.front(), {}, text);
  }

  bool started(OpId id) const { return missing_deps_[id] == 0; }

  /// Not complete: a dependency or one of its messages is missing.
  bool blocked(OpId id) const { return !started(id) || undelivered_message(id) >= 0; }

  std::int32_t undelivered_message(OpId id) const {
    for (const std::uint32_t message : messages_.of(id))
      if (missing_for_[message] > 0) return static_cast<std::int32_t>(message);
    return -1;
  }

  /// A blocked op that this blocked op waits for.
  OpId awaited(OpId id) const {
    if (!started(id)) {
      const int rank = group_.rank_of(id);
      for (const std::uint32_t dep : group_.of(rank).deps_of(group_.op(id)))
        if (blocked(group_.op_id(rank, dep))) return group_.op_id(rank, dep);
    }
    const Message* message = &messages_.list[undelivered_message(id)];
    const auto before = [&] { return message->before >= 0 && missing_for_[message->before] > 0; };
    while (before()) message = &messages_.list[message->before];
    if (!started(message->sender)) return message->sender;
    const auto receivers = messages_.receivers_of(*message);
    return *std::find_if(receivers.begin(), receivers.end(), [&](OpId receiver) { return !started(receiver); });
  }

  const Group& group_;
  const Messages& messages_;
  Values values_;
  Arrivals arrivals_;
  std::vector<Value> held_;                     // per block
  std::vector<std::uint32_t> missing_deps_;     // per op: dependencies that are not complete
  std::vector<std::uint32_t> undelivered_;      // per send: messages
  std::vector<std::uint32_t> missing_for_;      // per message: ops that have not started, and the message before
  std::vector<std::uint32_t> first_dependent_;  // per op: its place in dependents_
  std::vector<OpId> dependents_;
  std::vector<OpId> ready_, complete_;  // to start; to tell dependents
  std::optional<Finding> finding_;
};

}  // namespace

std::optional<Finding> run(const Group& group, const Messages& messages, Claims claims) {
  return Run(group, messages).check(claims);
}

}  // namespace omnes::verifier
