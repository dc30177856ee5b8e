// The settings of omnes as parameters of Open MPI: OMNES_STATS is coll_omnes_stats.
#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "component/bridge.h"
#include "schedule/schedule.hpp"
#include "select/settings.hpp"

namespace omnes {

namespace {

constexpr struct {
  std::string_view variable;  // without OMNES_
  const char* about;
} abouts[] = {
    {"ASYNC", "1: a thread moves nonblocking operations on while the program computes (default: 0)"},
    {"DIRECT_COPY", "Size from which messages in mapped memory are read in place (default: 16K or 32K)"},
    {"FAKE_NODES", "Pretend that the ranks of a machine lie on this number of nodes (default: 1)"},
    {"HEAP", "What lies in memory that ranks map: off, alloc_mem, shared (default: alloc_mem)"},
    {"LEVELS", "The levels of the machine that algorithms know of, such as numa,node (default: all)"},
    {"MACHINE", "File of what messages cost; off (default: ~/.config/omnes/machine.toml)"},
    {"OFF", "1: everything is left to other components (default: 0)"},
    {"REMAP", "Whether ranks are renumbered: off, exch, reorder, auto (default: auto)"},
    {"REPRODUCIBLE", "1: reductions give the same bits wherever ranks lie and whatever the size (default: 0)"},
    {"SINGLE_COPY", "Size from which other messages are read by a system call; off (default: 96K or off)"},
    {"SLOTS", "Number of slots of a rank's queue of short messages (default: by ranks)"},
    {"SLOT_BYTES", "Size of such a slot (default: 32K)"},
    {"STATS", "Folder where each rank writes at the end of the job what ran (default: none)"},
    {"STATS_SITES", "1: with stats, also where calls are made (default: 0)"},
    {"TABLE", "File of rules before the compiled-in ones; off (default: ~/.config/omnes/table.toml)"},
    {"TOPOLOGY", "File of the network's switches (default: Slurm's)"},
    {"TRANSPORT", "auto, or mpi: no shared memory, all data go by point-to-point messages (default: auto)"},
    {"WAIT", "How ranks wait: spin, yield, auto (default: auto)"},
};

std::vector<OmnesParameter> all_parameters() {
  static std::deque<std::string> texts;  // which stay where they are
  std::vector<OmnesParameter> parameters;
  const auto add = [&](const std::string& variable, const char* about) {
    std::string name = variable.substr(variable.find('_') + 1);
    std::ranges::transform(name, name.begin(), [](char c) { return c == '_' ? c : static_cast<char>(c - 'A' + 'a'); });
    parameters.push_back({texts.emplace_back(name).c_str(), texts.emplace_back(variable).c_str(), about});
  };
  for (const auto& [variable, about] : abouts) add("OMNES_" + std::string(variable), about);
  for (const bool blocking : {true, false})
    for (int i = 0; i < operation_count; ++i) {
      const auto operation = static_cast<Operation>(i);
      const std::string about = "Algorithm of " + std::string(name(operation)) +
                                (blocking ? "" : " where it does not block") +
                                ", such as knomial:k=4; omnes list names them (default: by table and model)";
      add(variable_of(operation, blocking), texts.emplace_back(about).c_str());
    }
  parameters.push_back({});
  return parameters;
}

}  // namespace

}  // namespace omnes

extern "C" const OmnesParameter* omnes_parameters() {
  static const std::vector<OmnesParameter> all = omnes::all_parameters();
  return all.data();
}
