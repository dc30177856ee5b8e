// Who says what, in the words of MPI.
#include "interpose/check/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "interpose/check/sources.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose::check {

namespace {

constexpr useconds_t short_while = 20'000;   // us
constexpr int while_others_come = 15;        // such: so that the line can say what all call
constexpr int while_another_ends_it = 1000;  // such, about
constexpr std::uint64_t the_end = 1;         // what is reported when the job ends

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", seconds);
  return text;
}

/// As that member gives it; empty: it gives none.
std::string root_text(const Watched& watched, int member, int root) {
  if (root == Notice::beside_root) return "MPI_PROC_NULL";
  if (root < 0) return "";
  if (watched.first_group > 0 && root == member) return "MPI_ROOT";
  const int first = group_of(root, static_cast<int>(watched.ranks.size()), watched.first_group).first;
  return std::to_string(root - first) + (watched.first_group > 0 ? " of the other group" : "");
}

/// "(root 0, MPI_SUM, 40 bytes: 4-byte integers)"
std::string details(const Notice& notice, const std::string& root) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? " (" : ", ") + more; };
  if (!root.empty()) add("root " + root);
  if (notice.reduction != 0) add(reduction_name(notice.reduction));
  const bool has_data = is_collective(notice.function) && operation_of(notice.function) != Operation::barrier &&
                        notice.type != 0 && !(notice.flags & Notice::unknown);
  if (has_data) add(std::to_string(notice.bytes) + " bytes of " + type_name(notice.type));
  return text.empty() ? text : text + ")";
}

/// Whoever is not the first to say why the job ends waits for its end here.
void only_one_goes_on() {
  if (first_to_report(the_end)) return;
  for (int i = 0; i < while_another_ends_it; ++i) usleep(short_while);
}

[[noreturn]] void end_job(const std::string& line) {
  say(line);
  usleep(5 * short_while);  // launchers may drop what they have not read
  host.Abort(handles.comm_world, 1);
  _exit(1);
}

}  // namespace

void say(const std::string& line) {
  const std::string text = "omnes: check: " + line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0, end; i < ranks.size(); i = end) {
    end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i == 2) --end;
    runs.push_back(std::to_string(ranks[i]) + (end - i > 1 ? "-" + std::to_string(ranks[end - 1]) : ""));
  }
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i) text += (i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ") + runs[i];
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::string call_name(const Watched& watched, std::uint8_t function, std::uint64_t number) {
  return function_name(function) + ", call no. " + std::to_string(number) + " on " + watched.name;
}

void disagree(Watched& watched, std::uint64_t number, std::string_view about) {
  only_one_goes_on();
  const int p = static_cast<int>(watched.ranks.size());
  std::vector<std::optional<Notice>> notices(p);
  for (int i = 0, missing = p; i < while_others_come && missing > 0; ++i) {
    if (i > 0) usleep(short_while);
    missing = 0;
    for (int r = 0; r < p; ++r) {
      if (!notices[r]) notices[r] = watched.notice_of(r, number);
      missing += !notices[r] && area_of(watched.ranks[r]) != nullptr;
    }
  }
  // Those that call the same, in the order of their first ranks.
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::vector<int>> calls;
  std::vector<int> missing;
  for (int r = 0; r < p; ++r) {
    const int rank = watched.ranks[r];
    if (const auto& notice = notices[r])
      calls[{function_name(notice->function) + details(*notice, root_text(watched, r, notice->root)),
             source_line(*area_of(rank), notice->site), notice->hash * !(notice->flags & Notice::opaque)}]
          .push_back(rank);
    else if (area_of(rank))
      missing.push_back(rank);
  }
  std::vector<std::pair<std::vector<int>, std::string>> lines;
  for (const auto& [what, ranks] : calls)
    lines.emplace_back(ranks, ranks_text(ranks) + " " + (ranks.size() == 1 ? "calls " : "call ") + std::get<0>(what) +
                                  " at " + std::get<1>(what));
  std::ranges::sort(lines);
  std::string text =
      "call no. " + std::to_string(number) + " on " + watched.name + ": " + std::string(about) + " on its ranks: ";
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "; ") + lines[i].second;
  if (!missing.empty()) text += "; " + ranks_text(missing) + (missing.size() == 1 ? " has" : " have") + " not come";
  end_job(text);
}

void disagree_about_part(Watched& watched, std::uint64_t number, int from, int to, std::uint64_t sent,
                         std::uint64_t received) {
  only_one_goes_on();
  const auto where = [&](int member) {
    const auto notice = watched.notice_of(member, number);
    const int rank = watched.ranks[member];
    return "rank " + std::to_string(rank) +
           (notice ? " (" + function_name(notice->function) + " at " + source_line(*area_of(rank), notice->site) + ")"
                   : "");
  };
  const std::string bytes =
      sent == received ? std::to_string(sent) + " bytes of other types" : std::to_string(received) + " bytes";
  const std::string what = "call no. " + std::to_string(number) + " on " + watched.name +
                           ": different counts or datatypes: " + where(from) + " sends " + std::to_string(sent) +
                           " bytes to ";
  if (from == to) end_job(what + "itself, and receives " + bytes + " from itself");
  end_job(what + "rank " + std::to_string(watched.ranks[to]) + ", and " + where(to) + " receives " + bytes +
          " from it");
}

void tell_missing(Watched& watched, std::uint64_t number, const std::vector<int>& missing, double seconds) {
  const Area& mine = own_area();
  const std::optional<Notice> own = watched.notice_of(watched.rank, number);
  std::vector<int> ranks;
  std::string doing;
  constexpr std::size_t max_described = 4;  // ranks: a line should stay one
  for (const int member : missing) {
    const int rank = watched.ranks[member];
    ranks.push_back(rank);
    if (ranks.size() > max_described) continue;
    const Area& area = *area_of(rank);
    const auto what = static_cast<std::uint8_t>(area.what.load(std::memory_order_relaxed));
    const double since = static_cast<double>(coarse_now() - area.since.load(std::memory_order_relaxed)) * 1e-9;
    doing += "; rank " + std::to_string(rank) + " ";
    if (area.since.load(std::memory_order_relaxed) == 0)
      doing += "has called nothing that omnes sees";
    else if (what != 0)
      doing += "is in " + function_name(what) + " since " + seconds_text(since) + " s";
    else
      doing += "is in no call that omnes sees since " + seconds_text(since) + " s; its last one was " +
               function_name(static_cast<std::uint8_t>(area.last.load(std::memory_order_relaxed)));
  }
  say(ranks_text(ranks) + (ranks.size() == 1 ? " has" : " have") + " not reached " +
      call_name(watched, own ? own->function : 0, number) + ", where rank " +
      std::to_string(watched.ranks[watched.rank]) + " waits since " + seconds_text(seconds) + " s (" +
      (own ? source_line(mine, own->site) : "an unknown place") + ")" + doing);
}

}  // namespace omnes::interpose::check
