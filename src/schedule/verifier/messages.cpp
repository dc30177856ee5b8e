// Messages: each send meets the receives that expect it, in the order of the lists, with blocks of the same sizes.
//
// How. There is a channel for each ordered pair of ranks, and one for each rank's publishes. The k-th send of a channel
// belongs to the k-th receive of the channel (at each of its readers). What is left over on either side has no partner.
#include <array>

#include "schedule/contract.hpp"
#include "schedule/text.hpp"
#include "schedule/verifier/group.hpp"

namespace omnes::verifier {

namespace {

class Matcher {
 public:
  Matcher(const Group& group, Messages& messages)
      : group_(group), messages_(messages), last_(group.p() * (group.p() + 1), -1) {
    for (auto& lane : lanes_) lane.resize(group.p() * group.p());
  }

  std::optional<Finding> match() {
    collect_receives();
    for (OpId id = 0; id < group_.op_count(); ++id) {
      const Op& op = group_.op(id);
      if (op.kind != OpKind::send) continue;
      if (auto finding = op.published ? match_publish(id) : match_send(id)) return finding;
    }
    if (auto finding = find_left_over()) return finding;
    index_by_op();
    return std::nullopt;
  }

 private:
  /// The receives that one rank posts for another's messages, and how many are matched.
  struct Expected {
    std::vector<OpId> receives;
    std::size_t matched = 0;
  };
  Expected& expected(int from, int at, bool published) { return lanes_[published][from * group_.p() + at]; }

  void collect_receives() {
    for (OpId id = 0; id < group_.op_count(); ++id) {
      const Op& op = group_.op(id);
      if (op.kind == OpKind::recv || op.kind == OpKind::recv_reduce)
        expected(op.peer, group_.rank_of(id), op.published).receives.push_back(id);
    }
  }

  std::optional<Finding> match_send(OpId id) {
    const int rank = group_.rank_of(id);
    for (const std::int32_t peer : group_.of(rank).peers_of(group_.op(id))) {
      open(id, rank * group_.p() + peer);
      if (auto finding = match_one(id, peer)) return finding;
    }
    return std::nullopt;
  }

  std::optional<Finding> match_publish(OpId id) {
    const int rank = group_.rank_of(id);
    open(id, group_.p() * group_.p() + rank);
    for (int peer = 0; peer < group_.p(); ++peer)
      if (peer != rank)
        if (auto finding = match_one(id, peer)) return finding;
    return std::nullopt;
  }

  /// A new message at the end of the channel.
  void open(OpId sender, int channel) {
    const auto number = static_cast<std::int32_t>(messages_.list.size());
    Message message;
    message.sender = sender;
    message.first_receiver = static_cast<std::uint32_t>(messages_.receivers.size());
    message.before = last_[channel];
    if (message.before >= 0) messages_.list[message.before].next = number;
    messages_.list.push_back(message);
    last_[channel] = number;
  }

  std::optional<Finding> match_one(OpId sender, int peer) {
    const Op& send = group_.op(sender);
    Expected& at_peer = expected(group_.rank_of(sender), peer, send.published);
    if (at_peer.matched == at_peer.receives.size())
      return group_.finding(sender, to_text(send.a),
                            std::string(send.published ? "is published" : "is sent") + " but rank " +
                                std::to_string(peer) + " never receives it");
    const OpId receiver = at_peer.receives[at_peer.matched++];
    messages_.receivers.push_back(receiver);
    ++messages_.list.back().receiver_count;
    return check_sizes(sender, receiver);
  }

  std::optional<Finding> check_sizes(OpId sender, OpId receiver) const {
    const Blocks sent = group_.op(sender).a, into = group_.op(receiver).dst;
    if (sent.count != into.count)
      return group_.finding(receiver, to_text(into),
                            "has another number of blocks than the message of " + group_.describe(sender));
    const Schedule &from = group_.of(group_.rank_of(sender)), &to = group_.of(group_.rank_of(receiver));
    for (int i = 0; i < sent.count; ++i) {
      const SizeClass size = size_class(from, sent, i), into_size = size_class(to, into, i);
      if (size != into_size)
        return group_.finding(receiver, to_text(Blocks{into.buffer, into.first + i, 1}),
                              "has the size of " + to_text(to, into_size) + " but takes a block of " +
                                  to_text(from, size) + " from " + group_.describe(sender));
    }
    return std::nullopt;
  }

  std::optional<Finding> find_left_over() {
    for (auto& lane : lanes_)
      for (const Expected& expected : lane)
        if (expected.matched < expected.receives.size()) {
          const OpId id = expected.receives[expected.matched];
          const Op& op = group_.op(id);
          return group_.finding(id, to_text(op.dst),
                                "is received but rank " + std::to_string(op.peer) + " never " +
                                    (op.published ? "publishes it" : "sends it"));
        }
    return std::nullopt;
  }

  void index_by_op() {
    auto& first = messages_.first_of;
    first.assign(group_.op_count() + 1, 0);
    const auto each = [&](auto&& visit) {
      for (std::uint32_t i = 0; i < messages_.list.size(); ++i) {
        visit(messages_.list[i].sender, i);
        for (const OpId receiver : messages_.receivers_of(messages_.list[i])) visit(receiver, i);
      }
    };
    each([&](OpId op, std::uint32_t) { ++first[op + 1]; });
    for (OpId op = 0; op < group_.op_count(); ++op) first[op + 1] += first[op];
    messages_.by_op.resize(first.back());
    std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
    each([&](OpId op, std::uint32_t message) { messages_.by_op[at[op]++] = message; });
  }

  const Group& group_;
  Messages& messages_;
  std::array<std::vector<Expected>, 2> lanes_;  // [published][from * p + at]
  std::vector<std::int32_t> last_;              // per channel its last message so far
};

}  // namespace

std::optional<Finding> match_messages(const Group& group, Messages& messages) {
  return Matcher(group, messages).match();
}

}  // namespace omnes::verifier
