#include "trainer/text/normalizer.h"

#include <algorithm>

namespace berth {

namespace {

struct StringSink {
  std::string& out;

  bool ascii(char c) {
    out.push_back(c);
    return true;
  }
  bool character(char32_t c, uint8_t) {
    append_utf8(c, out);
    return true;
  }
};

}  // namespace

Normalizer::Normalizer(const NormalizerOptions& options)
    : options_(options), classes_(CharacterClasses::shared()) {
  byte_map_.fill(kDecodeByte);
  for (unsigned c = 0; c < 0x80; ++c) {
    const uint8_t classes = classes_.of(c);
    uint8_t& mapped = byte_map_[c];
    mapped = static_cast<uint8_t>(c);
    if (options_.clean_text && (classes & kRemoved)) mapped = kDropByte;
    if (options_.clean_text && (classes & kToSpace)) mapped = ' ';
    if (options_.lowercase && (classes & kLowers)) mapped = static_cast<uint8_t>(c + 'a' - 'A');
  }
}

void Normalizer::sort(Pending& pending) {
  std::stable_sort(pending.begin(), pending.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::string Normalizer::normalized(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  StringSink sink{out};
  normalize(text, sink);
  return out;
}

}  // namespace berth
