// The verifier's parts in the order in which they rely on each other.
#include "schedule/verify.hpp"

#include "schedule/verifier/group.hpp"

namespace omnes {

std::string to_text(const Finding& finding) {
  std::string text = "rank " + std::to_string(finding.rank);
  if (finding.op >= 0) text += " op " + std::to_string(finding.op);
  if (!finding.block.empty()) text += ", " + finding.block;
  return text + ": " + finding.message;
}

std::optional<Finding> verify(std::span<const Schedule> schedules, Claims claims) {
  using namespace verifier;
  if (auto finding = check_shape(schedules)) return finding;
  const verifier::Group group(schedules);
  Messages messages;
  if (auto finding = match_messages(group, messages)) return finding;
  if (auto finding = check_hazards(group)) return finding;
  return run(group, messages, claims);
}

}  // namespace omnes
