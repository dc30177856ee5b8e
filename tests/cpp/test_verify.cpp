// The verifier against schedules with one defect each, and against the same schedules without it.
//
// The cases lie in tests/must_fail, one file each: why it is wrong; what is claimed, if anything; the finding; and the
// schedules of all ranks in the text form as a difference: lines with - are only in the defective version, lines with +
// only in the repaired one.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schedule/text.hpp"
#include "schedule/verify.hpp"

namespace omnes {
namespace {

const std::filesystem::path folder = std::filesystem::path(OMNES_TESTS) / "must_fail";

struct MustFail {
  std::string finding;
  Claims claims;
  std::vector<Schedule> defective, repaired;
};

bool opens_schedule(const std::string& line) { return operation_named(line.substr(0, line.find(' '))).has_value(); }

/// The schedules of the lines that start with a space or `mark`.
std::vector<Schedule> schedules_of(const std::vector<std::string>& lines, char mark) {
  std::vector<std::string> texts;
  for (const std::string& line : lines) {
    if (line[0] != ' ' && line[0] != mark) continue;
    const std::string content = line.substr(2);
    if (opens_schedule(content)) texts.emplace_back();
    texts.back() += content + "\n";
  }
  std::vector<Schedule> schedules;
  for (const std::string& text : texts) schedules.push_back(from_text(text));
  return schedules;
}

MustFail read(const std::filesystem::path& path) {
  MustFail found;
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("finds ")) found.finding = line.substr(6);
    if (line == "claims ordered") found.claims.ordered = true;
    if (line.starts_with("  ") || line.starts_with("- ") || line.starts_with("+ ")) lines.push_back(line);
  }
  found.defective = schedules_of(lines, '-');
  found.repaired = schedules_of(lines, '+');
  return found;
}

class Verify : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Verify, FindsTheDefect) {
  const MustFail wanted = read(GetParam());
  const auto finding = verify(wanted.defective, wanted.claims);
  ASSERT_TRUE(finding) << "not found";
  EXPECT_EQ(to_text(*finding), wanted.finding);
}

TEST_P(Verify, PassesWithoutIt) {
  const MustFail wanted = read(GetParam());
  const auto finding = verify(wanted.repaired, wanted.claims);
  EXPECT_FALSE(finding) << to_text(*finding);
}

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}
INSTANTIATE_TEST_SUITE_P(MustFail, Verify, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.stem().string(); });

/// Defects that the text form cannot express.
struct Malformed {
  const char* message;
  void (*spoil)(Schedule& schedule);
};

const Malformed malformed[] = {
    {"its dependencies lie outside the pool", [](Schedule& s) { s.ops[0].dep_count = 2; }},
    {"its peers lie outside the pool", [](Schedule& s) { s.ops[0].peer_count = 1; }},
    {"only a plain send has a set of peers", [](Schedule& s) { s.peers.push_back(0), s.ops[0].peer_count = 1; }},
    {"is published but is not a message", [](Schedule& s) { s.ops[1].published = true; }},
    {"has no incoming operand that could be first", [](Schedule& s) { s.ops[0].incoming_first = true; }},
    {"names no rank to exchange with", [](Schedule& s) { s.ops[0].peer = -1; }},
    {"names a rank where it may not", [](Schedule& s) { s.ops[1].peer = 0; }},
    {"names blocks that this kind of op does not use", [](Schedule& s) { s.ops[1].b = s.ops[1].a; }},
    {"is the schedule of rank 0", [](Schedule& s) { s.problem.rank = 0; }},
    {"is of another operation than rank 0's", [](Schedule& s) { s.problem.operation = Operation::reduce; }},
    {"is for 3 ranks, but there are 2 schedules", [](Schedule& s) { s.problem.p = 3; }},
    {"cuts parts into 0 pieces", [](Schedule& s) { s.pieces = 0; }},
};

TEST(Shape, IsChecked) {
  const std::vector<Schedule> good = read(folder / "temp_of_another_size.txt").repaired;
  ASSERT_FALSE(verify(good));
  for (const auto& [message, spoil] : malformed) {
    std::vector<Schedule> bad = good;
    spoil(bad[1]);
    const auto finding = verify(bad);
    ASSERT_TRUE(finding) << message;
    EXPECT_EQ(finding->message, message);
    EXPECT_EQ(finding->rank, 1);
  }
}

TEST(Shape, RootIsInTheGroup) {
  std::vector<Schedule> schedules = read(folder / "temp_of_another_size.txt").repaired;
  for (Schedule& schedule : schedules) schedule.problem.root = 2;
  EXPECT_EQ(to_text(verify(schedules).value()), "rank 0: root 2 is not in 0..1");
}

/// Whether an operation is in rank order matters only where it is claimed.
TEST(Claims, OrderIsOptional) {
  const MustFail backwards = read(folder / "wrong_operand_order.txt");
  EXPECT_TRUE(verify(backwards.defective, {.ordered = true}));
  EXPECT_FALSE(verify(backwards.defective, {.ordered = false}));
}

TEST(Group, NeedsSchedules) { EXPECT_TRUE(verify({})); }

TEST(Group, NeedsOneForEachRank) {
  const auto schedules = read(folder / "crossed_sends.txt").repaired;
  EXPECT_TRUE(verify(std::span(schedules).first(1)));
}

}  // namespace
}  // namespace omnes
