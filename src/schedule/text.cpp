// Writing and reading the text form.
#include "schedule/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace omnes {

namespace {

std::string range(int first, int count) {
  if (count == 1) return std::to_string(first);
  return std::to_string(first) + ".." + std::to_string(first + count - 1);
}

std::string receivers(const Schedule& schedule, const Op& op) {
  if (op.peer_count == 0) return std::to_string(op.peer);
  std::string text = "{";
  for (const std::int32_t peer : schedule.peers_of(op)) text += (text.size() > 1 ? " " : "") + std::to_string(peer);
  return text + "}";
}

/// Runs of ascending blocks at one rank: 0 1 2 7 and 4 5 of rank 3 -> " 0..2 7 4..5@3".
std::string ranges(const Schedule& schedule) {
  const std::vector<Like>& temp = schedule.temp;
  std::string text;
  for (std::size_t i = 0, end = 0; i < temp.size(); i = end) {
    for (end = i + 1; end < temp.size() && temp[end] == Like{temp[end - 1].block + 1, temp[i].rank};) ++end;
    text += " " + range(temp[i].block, static_cast<int>(end - i));
    if (temp[i].rank != schedule.problem.rank) text += "@" + std::to_string(temp[i].rank);
  }
  return text;
}

/// " key {1 2 3}"
std::string list(const char* key, const std::vector<std::int32_t>& numbers) {
  std::string text = std::string(" ") + key + " {";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += (i > 0 ? " " : "") + std::to_string(numbers[i]);
  return text + "}";
}

/// One line, read word by word. Every failure throws with the line's number.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}

  bool done() {
    skip_space();
    return at_ == text_.size();
  }

  bool accept(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    const std::size_t after = at_ + word.size();
    const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if (letter(word.back()) && after < text_.size() && letter(text_[after])) return false;
    at_ = after;
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) fail("'" + std::string(word) + "'");
  }

  std::int32_t number() {
    skip_space();
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  std::int32_t natural(std::string_view what) {
    const std::size_t before = at_;
    const std::int32_t value = number();
    if (value >= 0) return value;
    at_ = before;
    fail(std::string(what) + " that is not negative");
  }

  std::string_view word() {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    return text_.substr(at_, end - at_);
  }

  /// first or first..last
  std::pair<std::int32_t, std::int32_t> range() {
    const std::int32_t first = natural("a block");
    if (!accept("..")) return {first, 1};
    const std::size_t before = at_;
    const std::int64_t count = std::int64_t{number()} - first + 1;
    if (count >= 0 && count <= INT32_MAX) return {first, static_cast<std::int32_t>(count)};
    at_ = before;
    fail("a last block >= first - 1");
  }

  Blocks blocks() {
    if (accept("nothing")) return {};
    for (const Buffer buffer : {Buffer::send, Buffer::recv, Buffer::temp}) {
      if (!accept(name(buffer))) continue;
      expect("[");
      const auto [first, count] = range();
      expect("]");
      return {buffer, first, count};
    }
    fail("blocks: send[..], recv[..], temp[..] or nothing");
  }

  [[noreturn]] void fail(const std::string& expected) {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    throw std::invalid_argument("line " + std::to_string(number_) + ": expected " + expected + ", found " +
                                (rest.empty() ? "the end of the line" : "'" + std::string(rest) + "'"));
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int number_;
};

std::string all_operations() {
  std::string names;
  for (int i = 0; i < operation_count; ++i) names += (i > 0 ? ", " : "") + std::string(name(static_cast<Operation>(i)));
  return names;
}

/// "key {1 2 3}"
std::vector<std::int32_t> read_list(Line& line, std::string_view key) {
  std::vector<std::int32_t> numbers;
  line.expect(key);
  line.expect("{");
  while (!line.accept("}")) numbers.push_back(line.natural("a number"));
  return numbers;
}

/// Of a buffer, or temporary ones. 128 MiB of the latter: all pairs of 4096 ranks. Fewer where a fuzzer tries schedules by the million.
#ifdef OMNES_FUZZ
constexpr std::size_t max_blocks = std::size_t{1} << 16;
#else
constexpr std::size_t max_blocks = std::size_t{1} << 24;
#endif

void read_head(Line& line, Schedule& schedule) {
  Problem& problem = schedule.problem;
  const auto operation = operation_named(line.word());
  if (!operation) line.fail("an operation (" + all_operations() + ")");
  problem.operation = *operation;
  line.expect(name(*operation));
  const auto field = [&](std::string_view key, std::int32_t& value) {
    line.expect(key);
    value = line.natural(key);
  };
  field("p", problem.p);
  field("rank", problem.rank);
  field("root", problem.root);
  field("radix", problem.radix);
  field("segments", problem.segments);
  field("pieces", schedule.pieces);
  if (line.accept("in")) {
    line.expect("place");
    problem.in_place = true;
  }
  if (line.accept("first_group")) problem.first_group = line.natural("first_group");
  if (among_neighbors(problem.operation)) {
    problem.neighbors.sources = read_list(line, "sources");
    problem.neighbors.ports = read_list(line, "ports");
    problem.neighbors.destinations = read_list(line, "destinations");
  }
  const auto parts = std::max(static_cast<std::size_t>(data_blocks(problem, 1)), problem.neighbors.destinations.size());
  if (parts > 0 && static_cast<std::size_t>(schedule.pieces) > max_blocks / parts)
    line.fail("fewer pieces: no more than " + std::to_string(max_blocks) + " blocks in all");
}

void read_receivers(Line& line, Schedule& schedule, Op& op) {
  line.expect("to");
  if (!line.accept("{")) {
    op.peer = line.natural("a rank");
    return;
  }
  op.first_peer = static_cast<std::uint32_t>(schedule.peers.size());
  do schedule.peers.push_back(line.natural("a rank"));
  while (!line.accept("}"));
  op.peer_count = static_cast<std::uint32_t>(schedule.peers.size()) - op.first_peer;
}

void read_sender(Line& line, Op& op) {
  line.expect("from");
  op.peer = line.natural("a rank");
  op.published = line.accept("published");
}

void read_reduction(Line& line, Op& op) {
  op.dst = line.blocks();
  line.expect("=");
  op.incoming_first = line.accept("incoming");
  if (!op.incoming_first) op.a = line.blocks();
  line.expect(".");
  if (op.incoming_first)
    op.a = line.blocks();
  else
    line.expect("incoming");
}

Op read_op(Line& line, Schedule& schedule) {
  Op op;
  if (line.accept("publish")) {
    op.kind = OpKind::send;
    op.published = true;
    line.expect(":");
    op.a = line.blocks();
  } else if (line.accept("send")) {
    op.kind = OpKind::send;
    read_receivers(line, schedule, op);
    line.expect(":");
    op.a = line.blocks();
  } else if (line.accept("recv")) {
    op.kind = OpKind::recv;
    read_sender(line, op);
    line.expect(":");
    op.dst = line.blocks();
  } else if (line.accept("recv_reduce")) {
    op.kind = OpKind::recv_reduce;
    read_sender(line, op);
    line.expect(":");
    read_reduction(line, op);
  } else if (line.accept("copy")) {
    op.kind = OpKind::copy;
    line.expect(":");
    op.dst = line.blocks();
    line.expect("=");
    op.a = line.blocks();
  } else if (line.accept("reduce")) {
    op.kind = OpKind::reduce;
    line.expect(":");
    op.dst = line.blocks();
    line.expect("=");
    op.a = line.blocks();
    line.expect(".");
    op.b = line.blocks();
  } else {
    line.fail("an op (publish, send, recv, recv_reduce, copy, reduce)");
  }
  op.first_dep = static_cast<std::uint32_t>(schedule.deps.size());
  if (line.accept("after")) {
    do schedule.deps.push_back(static_cast<std::uint32_t>(line.natural("an op's number")));
    while (!line.done());
    op.dep_count = static_cast<std::uint32_t>(schedule.deps.size()) - op.first_dep;
  }
  return op;
}

void read_temp(Line& line, Schedule& schedule) {
  while (!line.done()) {
    const auto [first, count] = line.range();
    if (schedule.temp.size() + static_cast<std::size_t>(count) > max_blocks)
      line.fail("no more than " + std::to_string(max_blocks) + " temporary blocks in all");
    const std::int32_t rank = line.accept("@") ? line.natural("a rank") : schedule.problem.rank;
    for (std::int32_t i = 0; i < count; ++i) schedule.temp.push_back({first + i, rank});
  }
}

}  // namespace

std::string to_text(Blocks blocks) {
  if (blocks == Blocks{}) return "nothing";
  return std::string(name(blocks.buffer)) + "[" + range(blocks.first, blocks.count) + "]";
}

std::string to_text(const Schedule& schedule, const Op& op) {
  const std::string kind(name(op.kind));
  const std::string from = " from " + std::to_string(op.peer) + (op.published ? " published: " : ": ");
  switch (op.kind) {
    case OpKind::send:
      if (op.published) return "publish: " + to_text(op.a);
      return "send to " + receivers(schedule, op) + ": " + to_text(op.a);
    case OpKind::recv: return kind + from + to_text(op.dst);
    case OpKind::recv_reduce:
      return kind + from + to_text(op.dst) + " = " +
             (op.incoming_first ? "incoming . " + to_text(op.a) : to_text(op.a) + " . incoming");
    case OpKind::copy: return kind + ": " + to_text(op.dst) + " = " + to_text(op.a);
    case OpKind::reduce: return kind + ": " + to_text(op.dst) + " = " + to_text(op.a) + " . " + to_text(op.b);
  }
  return kind;
}

std::string to_text(const Schedule& schedule) {
  const Problem& problem = schedule.problem;
  std::string text(name(problem.operation));
  const auto field = [&](const char* key, int value) { text += std::string(" ") + key + " " + std::to_string(value); };
  field("p", problem.p);
  field("rank", problem.rank);
  field("root", problem.root);
  field("radix", problem.radix);
  field("segments", problem.segments);
  field("pieces", schedule.pieces);
  if (problem.in_place) text += " in place";
  if (problem.first_group > 0) field("first_group", problem.first_group);
  if (among_neighbors(problem.operation))
    text += list("sources", problem.neighbors.sources) + list("ports", problem.neighbors.ports) +
            list("destinations", problem.neighbors.destinations);
  text += "\n";
  if (!schedule.temp.empty()) text += "temp" + ranges(schedule) + "\n";
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op& op = schedule.ops[i];
    text += std::to_string(i) + " " + to_text(schedule, op);
    if (op.dep_count > 0) text += "  after";
    for (const std::uint32_t dep : schedule.deps_of(op)) text += " " + std::to_string(dep);
    text += "\n";
  }
  return text;
}

Schedule from_text(std::string_view text) {
  Schedule schedule;
  bool head = true;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.done()) continue;
    if (head) {
      read_head(line, schedule);
      head = false;
    } else if (schedule.ops.empty() && schedule.temp.empty() && line.accept("temp")) {
      read_temp(line, schedule);
    } else {
      const auto next = std::to_string(schedule.ops.size());
      if (!line.accept(next)) line.fail("op number " + next);
      schedule.ops.push_back(read_op(line, schedule));
    }
    if (!line.done()) line.fail("the end of the line");
  }
  if (head) throw std::invalid_argument("line 1: expected an operation, found no text");
  return schedule;
}

}  // namespace omnes
