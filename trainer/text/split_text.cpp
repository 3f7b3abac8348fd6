#include "trainer/text/split_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trainer/text/unicode.h"

namespace berth {

namespace {

struct Match {
  Span span;
  bool matches;
};

// Replaces every word by what `cut(span, words)` appends for it.
template <typename Cut>
void cut_words(SplitText& text, Cut cut) {
  std::vector<Span> words;
  words.reserve(text.words.size() + 16);
  for (const Span word : text.words) cut(word, words);
  text.words = std::move(words);
}

void add_word(size_t begin, size_t end, std::vector<Span>& words) {
  if (end > begin) words.push_back(span_of(begin, end));
}

// Combines matches and the text between them as the behavior demands.
void apply(const std::vector<Match>& found, SplitBehavior behavior, std::vector<Span>& words) {
  const size_t first = words.size();
  const auto joins = [&](bool condition) { return condition && words.size() > first; };
  bool previous = false;
  if (behavior == SplitBehavior::kMergedWithNext) {
    for (size_t i = found.size(); i-- > 0;) {
      if (joins(found[i].matches && !previous)) {
        words.back().begin = found[i].span.begin;
      } else {
        words.push_back(found[i].span);
      }
      previous = found[i].matches;
    }
    std::reverse(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    return;
  }
  for (const Match& match : found) {
    const bool join =
        (behavior == SplitBehavior::kMergedWithPrevious && match.matches && !previous) ||
        (behavior == SplitBehavior::kContiguous && match.matches == previous);
    if (joins(join)) {
      words.back().end = match.span.end;
    } else if (!match.matches || behavior != SplitBehavior::kRemoved) {
      words.push_back(match.span);
    }
    previous = match.matches;
  }
}

void add_match(size_t begin, size_t end, bool matches, std::vector<Match>& found) {
  if (end > begin) found.push_back({span_of(begin, end), matches});
}

}  // namespace

SplitText::SplitText(AlignedText normalized) : text(std::move(normalized)) {
  add_word(0, text.text().size(), words);
}

bool is_punctuation(char32_t c) { return CharacterClasses::shared().of(c) & kPunctuation; }

SplitStep in_sequence(std::vector<SplitStep> steps) {
  return [steps = std::move(steps)](SplitText& text) {
    for (const SplitStep& step : steps) step(text);
  };
}

SplitStep splitting_at(CharacterTest matches, SplitBehavior behavior) {
  return [matches, behavior](SplitText& text) {
    std::vector<Match> found;
    cut_words(text, [&](Span word, std::vector<Span>& words) {
      found.clear();
      size_t begin = word.begin;
      for (size_t i = word.begin; i < word.end;) {
        const DecodedCharacter next = decode_utf8(text.text.text().substr(i));
        if (matches(next.code_point)) {
          add_match(begin, i, false, found);
          begin = i + next.size_bytes;
          add_match(i, begin, true, found);
        }
        i += next.size_bytes;
      }
      add_match(begin, word.end, false, found);
      apply(found, behavior, words);
    });
  };
}

SplitStep splitting_at(std::string literal, SplitBehavior behavior, bool invert) {
  return [literal = std::move(literal), behavior, invert](SplitText& text) {
    std::vector<Match> found;
    cut_words(text, [&](Span word, std::vector<Span>& words) {
      found.clear();
      const std::string_view whole = text.text.text().substr(0, word.end);
      size_t begin = word.begin;
      for (size_t i = whole.find(literal, begin); i != whole.npos; i = whole.find(literal, begin)) {
        add_match(begin, i, invert, found);
        begin = i + literal.size();
        add_match(i, begin, !invert, found);
      }
      add_match(begin, word.end, invert, found);
      apply(found, behavior, words);
    });
  };
}

SplitStep bert_splitting() {
  return [](SplitText& text) {
    const CharacterClasses& classes = CharacterClasses::shared();
    cut_words(text, [&](Span word, std::vector<Span>& words) {
      size_t begin = word.begin;
      for (size_t i = word.begin; i < word.end;) {
        const DecodedCharacter next = decode_utf8(text.text.text().substr(i));
        const size_t end = i + next.size_bytes;
        if (classes.of(next.code_point) & (kWhitespace | kPunctuation)) {
          add_word(begin, i, words);
          begin = end;
          if (!(classes.of(next.code_point) & kWhitespace)) add_word(i, end, words);
        }
        i = end;
      }
      add_word(begin, word.end, words);
    });
  };
}

SplitStep word_splitting() {
  return [](SplitText& text) {
    enum Kind { kSpace, kWord, kOther };
    cut_words(text, [&](Span word, std::vector<Span>& words) {
      size_t begin = word.begin;
      Kind running = kSpace;
      for (size_t i = word.begin; i < word.end;) {
        const DecodedCharacter next = decode_utf8(text.text.text().substr(i));
        const Kind kind = is_regex_word(next.code_point)    ? kWord
                          : is_white_space(next.code_point) ? kSpace
                                                            : kOther;
        if (kind != running) {
          if (running != kSpace) add_word(begin, i, words);
          begin = i;
          running = kind;
        }
        i += next.size_bytes;
      }
      if (running != kSpace) add_word(begin, word.end, words);
    });
  };
}

SplitStep metaspace(std::string replacement, PrependScheme prepend, bool split) {
  return [replacement = std::move(replacement), prepend, split](SplitText& text) {
    const std::string_view old = text.text.text();
    Rewriting rewriting(text.text);
    std::vector<Span> words;
    size_t size = 0;
    const auto keep = [&](size_t begin, size_t end) {
      if (end > begin) rewriting.keep(begin, end);
      size += end - begin;
    };
    const auto insert = [&](size_t like) {
      rewriting.insert(replacement, like);
      size += replacement.size();
    };
    for (const Span word : text.words) {
      size_t begin = size, copied = word.begin;
      const auto end_word = [&](size_t end) {
        if (split && end > begin) {
          words.push_back(span_of(begin, end));
          begin = end;
        }
      };
      const bool has_prefix = old[word.begin] == ' ' || text.word(word).starts_with(replacement);
      const bool wants_prefix = prepend == PrependScheme::kAlways ||
                                (prepend == PrependScheme::kFirst &&
                                 text.text.origin(word.begin, word.begin + 1).begin == 0);
      if (wants_prefix && !has_prefix) insert(word.begin);
      for (size_t i = word.begin; i < word.end;) {
        if (old[i] == ' ') {
          keep(copied, i);
          end_word(size);
          insert(i);
          copied = ++i;
        } else if (old.substr(i, word.end - i).starts_with(replacement)) {
          keep(copied, i);
          end_word(size);
          copied = i;
          i += replacement.size();
        } else {
          ++i;
        }
      }
      keep(copied, word.end);
      words.push_back(span_of(begin, size));
    }
    rewriting.finish();
    text.words = std::move(words);
  };
}

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
