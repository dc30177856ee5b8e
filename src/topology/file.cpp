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

constexpr std::size_t max_bytes = 16 << 20;  // of a file: a network of a million nodes with its switches
constexpr std::size_t max_echoed = 1600;     // bytes of a text that somebody is to read

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
    if (text.size() > max_bytes) throw std::invalid_argument("longer than " + std::to_string(max_bytes >> 20) + " MiB");
  }
}

std::string one_line(std::string_view text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.size() > max_echoed && i == max_echoed / 2) {
      line += " ... ";
      i = text.size() - max_echoed / 2;
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= ' ' && byte != 0x7F) {  // parts of longer UTF-8 characters, too
      line += text[i];
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
