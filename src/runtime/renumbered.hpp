// What renumbering has found for the schedules of one operation. How it is found: renumbering.hpp.
#pragma once

#include <memory>
#include <string>

namespace omnes::mapping {
struct Mapping;
enum class Fixup;
}  // namespace omnes::mapping

namespace omnes::inline runtime {

/// How the schedules of one operation are renumbered.
struct Renumbered {
  std::shared_ptr<const mapping::Mapping> mapping = {};  ///< none: every rank plays itself
  mapping::Fixup fixup = {};
  bool ordered = false;      ///< a reduction must combine in the order of the real ranks
  double gain = 1;           ///< predicted, of the time of messages
  std::string why = {};      ///< the gain, or why ranks play themselves
  std::string text() const;  ///< " remap=reorder" behind an algorithm's name; empty where ranks play themselves
};

}  // namespace omnes::inline runtime
