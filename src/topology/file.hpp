// Reading the files that people name, in programs that must not hang or run out of memory over a wrong name.
#pragma once

#include <string>
#include <string_view>

namespace omnes::inline topology {

/// The text of a regular file of sane length. Throws std::invalid_argument, which says what is wrong, but not with which file.
std::string read_file(const std::string& name);

/// Text on one line, whatever it says: what is not printable, or no UTF-8, as \n or \x1b, and very long text without its middle. For
/// errors, which echo what was written.
std::string one_line(std::string_view text);

/// The text for toml++, of which some versions do what is not defined with some letters beyond ASCII where TOML has none: each byte of such letters is
/// a question mark.
std::string in_ascii(std::string_view toml);

}  // namespace omnes::inline topology
