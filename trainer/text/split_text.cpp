#include "trainer/text/split_text.h"

#include <algorithm>
#include <utility>

#include "trainer/text/text_kinds.h"

namespace berth {

namespace {

struct Match {
  Span span;
  bool matches;
};

Span between(size_t begin, size_t end) {
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

// Replaces every word by what `cut(span, words)` appends for it.
template <typename Cut>
void cut_words(SplitText& text, Cut cut) {
  std::vector<Span> words;
  words.reserve(text.words.size() + 16);
  for (const Span word : text.words) cut(word, words);
  text.words = std::move(words);
}

void add_word(size_t begin, size_t end, std::vector<Span>& words) {
  if (end > begin) words.push_back(between(begin, end));
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
  if (end > begin) found.push_back({between(begin, end), matches});
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
          words.push_back(between(begin, end));
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
      words.push_back(between(begin, size));
    }
    rewriting.finish();
    text.words = std::move(words);
  };
}

}  // namespace berth
