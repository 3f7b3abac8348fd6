#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/text/unicode.h"

namespace berth {

struct NormalizerOptions {
  bool clean_text = true;            // removes kRemoved; kToSpace becomes a space
  bool handle_chinese_chars = true;  // puts spaces around kCjk
  bool strip_accents = true;         // NFD, then removes kNonspacingMark
  bool lowercase = true;             // the last step, for each character by itself
};

// The BertNormalizer of `tokenizers` 0.23. It makes one pass over the text and never copies it.
// Each resulting character is passed to a sink:
//   bool ascii(char c);             // returns false to stop
//   bool character(char32_t c, uint8_t classes);  // any character, ASCII included
// Immutable and thread-safe.
class Normalizer {
 public:
  explicit Normalizer(const NormalizerOptions& options);

  const NormalizerOptions& options() const { return options_; }

  template <typename Sink>
  void normalize(std::string_view text, Sink& sink) const;

  std::string normalized(std::string_view text) const;

 private:
  // Characters with a combining class. They wait until the next starter, and are then put into
  // canonical order.
  using Pending = std::vector<std::pair<uint8_t, char32_t>>;

  static constexpr uint8_t kDropByte = 0xFF, kDecodeByte = 0xFE;

  static void sort(Pending& pending);

  template <typename Sink>
  bool decoded(char32_t c, Pending& pending, Sink& sink) const;
  template <typename Sink>
  bool decomposed(char32_t c, Pending& pending, Sink& sink) const;
  template <typename Sink>
  bool lowered(char32_t c, Sink& sink) const;
  template <typename Sink>
  bool release(Pending& pending, Sink& sink) const;

  NormalizerOptions options_;
  const CharacterClasses& classes_;
  std::array<uint8_t, 256> byte_map_;  // what an ASCII byte becomes, or one of the two constants
};

template <typename Sink>
void Normalizer::normalize(std::string_view text, Sink& sink) const {
  Pending pending;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    uint8_t mapped = byte_map_[static_cast<unsigned char>(*p)];
    if (mapped < 0x80) {
      if (!release(pending, sink)) return;
      do {
        if (!sink.ascii(static_cast<char>(mapped))) return;
      } while (++p != end && (mapped = byte_map_[static_cast<unsigned char>(*p)]) < 0x80);
    } else if (mapped == kDropByte) {
      ++p;
    } else {
      const DecodedCharacter next = decode_utf8({p, static_cast<size_t>(end - p)});
      if (!decoded(next.code_point, pending, sink)) return;
      p += next.size_bytes;
    }
  }
  release(pending, sink);
}

// Cleans the text and puts spaces around ideographs.
template <typename Sink>
bool Normalizer::decoded(char32_t c, Pending& pending, Sink& sink) const {
  const uint8_t classes = classes_.of(c);
  if (classes == 0) return release(pending, sink) && sink.character(c, 0);
  if (options_.clean_text) {
    if (classes & kRemoved) return true;
    if (classes & kToSpace) return release(pending, sink) && sink.ascii(' ');
  }
  if (options_.handle_chinese_chars && (classes & kCjk)) {
    return release(pending, sink) && sink.ascii(' ') && decomposed(c, pending, sink) &&
           release(pending, sink) && sink.ascii(' ');
  }
  return decomposed(c, pending, sink);
}

// NFD without nonspacing marks. A removed mark of combining class 0 still ends the run of
// characters that is put into order.
template <typename Sink>
bool Normalizer::decomposed(char32_t c, Pending& pending, Sink& sink) const {
  if (!options_.strip_accents) return lowered(c, sink);
  const uint8_t classes = classes_.of(c);
  if (!(classes & (kDecomposes | kNonspacingMark))) {
    return release(pending, sink) && lowered(c, sink);
  }
  const Characters parts = classes & kDecomposes ? decompose(c) : Characters{{c}, 1};
  for (size_t i = 0; i < parts.count; ++i) {
    const char32_t part = parts.items[i];
    const uint8_t part_classes = classes_.of(part);
    const uint8_t order = part_classes & kDecomposes ? combining_class(part) : 0;
    if (order == 0 && !release(pending, sink)) return false;
    if (part_classes & kNonspacingMark) continue;
    if (order != 0) {
      pending.emplace_back(order, part);
    } else if (!lowered(part, sink)) {
      return false;
    }
  }
  return true;
}

template <typename Sink>
bool Normalizer::lowered(char32_t c, Sink& sink) const {
  const uint8_t classes = classes_.of(c);
  if (!options_.lowercase || !(classes & kLowers)) return sink.character(c, classes);
  const Characters lower = lower_case(c);
  for (size_t i = 0; i < lower.count; ++i) {
    if (!sink.character(lower.items[i], classes_.of(lower.items[i]))) return false;
  }
  return true;
}

template <typename Sink>
bool Normalizer::release(Pending& pending, Sink& sink) const {
  if (pending.empty()) return true;
  sort(pending);
  for (const auto& [order, c] : pending) {
    if (!lowered(c, sink)) return false;
  }
  pending.clear();
  return true;
}

}  // namespace berth
