#include "trainer/text/aligned_text.h"

#include <utility>

namespace berth {

namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

AlignedText::AlignedText(std::string_view original, size_t shift, bool aligned)
    : original_(original), shift_(shift), aligned_(aligned) {}

// In an unchanged text, the origin of a byte is the whole character that contains it.
Span AlignedText::origin_of_byte(size_t i) const {
  if (changed_) return origins_[i];
  size_t begin = i, end = i + 1;
  while (begin > 0 && !begins_character(original_[begin])) --begin;
  while (end < original_.size() && !begins_character(original_[end])) ++end;
  return {static_cast<uint32_t>(shift_ + begin), static_cast<uint32_t>(shift_ + end)};
}

Span AlignedText::origin(size_t begin, size_t end) const {
  if (!aligned_ || begin >= end) return {};
  return {origin_of_byte(begin).begin, origin_of_byte(end - 1).end};
}

void AlignedText::transform(const std::vector<ChangedCharacter>& characters, size_t removed) {
  const std::string_view old = text();
  size_t place = 0;
  const auto skip = [&](size_t count) {
    for (; count > 0 && place < old.size(); --count)
      place += decode_utf8(old.substr(place)).size_bytes;
  };
  std::string text;
  std::vector<Span> origins;
  text.reserve(old.size() + 8);
  if (aligned_) {
    origins.reserve(old.size() + 8);
    skip(removed);
  }
  for (const auto& [c, change] : characters) {
    char bytes[4];
    const size_t size = encode_utf8(c, bytes);
    text.append(bytes, size);
    if (!aligned_) continue;
    Span from;
    if (change > 0) {
      if (place > 0) from = origin_of_byte(place - 1);
    } else {
      if (place < old.size()) from = origin_of_byte(place);
      skip(static_cast<size_t>(1 - change));
    }
    origins.insert(origins.end(), size, from);
  }
  own_ = std::move(text);
  origins_ = std::move(origins);
  changed_ = true;
}

void AlignedText::rebuild(const std::vector<Part>& parts) {
  const std::string_view old = text();
  std::string text;
  std::vector<Span> origins;
  text.reserve(old.size() + 8);
  for (const Part& part : parts) {
    if (!part.inserted.empty()) {
      text += part.inserted;
      if (!aligned_) continue;
      const Span from = part.like == SIZE_MAX ? Span{} : origin_of_byte(part.like);
      origins.insert(origins.end(), part.inserted.size(), from);
    } else {
      text += old.substr(part.begin, part.end - part.begin);
      if (!aligned_) continue;
      for (size_t i = part.begin; i < part.end; ++i) origins.push_back(origin_of_byte(i));
    }
  }
  own_ = std::move(text);
  origins_ = std::move(origins);
  changed_ = true;
}

}  // namespace berth
