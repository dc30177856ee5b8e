// Reading the files that people name, in programs that must not hang or run out of memory over a wrong name.
#pragma once

#include <string>
#include <string_view>

namespace omnes::inline topology {

/// The text of a regular file of sane length. Throws std::invalid_argument, which says what is wrong, but not with which file.
std::string read_file(const std::string& name);

/// Text on one line, whatever it says: what is not printable as \n or \x1b, and very long text without its middle. For
/// errors, which echo what was written.
std::string one_line(std::string_view text);

/// The line of a TOML file's first character beyond ASCII outside of quotes and comments, where TOML has none; 0: it has none, either.
/// For such a character, and in text over several lines, which counts as outside here, toml++ 3.4 does what is not defined.
int line_beyond_ascii(std::string_view toml);

}  // namespace omnes::inline topology
