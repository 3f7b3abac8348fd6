#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Says what is wrong with a text that should be a well-formed XML document of elements, texts and
// the five entities, or one or more such elements without a document around them. "" if nothing is
// wrong. It is stricter than XML: names are of letters, digits, '-' and ':', and each "&" begins
// one of those entities or a number.
inline std::string xml_problem(std::string_view text) {
  std::vector<std::string> open;
  const auto at = [&](size_t place, const std::string& what) {
    return what + ": " + std::string(text.substr(place < 40 ? 0 : place - 40, 100));
  };
  const auto entity_end = [&](size_t place) -> size_t {
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (text.substr(place).starts_with(entity)) return place + entity.size();
    }
    return 0;
  };
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':';
  };
  if (text.starts_with("<!DOCTYPE html>\n")) text.remove_prefix(16);
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n') return at(i, "a control character");
    if (c == '>') return at(i, "a lone >");
    if (c == '&') {
      if ((i = entity_end(i)) == 0) return at(i, "an unknown entity");
      continue;
    }
    if (c != '<') {
      ++i;
      continue;
    }
    const bool closes = text.substr(i).starts_with("</");
    size_t end = i + (closes ? 2 : 1);
    const size_t begin = end;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string name(text.substr(begin, end - begin));
    if (name.empty()) return at(i, "a tag without a name");
    if (closes) {
      if (open.empty() || open.back() != name) return at(i, "a wrong end of " + name);
      open.pop_back();
      if (text.substr(end, 1) != ">") return at(i, "a malformed end");
      i = end + 1;
      continue;
    }
    std::vector<std::string> attributes;
    while (text.substr(end, 1) == " ") {
      const size_t name_begin = ++end;
      while (end < text.size() && is_name(text[end])) ++end;
      const std::string attribute(text.substr(name_begin, end - name_begin));
      for (const std::string& other : attributes) {
        if (other == attribute) return at(i, "twice the attribute " + attribute);
      }
      attributes.push_back(attribute);
      if (attribute.empty() || text.substr(end, 2) != "=\"")
        return at(end, "an unquoted attribute");
      for (end += 2; end < text.size() && text[end] != '"';) {
        if (text[end] == '<') return at(end, "< in an attribute");
        if (text[end] != '&') {
          ++end;
        } else if ((end = entity_end(end)) == 0) {
          return at(i, "an unknown entity in " + attribute);
        }
      }
      ++end;
    }
    if (text.substr(end, 2) == "/>") {
      i = end + 2;
    } else if (text.substr(end, 1) == ">") {
      i = end + 1;
      open.push_back(name);
      // Style and data are text, in which ">" is allowed.
      if (name == "style" || name == "script") {
        i = text.find("</" + name, i);
        if (i == text.npos) return "an open " + name;
        if (text.substr(end + 1, i - end - 1).find_first_of("<&") != text.npos) {
          return "markup in " + name;
        }
      }
    } else {
      return at(i, "a malformed tag");
    }
  }
  return open.empty() ? "" : "an open " + open.back();
}

}  // namespace berth
