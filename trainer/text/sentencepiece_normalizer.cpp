#include "trainer/text/sentencepiece_normalizer.h"

#include "trainer/text/aligned_text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceModel& model,
                                                 const Trie& user_defined)
    : charsmap_(model.precompiled_charsmap),
      user_defined_(user_defined),
      add_dummy_prefix_(model.add_dummy_prefix),
      remove_extra_whitespaces_(model.remove_extra_whitespaces),
      whitespace_as_suffix_(model.treat_whitespace_as_suffix),
      space_(model.escape_whitespaces ? kSpaceSymbol : " ") {}

SentencePieceNormalizer::Step SentencePieceNormalizer::next(std::string_view text) const {
  if (const size_t size = user_defined_.longest(text); size > 0)
    return {text.substr(0, size), size};
  if (const Charsmap::Match match = charsmap_.longest(text); match.size_bytes > 0) {
    return {match.replacement, match.size_bytes};
  }
  const size_t size = decode_utf8(text).size_bytes;
  return {text.substr(0, size), size};
}

void SentencePieceNormalizer::normalize(std::string_view text, std::string& out,
                                        std::vector<uint32_t>* origins) const {
  out.clear();
  size_t consumed = 0;
  if (remove_extra_whitespaces_) {
    while (consumed < text.size()) {
      const Step step = next(text.substr(consumed));
      if (step.becomes != " ") break;
      consumed += step.size_bytes;
    }
  }
  if (consumed == text.size()) {
    if (origins != nullptr) origins->assign(1, static_cast<uint32_t>(consumed));
    return;
  }
  out.reserve(text.size() + text.size() / 2 + 8);
  if (origins != nullptr) origins->clear();
  const auto add = [&](std::string_view bytes) {
    require_normalized_size(text.size(), out.size() + bytes.size());
    out += bytes;
    if (origins != nullptr) {
      origins->insert(origins->end(), bytes.size(), static_cast<uint32_t>(consumed));
    }
  };
  if (!whitespace_as_suffix_ && add_dummy_prefix_) add(space_);
  bool after_space = remove_extra_whitespaces_;
  while (consumed < text.size()) {
    const Step step = next(text.substr(consumed));
    std::string_view becomes = step.becomes;
    while (after_space && becomes.starts_with(' ')) becomes.remove_prefix(1);
    if (!becomes.empty()) {
      after_space = remove_extra_whitespaces_ && becomes.back() == ' ';
      for (size_t space = becomes.find(' '); space != becomes.npos; space = becomes.find(' ')) {
        add(becomes.substr(0, space));
        add(space_);
        becomes.remove_prefix(space + 1);
      }
      add(becomes);
    }
    consumed += step.size_bytes;
  }
  if (remove_extra_whitespaces_) {
    while (std::string_view(out).ends_with(space_)) {
      out.resize(out.size() - space_.size());
      if (origins == nullptr) continue;
      consumed = (*origins)[out.size()];
      origins->resize(out.size());
    }
  }
  if (whitespace_as_suffix_ && add_dummy_prefix_) add(space_);
  if (origins != nullptr) origins->push_back(static_cast<uint32_t>(consumed));
}

}  // namespace berth
