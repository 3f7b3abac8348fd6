#include "trainer/text/aligned_text.h"

#include <algorithm>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

void Origins::add(size_t count, Span origin) {
  const uint32_t at = size_;
  size_ += static_cast<uint32_t>(count);
  if (runs_.empty()) {
    runs_.push_back({at, origin});
    return;
  }
  Run& last = runs_.back();
  if (last.origin == origin) return;
  const uint32_t length = at - last.begin;
  const bool is_byte = count == 1 && origin.end - origin.begin == 1;
  const bool goes_on = is_byte && last.origin.begin + length == origin.begin;
  if (goes_on && last.origin.end == kOneByOne) return;
  if (goes_on && length == 1 && last.origin.end == origin.begin) {
    last.origin.end = kOneByOne;
    return;
  }
  runs_.push_back({at, origin});
}

size_t Origins::run_of(size_t byte) const {
  const auto holds = [&](size_t run) {
    return run < runs_.size() && runs_[run].begin <= byte &&
           (run + 1 == runs_.size() || byte < runs_[run + 1].begin);
  };
  for (const size_t run : {asked_, asked_ + 1}) {
    if (holds(run)) return run;
  }
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), byte,
                                      [](size_t at, const Run& run) { return at < run.begin; });
  return static_cast<size_t>(after - runs_.begin()) - 1;
}

Span Origins::of(size_t byte) const {
  asked_ = run_of(byte);
  const Run& run = runs_[asked_];
  if (run.origin.end != kOneByOne) return run.origin;
  const auto begin = static_cast<uint32_t>(run.origin.begin + (byte - run.begin));
  return {begin, begin + 1};
}

namespace {

// Unicode's normalization forms make at most 11 times as many bytes of a text (U+FDFA), or 13 times
// where U+2581 is then written for spaces. The constant is for what is inserted once.
constexpr size_t kMostGrowth = 32, kMostInserted = 64 << 10;

}  // namespace

void require_normalized_size(size_t original, size_t normalized) {
  if (normalized <= kMostGrowth * original + kMostInserted) return;
  throw Error(Code::kBadData,
              cat("the tokenizer's normalizer makes more than ", kMostGrowth,
                  " times as much of a text of ", counted(static_cast<int64_t>(original), "byte")),
              "", "use a tokenizer whose replacements are shorter");
}

AlignedText::AlignedText(std::string_view original, size_t shift, bool aligned)
    : original_(original), shift_(shift), aligned_(aligned) {}

AlignedText::AlignedText(const AlignedText& whole, size_t begin, size_t end)
    : original_(whole.original_),
      shift_(whole.shift_),
      aligned_(whole.aligned_),
      changed_(true),
      own_(whole.text().substr(begin, end - begin)) {
  if (!aligned_) return;
  for (size_t i = begin; i < end; ++i) origins_.add(1, whole.origin_of_byte(i));
}

// In an unchanged text, the origin of a byte is the whole character that contains it.
Span AlignedText::origin_of_byte(size_t i) const {
  if (changed_) return origins_.of(i);
  size_t begin = i, end = i + 1;
  while (begin > 0 && !begins_code_point(original_[begin])) --begin;
  while (end < original_.size() && !begins_code_point(original_[end])) ++end;
  return span_of(shift_ + begin, shift_ + end);
}

Span AlignedText::origin(size_t begin, size_t end) const {
  if (!aligned_ || begin >= end) return {};
  return {origin_of_byte(begin).begin, origin_of_byte(end - 1).end};
}

Rewriting::Rewriting(AlignedText& text) : text_(text), old_(text.text()) {}

void Rewriting::require_room() const {
  require_normalized_size(text_.original_.size(), own_.size());
}

void Rewriting::copy(size_t begin, size_t end) {
  own_ += old_.substr(begin, end - begin);
  if (!text_.aligned_) return;
  for (size_t i = begin; i < end; ++i) origins_.add(1, text_.origin_of_byte(i));
}

// From here on the new text is written out.
void Rewriting::differ() {
  if (differs_) return;
  differs_ = true;
  own_.reserve(old_.size() + 8);
  copy(0, place_);
}

// Goes past the next characters of the old text. Returns the origin of the first one.
Span Rewriting::skip(int32_t characters) {
  Span origin;
  if (place_ < old_.size()) origin = text_.origin_of_byte(place_);
  for (; characters > 0 && place_ < old_.size(); --characters) {
    place_ += decode_at(old_, place_).size_bytes;
  }
  return origin;
}

void Rewriting::add(ChangedCharacter next) {
  if (!differs_ && next.change == 0 && next.c < 0x80 && place_ < old_.size() &&
      static_cast<unsigned char>(old_[place_]) == next.c) {
    ++place_;
    return;
  }
  char bytes[4];
  const std::string_view character(bytes, encode_utf8(next.c, bytes));
  if (!differs_ && next.change == 0 && old_.substr(place_).starts_with(character)) {
    place_ += character.size();
    return;
  }
  differ();
  own_ += character;
  require_room();
  if (!text_.aligned_) return;
  Span origin;
  if (next.change <= 0) {
    origin = skip(1 - next.change);
  } else if (place_ > 0) {
    origin = text_.origin_of_byte(place_ - 1);
  }
  origins_.add(character.size(), origin);
}

void Rewriting::keep(size_t begin, size_t end) {
  if (!differs_ && begin == place_) {
    place_ = end;
    return;
  }
  if (begin == end) return;
  differ();
  copy(begin, end);
  require_room();
}

void Rewriting::insert(std::string_view bytes, size_t like) {
  if (bytes.empty()) return;
  differ();
  own_ += bytes;
  require_room();
  if (text_.aligned_) origins_.add(bytes.size(), text_.origin_of_byte(like));
}

void Rewriting::finish() {
  if (!differs_ && place_ == old_.size()) return;
  differ();
  text_.own_ = std::move(own_);
  text_.origins_ = std::move(origins_);
  text_.changed_ = true;
}

}  // namespace berth
