// What a rank sends, counted by peer: for whoever needs no more of a schedule than that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace omnes {

/// To one peer. Messages that follow each other with no receive between are a burst: they are on their way at once.
struct Sent {
  std::int32_t peer;
  std::int64_t blocks, messages, bursts;
};

class Tally {
 public:
  void add(std::int32_t peer, std::int64_t blocks) {
    const bool other = sent_.empty() || sent_.back().peer != peer;
    if (other) sent_.push_back({peer, 0, 0, 0});
    sent_.back().blocks += blocks;
    ++sent_.back().messages;
    sent_.back().bursts += other || received_;
    received_ = false;
  }
  void receive() { received_ = true; }

  /// Ascending by peer; nothing is left.
  std::vector<Sent> take() {
    if (!std::ranges::is_sorted(sent_, {}, &Sent::peer)) std::ranges::sort(sent_, {}, &Sent::peer);
    std::size_t kept = 0;
    for (const Sent& more : sent_) {
      if (kept > 0 && sent_[kept - 1].peer == more.peer) {
        sent_[kept - 1].blocks += more.blocks;
        sent_[kept - 1].messages += more.messages;
        sent_[kept - 1].bursts += more.bursts;
      } else {
        sent_[kept++] = more;
      }
    }
    sent_.resize(kept);
    return std::exchange(sent_, {});
  }

 private:
  std::vector<Sent> sent_;
  bool received_ = false;  // since the last message
};

}  // namespace omnes
