#include "trainer/text/byte_level.h"

#include <array>
#include <utility>

#include "trainer/text/split_text.h"
#include "trainer/text/text_kinds.h"

namespace berth {

namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr auto kCharacters = [] {
  std::array<char16_t, 256> characters{};
  char16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? static_cast<char16_t>(byte) : next++;
  }
  return characters;
}();

constexpr auto kBytes = [] {
  std::array<int16_t, 0x144> bytes{};
  for (int16_t& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kCharacters[byte]] = static_cast<int16_t>(byte);
  return bytes;
}();

struct Kind {
  TextKind kind;
  size_t size_bytes;
};

Kind kind_at(std::string_view text, size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  if (byte < 0x80) return {kAsciiTextKinds[byte], 1};
  const DecodedCharacter next = decode_utf8(text.substr(i));
  return {text_kind(next.code_point), next.size_bytes};
}

size_t end_of_run(std::string_view text, size_t i, TextKind kind) {
  while (i < text.size()) {
    const Kind next = kind_at(text, i);
    if (next.kind != kind) break;
    i += next.size_bytes;
  }
  return i;
}

size_t contraction_size(std::string_view rest) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (rest.starts_with(ending)) return ending.size();
  }
  return 0;
}

// Returns the end of a run of whitespace. At the end of the text it takes the whole run. Otherwise
// it leaves the last character out, if there are at least two.
size_t end_of_spaces(std::string_view text, size_t begin, size_t first_size) {
  size_t end = begin + first_size, last = begin;
  while (end < text.size()) {
    const Kind next = kind_at(text, end);
    if (next.kind != TextKind::kSpace) return last > begin ? last : end;
    last = end;
    end += next.size_bytes;
  }
  return end;
}

}  // namespace

char32_t byte_to_character(unsigned char byte) { return kCharacters[byte]; }

bool spelled_bytes(std::string_view token, std::string& bytes) {
  bytes.clear();
  while (!token.empty()) {
    const DecodedCharacter next = decode_utf8(token);
    if (next.code_point >= kBytes.size() || kBytes[next.code_point] < 0) return false;
    bytes.push_back(static_cast<char>(kBytes[next.code_point]));
    token.remove_prefix(next.size_bytes);
  }
  return true;
}

size_t byte_level_word_end(std::string_view text, size_t begin) {
  if (text[begin] == '\'') {
    const size_t size = contraction_size(text.substr(begin));
    if (size > 0) return begin + size;
  }
  const Kind first = kind_at(text, begin);
  if (first.kind != TextKind::kSpace) {
    return end_of_run(text, begin + first.size_bytes, first.kind);
  }
  if (text[begin] == ' ' && begin + 1 < text.size()) {
    const Kind second = kind_at(text, begin + 1);
    if (second.kind != TextKind::kSpace) {
      return end_of_run(text, begin + 1 + second.size_bytes, second.kind);
    }
  }
  return end_of_spaces(text, begin, first.size_bytes);
}

SplitStep byte_level_splitting(bool add_prefix_space, bool use_regex) {
  return [add_prefix_space, use_regex](SplitText& text) {
    if (add_prefix_space) {
      const std::string_view old = text.text.text();
      Rewriting rewriting(text.text);
      uint32_t size = 0;
      for (Span& word : text.words) {
        const uint32_t begin = size;
        size += word.end - word.begin;
        if (old[word.begin] != ' ') {
          rewriting.insert(" ", word.begin);
          ++size;
        }
        rewriting.keep(word.begin, word.end);
        word = {begin, size};
      }
      rewriting.finish();
    }
    if (!use_regex) return;
    const std::string_view whole = text.text.text();
    std::vector<Span> words;
    words.reserve(whole.size() / 4 + 4);
    for (const Span word : text.words) {
      const std::string_view part = whole.substr(0, word.end);
      for (size_t begin = word.begin; begin < word.end;) {
        const size_t end = byte_level_word_end(part, begin);
        words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
        begin = end;
      }
    }
    text.words = std::move(words);
  };
}

}  // namespace berth
