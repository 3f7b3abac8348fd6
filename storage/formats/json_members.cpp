#include "storage/formats/json_members.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/json_nesting.h"
#include "storage/base/text.h"
#include "storage/formats/json_texts.h"

namespace berth {
namespace {

[[noreturn]] void refuse(size_t at) {
  throw Error(Code::kBadData, cat("is not valid JSON at byte ", at + 1));
}

// The place of the next character that is no blank.
size_t next_place(std::string_view text, size_t at) {
  at = text.find_first_not_of(kJsonBlanks, at);
  if (at == std::string_view::npos) refuse(text.size());
  return at;
}

size_t end_of_value(std::string_view text, size_t begin) {
  constexpr std::string_view kAfterScalar = ",]} \t\r\n";
  if (std::string_view("\"{[").find(text[begin]) == std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kAfterScalar, begin), text.size());
    if (end == begin) refuse(begin);
    return end;
  }
  JsonNesting nesting;
  for (size_t at = begin; at < text.size(); ++at) {
    nesting.add(text[at]);
    if (nesting.depth() == 0 && !nesting.in_string()) return at + 1;
  }
  refuse(text.size());
}

// The place of the value behind the key that ends at `end`.
size_t value_behind(std::string_view text, size_t end) {
  const size_t colon = next_place(text, end);
  if (text[colon] != ':') refuse(colon);
  return next_place(text, colon + 1);
}

}  // namespace

JsonMembers find_members(std::string_view text, size_t begin) {
  JsonMembers members{.is_object = text[begin] == '{'};
  const char closing = members.is_object ? '}' : ']';
  size_t at = next_place(text, begin + 1);
  if (text[at] == closing) return members;
  while (true) {
    if (members.is_object && text[at] != '"') refuse(at);
    members.begins.push_back(static_cast<uint32_t>(at));
    size_t end = end_of_value(text, at);
    if (members.is_object) end = end_of_value(text, value_behind(text, end));
    at = next_place(text, end);
    if (text[at] == closing) break;
    if (text[at] != ',') refuse(at);
    at = next_place(text, at + 1);
  }
  members.begins.shrink_to_fit();
  return members;
}

size_t value_place(std::string_view text, size_t begin, bool is_object) {
  return is_object ? value_behind(text, end_of_value(text, begin)) : begin;
}

JsonMember member_at(std::string_view text, size_t begin, bool is_object) {
  JsonMember member;
  if (is_object) {
    const size_t end = end_of_value(text, begin);
    member.key = text.substr(begin, end - begin);
    begin = value_behind(text, end);
  }
  member.value = text.substr(begin, end_of_value(text, begin) - begin);
  return member;
}

}  // namespace berth
