// The lines of a description that a person wrote, and errors that say where.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace omnes::inline topology {

/// What stands at a place of a file; an error there is one line: file, line number, what was wrong, what is expected.
struct Line {
  std::string place;               ///< "FILE:NUMBER"
  std::vector<std::string> words;  ///< at least one

  /// Throws std::invalid_argument: "FILE:NUMBER: " and the complaint.
  [[noreturn]] void fail(const std::string& complaint) const;
};

/// The lines that hold anything but a comment, which goes from # to the end; a line that ends in \ continues in the
/// next. Throws std::invalid_argument when the file cannot be read.
std::vector<Line> read_lines(const std::string& file);

/// "a,b[1,2],c" -> {"a", "b[1,2]", "c"}: what commas outside of brackets separate.
std::vector<std::string_view> split_list(std::string_view text);

}  // namespace omnes::inline topology
