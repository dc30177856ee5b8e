// Reading lines and lists.
#include "topology/lines.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "topology/file.hpp"

namespace omnes::inline topology {

void Line::fail(const std::string& complaint) const { throw std::invalid_argument(place + ": " + complaint); }

std::vector<Line> read_lines(const std::string& file) {
  std::istringstream stream;
  try {
    stream.str(read_file(file));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(file + ": " + error.what());
  }
  std::vector<Line> lines;
  int number = 0;
  bool continues = false;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    text.erase(std::min(text.find('#'), text.size()));
    const std::size_t last = text.find_last_not_of(" \t\r");
    const bool more = last != text.npos && text[last] == '\\';
    if (more) text.erase(last);
    if (!continues) lines.push_back({file + ":" + std::to_string(number), {}});
    std::istringstream words(text);
    for (std::string word; words >> word;) lines.back().words.push_back(word);
    continues = more;
    if (!more && lines.back().words.empty()) lines.pop_back();
  }
  if (continues && lines.back().words.empty()) lines.pop_back();
  return lines;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !inside)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '[' || text[i] == ']') {
      inside = text[i] == '[';
    }
  }
  return parts;
}

}  // namespace omnes::inline topology
