// Looks at an algorithm once, in the cheapest way that its traffic allows; for a size, three sums are compared.
#include "runtime/renumbering.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "mapping/clusters.hpp"
#include "mapping/mapping.hpp"

namespace omnes::inline runtime {

namespace {

using namespace mapping;

// Ranks whose schedules stand for all where all seem to do the same.
constexpr int few_rows = 6;
// Up to so many ranks, and messages of each on average, groups are also found in traffic without structure, which takes up to a millisecond.
constexpr int general_up_to = 128, few_messages = 16;
// Beyond so many messages of all ranks nothing is looked at: about 5 ms.
constexpr std::int64_t max_messages = 1 << 20;
// Renumbered messages must take so many times less, with what puts things right counted so many times: it lies on every rank's path, what is saved
// perhaps not. What simulated machines (omnes simulate) call for: with less, some algorithms became up to a tenth slower.
constexpr double margin = 1.25, margin_without_structure = 1.5, caution = 2;
// Message sizes between which a curve's slope is that of long messages, and of the pieces in which copies are made.
constexpr double long_message = 65536;  // bytes

double slope(const model::Curve& curve, double bytes) { return (curve(bytes) - curve(0)) / bytes; }

bool talks_to_all_alike(const Pattern& pattern) {
  const auto other = [&](const auto& entry) { return entry.second != pattern.offsets.front().second; };
  return static_cast<int>(pattern.offsets.size()) == pattern.p - 1 && std::ranges::none_of(pattern.offsets, other);
}

/// One good start instead of the best of several: what is found is used for a few operations, not for a whole program.
mapping::Parts quick_partition(const Graph& graph, std::span<const std::int32_t> sizes) {
  mapping::Parts parts = pack(graph, clusters(graph, *std::ranges::max_element(sizes)), sizes);
  refine(graph, parts, sizes.size(), Effort::quick);
  return parts;
}

/// Messages that are sent, blocks in them, copies and blocks in these.
struct Work {
  double messages = 0, sent = 0, copies = 0, copied = 0;
};

Work work_of(const Schedule& schedule) {
  Work work;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::send) {
      ++work.messages;
      work.sent += op.a.count;
    } else if (op.kind == OpKind::copy) {
      ++work.copies;
      work.copied += op.dst.count;
    }
  }
  return work;
}

/// Nearer than the node itself.
bool inside_nodes(std::string_view level) {
  return std::find(level_names.begin(), level_names.begin() + inner_levels, level) !=
         level_names.begin() + inner_levels;
}

std::string times(double gain) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2fx less time for messages expected", gain);
  return text;
}

}  // namespace

std::string Renumbered::text() const {
  if (!mapping) return {};
  return fixup == Fixup::exchange ? " remap=exch" : " remap=reorder";
}

Schedule build(const Algorithm& algorithm, const Problem& problem, const Renumbered& renumbered) {
  if (!renumbered.mapping) return build(algorithm, problem);
  return build_relabelled(algorithm, problem, *renumbered.mapping, renumbered.fixup, renumbered.ordered);
}

Renumbering::Renumbering(Remap wanted, bool reproducible, Placement placement,
                         std::shared_ptr<const model::MachineCosts> machine, bool shares_memory)
    : wanted_(wanted),
      reproducible_(reproducible),
      shares_memory_(shares_memory),
      placement_(std::move(placement)),
      machine_(std::move(machine)) {}

Renumbered Renumbering::find(const Choice& choice, Operation operation, int root, std::optional<std::size_t> part_bytes,
                             bool commutative) {
  Renumbered result;
  const auto stay = [&](std::string why) {
    result.why = std::move(why);
    return result;
  };
  if (wanted_ == Remap::off) return stay("OMNES_REMAP=off");
  if (placement_.levels.empty()) return stay("no ranks are known to lie closer together than others");
  if (choice.algorithm->hierarchical) return stay("a hierarchical algorithm follows the levels itself");
  result.ordered = reduces(operation) && (!commutative || reproducible_);
  const bool automatic = wanted_ == Remap::automatic;
  if (automatic && result.ordered) return stay("the reduction must keep the order of the ranks");
  if (automatic && !part_bytes) return stay("the sizes of the parts are not known to all ranks");
  std::vector<Fixup> able;
  std::string reason;
  for (const Fixup fixup : {Fixup::reorder, Fixup::exchange}) {
    if (!automatic && (wanted_ == Remap::exchange) != (fixup == Fixup::exchange)) continue;
    const std::string why = mapping::why_not(operation, fixup, result.ordered);
    if (why.empty()) able.push_back(fixup);
    reason = why.empty() ? reason : why;
  }
  if (able.empty()) return stay(reason);

  prepare();
  const Problem problem{.operation = operation, .p = placement_.p, .root = root, .radix = choice.radix};
  Known& found = known(*choice.algorithm, problem);
  if (!found.mapping) return stay(found.why);
  const double block = static_cast<double>(part_bytes.value_or(0)) / found.pieces;
  const double before = found.before(block), after = found.after(block);
  const double least = found.structured ? margin : margin_without_structure;
  const auto would_not_pay = [&](double gain) {
    result.gain = gain;
    return stay("it would not pay: " + times(gain));
  };
  if (automatic && before < least * after) return would_not_pay(before / after);
  double extra = 0;
  for (const Fixup fixup : able) {
    auto& cost = found.fixups[static_cast<int>(fixup)][result.ordered];
    if (!cost) cost = of_fixup(*choice.algorithm, problem, found.pieces, *found.mapping, fixup, result.ordered);
    const double here = (*cost)(block);
    if (fixup != able.front() && here >= extra) continue;
    result.fixup = fixup;
    extra = here;
  }
  result.gain = before / (after + extra);
  if (automatic && before < least * (after + caution * extra)) return would_not_pay(result.gain);
  result.mapping = found.mapping;
  result.why = times(result.gain);
  return result;
}

void Renumbering::prepare() {
  if (!levels_.empty()) return;
  if (!machine_) machine_ = model::known_default();
  // What is beyond the widest level is another node, or, where that is within a node, the same. A level that the machine does not know costs as the
  // next wider one.
  const model::LevelCosts* wider = &machine_->levels.back();
  std::vector<const model::LevelCosts*> machine_levels;
  const auto add = [&](std::string_view name) {
    for (const model::LevelCosts& level : machine_->levels)
      if (level.name == name) wider = &level;
    machine_levels.insert(machine_levels.begin(), wider);
  };
  add(inside_nodes(placement_.levels.back().name) ? "node" : machine_->levels.back().name);
  for (std::size_t l = placement_.levels.size(); l-- > 0;) add(placement_.levels[l].name);

  double leaving = 0;  // seconds per byte for what leaves the units of nearer levels, each its share
  for (std::size_t l = 0; l < machine_levels.size(); ++l) {
    const model::LevelCosts& level = *machine_levels[l];
    const double per_byte =
        level.memory ? 2 * slope(level.copy, level.fragment) : level.exchange * slope(level.wire, long_message);
    const model::LevelCosts& worker = shares_memory_ ? level : machine_->levels.back();
    levels_.push_back({level.latency, worker.send + worker.recv, per_byte + leaving});
    if (l + 1 == machine_levels.size() || machine_levels[l + 1] == &level) continue;
    std::vector<std::int32_t> units = placement_.levels[l].unit;
    std::ranges::sort(units);
    const auto count = std::ranges::unique(units).begin() - units.begin();
    leaving += level.out * placement_.p / static_cast<double>(count);
  }
}

Renumbering::Known& Renumbering::known(const Algorithm& algorithm, const Problem& problem) {
  const int root = rooted(algorithm.operation) ? problem.root : 0;
  const auto [at, is_new] = known_.try_emplace({&algorithm, problem.radix, root});
  if (is_new) at->second = look(algorithm, problem);
  return at->second;
}

Renumbering::Known Renumbering::look(const Algorithm& algorithm, const Problem& problem) const {
  const int p = placement_.p;
  Known known;
  const auto stay = [&](std::string why) {
    known.why = std::move(why);
    return known;
  };
  // Of all messages, a rank's share; `each` visits them: from whom, to whom, how much.
  const auto time_of = [&](const Mapping& mapping, const auto& each) {
    Time time;
    each([&](int from, int to, const Sent& sent) {
      const Time& level = levels_[placement_.level_between(mapping.real_of[from], mapping.real_of[to])];
      time.latency += level.latency * static_cast<double>(sent.bursts) / p;
      time.work += level.work * static_cast<double>(sent.messages) / p;
      time.per_byte += level.per_byte * static_cast<double>(sent.blocks) / p;
    });
    return time;
  };
  const auto judge = [&](const auto& each, Mapping mapping) {
    known.before = time_of(identity(p), each);
    known.after = time_of(mapping, each);
    if (known.after.per_byte < known.before.per_byte)
      known.mapping = std::make_shared<const Mapping>(std::move(mapping));
  };

  std::vector<Counted> rows;
  const Pattern pattern = pattern_of(p, sample_of(p, few_rows), [&](int rank) {
    rows.push_back(counted(algorithm, problem, rank));
    return row_of(rows.back().sent);
  });
  known.pieces = rows.front().pieces;
  if (pattern.symmetry != Symmetry::none) {
    if (talks_to_all_alike(pattern)) return stay("all ranks send each other the same");
    if (static_cast<std::int64_t>(pattern.offsets.size()) * p > max_messages)
      return stay("too many ranks talk to each other");
    Mapping mapping = map_by_structure(pattern, placement_);
    known.structured = !mapping.real_of.empty();
    const auto each = [&](const auto& visit) {
      for (int rank = 0; rank < p; ++rank)
        for (const Sent& sent : rows.front().sent) visit(rank, pattern.shifted(rank, sent.peer), sent);
    };
    if (known.structured) judge(each, std::move(mapping));
  }
  if (!known.structured) {
    if (p > general_up_to)
      return stay("ranks differ in what they send to whom, and there are more than " + std::to_string(general_up_to));
    rows.clear();
    std::size_t pairs = 0;
    for (int rank = 0; rank < p; ++rank) {
      rows.push_back(counted(algorithm, problem, rank));
      pairs += rows.back().sent.size();
      if (pairs > static_cast<std::size_t>(few_messages) * p)
        return stay("ranks differ in what they send to whom, and send to many");
    }
    const Traffic traffic = traffic_of(p, [&](int rank) { return row_of(rows[rank].sent); });
    const auto each = [&](const auto& visit) {
      for (int rank = 0; rank < p; ++rank)
        for (const Sent& sent : rows[rank].sent) visit(rank, sent.peer, sent);
    };
    const Fixed fixed{rooted(algorithm.operation) ? problem.root : -1};
    judge(each, map_by_graph(graph_of(traffic), placement_, fixed, quick_partition));
  }
  if (!known.mapping) return stay("the ranks lie well for it");
  // In a tree few ranks wait for each other: its longest path has as many messages between nodes as before.
  if (!known.structured) {
    const double path = levels_.back()(0) * std::bit_width(static_cast<unsigned>(p - 1));
    known.before = {path, 0, known.before.per_byte};
    known.after = {path, 0, known.after.per_byte};
  }
  return known;
}

Renumbering::Time Renumbering::of_fixup(const Algorithm& algorithm, const Problem& problem, int pieces,
                                        const Mapping& mapping, Fixup fixup, bool ordered) const {
  std::size_t widest = 0;
  int moved = 0;  // a rank that plays another
  for (int rank = placement_.p; rank-- > 0;) {
    if (mapping.real_of[rank] == rank) continue;
    widest = std::max(widest, placement_.level_between(rank, mapping.real_of[rank]));
    moved = rank;
  }
  const Time& message = levels_[widest];
  Time worst;
  for (const int rank : {moved, problem.root}) {
    if (rank != moved && !rooted(algorithm.operation)) break;
    Problem real = problem;
    real.rank = rank;
    Schedule played;
    played.problem = virtual_problem(real, mapping, fixup, ordered);
    played.pieces = pieces;
    if (follows_runs(algorithm.operation, fixup)) played = omnes::build(algorithm, played.problem, Detail::ops);
    const Work work = work_of(fixup_alone(played, real, mapping, fixup, ordered));
    worst.latency =
        std::max(worst.latency, work.messages * message(0) + work.copies * (machine_->copy(0) + machine_->step));
    worst.per_byte =
        std::max(worst.per_byte, work.sent * message.per_byte + work.copied * slope(machine_->copy, long_message));
  }
  return worst;
}

}  // namespace omnes::inline runtime
