// Reading a file whole.
#include "topology/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace omnes::inline topology {

namespace {

constexpr std::size_t max_file_bytes = 16 << 20;  // of a file: a network of a million nodes with its switches
constexpr std::size_t max_echoed = 1600;          // bytes of a text that somebody is to read

[[noreturn]] void fail(int error) { throw std::invalid_argument(std::strerror(error)); }

struct File {
  int number;
  ~File() { close(number); }
};

}  // namespace

std::string read_file(const std::string& name) {
  const File file{open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // not to wait for the writer of a pipe
  if (file.number < 0) fail(errno);
  struct stat facts{};
  if (fstat(file.number, &facts) != 0) fail(errno);
  if (S_ISDIR(facts.st_mode)) fail(EISDIR);
  if (!S_ISREG(facts.st_mode)) throw std::invalid_argument("not a regular file");
  std::string text;
  for (char some[1 << 16];;) {
    const ssize_t count = read(file.number, some, sizeof some);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    if (count == 0) return text;
    text.append(some, static_cast<std::size_t>(count));
    if (text.size() > max_file_bytes)
      throw std::invalid_argument("longer than " + std::to_string(max_file_bytes >> 20) + " MiB");
  }
}

namespace {

/// The bytes of the character in UTF-8 that begins there; 0: there is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t bytes = byte(0) < 0x80 ? 1 : byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (byte(0) > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Not longer than need be, no surrogates, nothing beyond U+10FFFF.
  if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F)) return 0;
  if ((byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F)) return 0;
  return bytes;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  bool whole = text.size() <= max_echoed;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!whole && i >= max_echoed / 2) {
      line += " ... ";
      i = text.size() - max_echoed / 2;
      while (i + 1 < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) ++i;
      whole = true;
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t bytes = character(text.substr(i));
    if (bytes > 0 && byte >= ' ' && byte != 0x7F) {
      line += text.substr(i, bytes);
      i += bytes - 1;
    } else if (byte == '\n') {
      line += "\\n";
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      line += code;
    }
  }
  return line;
}

std::string in_ascii(std::string_view toml) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";  // of UTF-8, which editors put at the beginning
  if (toml.starts_with(mark)) toml.remove_prefix(mark.size());
  std::string text(toml);
  std::ranges::replace_if(text, [](unsigned char byte) { return byte > 0x7F; }, '?');
  return text;
}

}  // namespace omnes::inline topology
