// Looks at an algorithm once, in the cheapest way that its traffic allows; for a size, three sums are compared.
#include "runtime/renumbering.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "mapping/clusters.hpp"
#include "mapping/mapping.hpp"

namespace omnes {

namespace {

using namespace mapping;

// Ranks whose schedules stand for all where all seem to do the same.
constexpr int few_rows = 6;
// Up to so many ranks, and messages of each on average, groups are also found in traffic without structure, which takes up to a millisecond.
constexpr int general_up_to = 128, few_messages = 16;
// Beyond so many messages of all ranks nothing is looked at: about 5 ms.
constexpr std::int64_t most_messages = 1 << 20;
// Renumbered messages must take so many times less, with what puts things right counted so many times: it lies on every rank's path, what is saved
// perhaps not. What simulated machines (omnes simulate) call for: with less, some algorithms became up to a tenth slower.
constexpr double margin = 1.25, margin_without_structure = 1.5, caution = 2;
// Message sizes between which a curve's slope is that of long messages, and of the pieces in which copies are made.
constexpr double long_message = 65536;  // bytes

double slope(const model::Curve& curve, double bytes) { return (curve(bytes) - curve(0)) / bytes; }

/// What messages of a rank carry, and how many there are.
struct Rows {
  Row blocks, messages;
  int pieces = 1;
};

Rows rows_of(const Algorithm& algorithm, Problem problem, int rank) {
  problem.rank = rank;
  const Schedule schedule = omnes::build(algorithm, problem, Dependencies::none);
  return {row_of(schedule), row_of(schedule, [](const Schedule&, Blocks, int i) { return std::int64_t{i == 0}; }),
          schedule.pieces};
}

bool talks_to_all_alike(const Pattern& pattern) {
  const auto other = [&](const auto& entry) { return entry.second != pattern.offsets.front().second; };
  return static_cast<int>(pattern.offsets.size()) == pattern.p - 1 && std::ranges::none_of(pattern.offsets, other);
}

/// One good start instead of the best of several: what is found is used for a few operations, not for a whole program.
mapping::Parts quick_partition(const Graph& graph, std::span<const std::int32_t> sizes) {
  mapping::Parts parts = pack(graph, clusters(graph, *std::ranges::max_element(sizes)), sizes);
  refine(graph, parts, sizes.size());
  return parts;
}

/// Messages that are sent, blocks in them, copies and blocks in these.
struct Work {
  std::int64_t messages = 0, sent = 0, copies = 0, copied = 0;
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

Renumbering::Renumbering(Remap wanted, bool reproducible, Placement placement, std::optional<model::Machine> machine)
    : wanted_(wanted), reproducible_(reproducible), placement_(std::move(placement)), machine_(std::move(machine)) {}

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
  double extra = 0;
  for (const Fixup fixup : able) {
    auto& cost = found.fixups[static_cast<int>(fixup)][result.ordered];
    if (!cost) cost = of_fixup(*choice.algorithm, problem, *found.mapping, fixup, result.ordered);
    const double here = (*cost)(block);
    if (fixup != able.front() && here >= extra) continue;
    result.fixup = fixup;
    extra = here;
  }
  const double before = found.before(block), after = found.after(block);
  result.gain = before / (after + extra);
  const double least = found.structured ? margin : margin_without_structure;
  if (automatic && before < least * (after + caution * extra)) return stay("it would not pay: " + times(result.gain));
  result.mapping = found.mapping;
  result.why = times(result.gain);
  return result;
}

void Renumbering::prepare() {
  if (!levels_.empty()) return;
  if (!machine_) machine_ = model::parse_machine(model::default_machine);
  // What is beyond the widest level is another node, or, where that is within a node, the same. A level that the machine does not know costs as the
  // next wider one.
  const model::Level* wider = &machine_->levels.back();
  std::vector<const model::Level*> machine_levels;
  const auto add = [&](std::string_view name) {
    for (const model::Level& level : machine_->levels)
      if (level.name == name) wider = &level;
    machine_levels.insert(machine_levels.begin(), wider);
  };
  add(inside_nodes(placement_.levels.back().name) ? "node" : machine_->levels.back().name);
  for (std::size_t l = placement_.levels.size(); l-- > 0;) add(placement_.levels[l].name);

  double leaving = 0;  // seconds per byte for what leaves the units of nearer levels, each its share
  for (std::size_t l = 0; l < machine_levels.size(); ++l) {
    const model::Level& level = *machine_levels[l];
    const double per_byte =
        level.memory ? 2 * slope(level.copy, level.fragment) : level.exchange * slope(level.wire, long_message);
    levels_.push_back({level.send + level.recv + level.latency, per_byte + leaving});
    bandwidths_.push_back(1 / levels_.back().per_byte);
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
  const auto judge = [&](const auto& blocks, const auto& messages, Mapping mapping) {
    const Cost before = cost_of(blocks, placement_, identity(p), bandwidths_);
    const Cost after = cost_of(blocks, placement_, mapping, bandwidths_);
    if (after.time >= before.time) return;
    known.mapping = std::make_shared<const Mapping>(std::move(mapping));
    known.before = of_traffic(before.amount, cost_of(messages, placement_, identity(p), bandwidths_).amount);
    known.after = of_traffic(after.amount, cost_of(messages, placement_, *known.mapping, bandwidths_).amount);
  };

  Row messages_of_first;
  const Pattern pattern = pattern_of(p, sample_of(p, few_rows), [&](int rank) {
    Rows rows = rows_of(algorithm, problem, rank);
    if (rank == 0) {
      messages_of_first = std::move(rows.messages);
      known.pieces = rows.pieces;
    }
    return rows.blocks;
  });
  if (pattern.symmetry != Symmetry::none) {
    if (talks_to_all_alike(pattern)) return stay("all ranks send each other the same");
    if (static_cast<std::int64_t>(pattern.offsets.size()) * p > most_messages)
      return stay("too many ranks talk to each other");
    Mapping mapping = map_by_structure(pattern, placement_);
    known.structured = !mapping.real_of.empty();
    if (known.structured) judge(pattern, Pattern{pattern.symmetry, p, messages_of_first}, std::move(mapping));
  }
  if (!known.structured) {
    if (p > general_up_to)
      return stay("ranks differ in what they send to whom, and there are more than " + std::to_string(general_up_to));
    std::vector<Row> messages;
    const Traffic blocks = traffic_of(p, [&](int rank) {
      Rows rows = rows_of(algorithm, problem, rank);
      messages.push_back(std::move(rows.messages));
      return rows.blocks;
    });
    if (blocks.peer.size() > static_cast<std::size_t>(few_messages) * p)
      return stay("ranks differ in what they send to whom, and send to many");
    const Fixed fixed{rooted(algorithm.operation) ? problem.root : -1};
    judge(blocks, traffic_of(p, [&](int rank) { return messages[rank]; }),
          map_by_graph(graph_of(blocks), placement_, fixed, quick_partition));
  }
  if (!known.mapping) return stay("the ranks lie well for it");
  // In a tree few ranks wait for each other: its longest path has as many messages between nodes as before.
  if (!known.structured)
    known.before.fixed = known.after.fixed = levels_.back().fixed * std::bit_width(static_cast<unsigned>(p - 1));
  return known;
}

Renumbering::Time Renumbering::of_traffic(const std::vector<std::int64_t>& blocks,
                                          const std::vector<std::int64_t>& messages) const {
  Time time;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    time.fixed += levels_[level].fixed * static_cast<double>(messages[level]) / placement_.p;
    time.per_byte += levels_[level].per_byte * static_cast<double>(blocks[level]) / placement_.p;
  }
  return time;
}

Renumbering::Time Renumbering::of_fixup(const Algorithm& algorithm, const Problem& problem, const Mapping& mapping,
                                        Fixup fixup, bool ordered) const {
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
    Problem real = problem;
    real.rank = rank;
    const Schedule played = omnes::build(algorithm, virtual_problem(real, mapping, fixup, ordered), Dependencies::none);
    real.radix = played.problem.radix;
    const Work own = work_of(played),
               all = work_of(relabelled(played, real, mapping, fixup, ordered, Dependencies::none));
    const auto messages = static_cast<double>(all.messages - own.messages),
               sent = static_cast<double>(all.sent - own.sent), copies = static_cast<double>(all.copies - own.copies),
               copied = static_cast<double>(all.copied - own.copied);
    worst.fixed = std::max(worst.fixed, messages * message.fixed + copies * (machine_->copy(0) + machine_->step));
    worst.per_byte = std::max(worst.per_byte, sent * message.per_byte + copied * slope(machine_->copy, long_message));
  }
  return worst;
}

}  // namespace omnes
