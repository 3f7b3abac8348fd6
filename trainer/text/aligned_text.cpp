#include "trainer/text/aligned_text.h"

#include <utility>

#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

namespace {

// Unicode's normalization forms make at most 11 times as many bytes of a text (U+FDFA), or 13 times
// where U+2581 is then written for spaces. The constant is for what is inserted once.
constexpr size_t kMostGrowth = 32, kMostInserted = 64 << 10;

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

AlignedText::AlignedText(const AlignedText& whole, size_t begin, size_t end)
    : original_(whole.original_),
      shift_(whole.shift_),
      aligned_(whole.aligned_),
      changed_(true),
      own_(whole.text().substr(begin, end - begin)) {
  if (!aligned_) return;
  origins_.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) origins_.push_back(whole.origin_of_byte(i));
}

void AlignedText::require_room(size_t size) const {
  require_normalized_size(original_.size(), size);
}

void require_normalized_size(size_t original, size_t normalized) {
  if (normalized <= kMostGrowth * original + kMostInserted) return;
  throw Error(Code::kBadData,
              cat("the tokenizer's normalizer makes more than ", kMostGrowth,
                  " times as much of a text of ", counted(static_cast<int64_t>(original), "byte")),
              "", "use a tokenizer whose replacements are shorter");
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
  size_t size = 0;
  for (const Part& part : parts) {
    size += part.inserted.empty() ? part.end - part.begin : part.inserted.size();
  }
  require_room(size);
  text.reserve(size);
  if (aligned_) origins.reserve(size);
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
