// Whatever text people may hand to omnes is understood or refused: by one line, in little time and memory, without a crash.
//
// One target for each parser, FUZZ_<target> set by the build; under libFuzzer (preset `fuzz`, Clang), and without it as a replay
// of the folder of inputs that is named (in ctest, any compiler).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/traffic.hpp"
#include "model/machine_costs.hpp"
#include "schedule/text.hpp"
#include "schedule/verify.hpp"
#include "select/choice.hpp"
#include "select/settings.hpp"
#include "select/table.hpp"
#include "topology/described.hpp"
#include "topology/hostlist.hpp"
#include "topology/levels.hpp"
#include "topology/network.hpp"

namespace {

using namespace omnes;

std::string last;  ///< the input, for a debugger and for broken()

[[noreturn]] void broken(const std::string& what, std::string_view text) {
  if (!last.empty()) std::fprintf(stderr, "input: %s\n", last.c_str());
  std::fprintf(stderr, "%s: %.*s\n", what.c_str(), static_cast<int>(text.size()), text.data());
  std::abort();
}

/// What is refused is refused with std::invalid_argument and one line.
template <class Parse>
void refused_in_one_line(Parse parse) {
  try {
    parse();
  } catch (const std::invalid_argument& error) {
    const std::string_view line = error.what();
    if (line.empty()) broken("an empty complaint", line);
    if (line.size() > 8192) broken("a complaint of more than 8192 bytes", line.substr(0, 200));
    for (const unsigned char c : line)
      if (c == '\n') broken("a complaint of more than one line", line);
  }
}

/// Parsers that read files get one, which has no name that could stay.
std::string as_file(std::string_view text) {
  static const int file = memfd_create("input", MFD_CLOEXEC);
  static const std::string name = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    broken("cannot be written to a file", text);
  return name;
}

[[maybe_unused]] void schedule(std::string_view text) {
  refused_in_one_line([&] {
    const Schedule read = from_text(text);
    // What was understood can be written, and means the same.
    const std::string written = to_text(read);
    if (to_text(from_text(written)) != written) broken("does not round-trip", written);
  });
}
/// The schedules of all ranks, each begun by its head, are proved or not.
[[maybe_unused]] void proof(std::string_view text) {
  std::vector<std::string> ranks;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    if (ranks.empty() || operation_named(line.substr(0, line.find(" p ")))) ranks.emplace_back();
    ranks.back() += line;
  }
  refused_in_one_line([&] {
    std::vector<Schedule> schedules;
    for (const std::string& rank : ranks) schedules.push_back(from_text(rank));
    if (const auto finding = verify(schedules)) throw std::invalid_argument(to_text(*finding));
  });
}
[[maybe_unused]] void traffic(std::string_view text) {
  std::istringstream lines{std::string(text)};
  refused_in_one_line([&] { mapping::read_traffic(lines); });
}
[[maybe_unused]] void table(std::string_view text) {
  refused_in_one_line([&] {
    parse_own_table(text, "table.toml");
    settings_of_own_table(text, "table.toml");
  });
}
[[maybe_unused]] void machine(std::string_view text) {
  refused_in_one_line([&] { model::parse_machine(text); });
}
[[maybe_unused]] void network(std::string_view text) {
  refused_in_one_line([&] { read_network(as_file(text)); });
}
[[maybe_unused]] void ranks(std::string_view text) {
  refused_in_one_line([&] { read_ranks(as_file(text), nullptr); });
}
[[maybe_unused]] void pattern(std::string_view text) {
  refused_in_one_line([&] { described(read_ranks(std::string(text), nullptr), nullptr, nullptr); });
}
[[maybe_unused]] void hostlist(std::string_view text) {
  refused_in_one_line([&] { expand_hostlist(text); });
  refused_in_one_line([&] { parse_cpus(text); });
  refused_in_one_line([&] { parse_levels(text); });
}
/// Choices, as in info keys and variables; the first byte says of which operation.
[[maybe_unused]] void choice(std::string_view text) {
  if (text.empty()) return;
  const auto operation = static_cast<Operation>(static_cast<unsigned char>(text[0]) % operation_count);
  refused_in_one_line([&] {
    const Choice read = parse_wish(operation, text.substr(1));
    if (parse_wish(operation, to_string(read)) != read) broken("does not round-trip", to_string(read));
  });
  refused_in_one_line([&] { parse_bytes(text); });
}
/// Lines NAME=value, without those that name files.
[[maybe_unused]] void settings(std::string_view text) {
  std::string lines(text);
  std::vector<const char*> variables{"OMNES_TABLE=off", "OMNES_MACHINE=off"};
  for (std::size_t from = 0; from < lines.size();) {
    const std::size_t to = std::min(lines.find('\n', from), lines.size());
    if (to < lines.size()) lines[to] = '\0';
    const std::string_view line = lines.c_str() + from;
    if (!line.starts_with("OMNES_TABLE=") && !line.starts_with("OMNES_MACHINE="))
      variables.push_back(lines.c_str() + from);
    from = to + 1;
  }
  variables.push_back(nullptr);
  refused_in_one_line([&] { Settings::from(variables.data()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifndef OMNES_FUZZ
namespace {

/// The same numbers in every run (splitmix64).
std::uint64_t number() {
  static std::uint64_t state = 1;
  std::uint64_t x = state += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Bytes changed, left out, put in, and pieces of others put in, a few times over.
std::string changed(std::string text, const std::vector<std::string>& all) {
  static constexpr std::string_view words[] = {"0",          "-1",  "99999999999999999999",
                                               "4294967296", "[",   "]",
                                               "..",         ",",   "=",
                                               "\n",         "\0",  "\x1b",
                                               " ",          "{",   "}",
                                               "@",          "#",   "\"",
                                               "K",          "e308"};
  for (std::uint64_t times = 1 + number() % 4; times > 0; --times) {
    const std::size_t at = number() % (text.size() + 1);
    switch (number() % 5) {
      case 0: text.insert(at, words[number() % std::size(words)]); break;
      case 1: text.erase(at, 1 + number() % 8); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(number());
        break;
      case 3: text.insert(at, text.substr(number() % (text.size() + 1), number() % 40)); break;
      default: {
        const std::string& other = all[number() % all.size()];
        text.insert(at, other.substr(number() % (other.size() + 1), number() % 60));
      }
    }
  }
  return text;
}

void try_one(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

/// Usage: fuzz_TARGET FOLDER [N]: each file, each cut short after every byte, and N times one of them changed at random.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    all.push_back({std::istreambuf_iterator<char>(file), {}});
  }
  if (all.empty()) return 2;
  std::sort(all.begin(), all.end());
  for (const std::string& text : all)
    for (std::size_t size = 0; size <= text.size(); ++size) try_one(text.substr(0, size));
  for (long left = argc > 2 ? std::atol(argv[2]) : 0; left > 0; --left) {
    last = changed(all[number() % all.size()], all);
    try_one(last);
  }
  return 0;
}
#endif
