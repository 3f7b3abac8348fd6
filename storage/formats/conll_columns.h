#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/text_form.h"

namespace berth {

// The lines of a sentence in a file that has one word in each line.
struct ConllSentence {
  std::vector<std::string> lines{};
  std::vector<uint64_t> numbers{};  // of the lines, from 1
  uint64_t number = 0;              // of the first line
};

// The fields of a line. They are separated by tabs if the line contains one, and otherwise by
// spaces. Words may contain spaces in a line with tabs.
std::vector<std::string_view> conll_fields(std::string_view line);

// Which columns such a file has.
struct ConllLayout {
  size_t fields = 0;  // of every line
  size_t word = 0;    // counted from 0
  std::optional<size_t> tag{};
  bool counts = false;                                  // the first column counts the words
  std::string word_name = "tokens", tag_name = "tags";  // of the table's columns
  std::string rule{}, text{};                           // see Finding; no text: there is no choice
  std::set<std::string, std::less<>> tags{};            // some that occur

  // Whether a line before the first word of a sentence is a comment, and not the word "#".
  bool is_comment(std::string_view line, std::span<const std::string_view> fields) const;
  // Whether a line of CoNLL-U has the number of several words (1-2) or of an empty node (1.1).
  bool is_no_word(std::span<const std::string_view> fields) const;
};

// Looks at the first sentences. The word is the first column that neither counts the words nor is
// the same in all lines of each sentence. The tag is the last column, with three exceptions:
//   - where the last column is O (or _ or -) in all lines, the nearest one before it that is not
//   - in a file with counted words and columns of IOB tags: the first of these, as in GermEval
//   - in CoNLL-U, which has ten columns: the fourth, which is the part of speech
// `form` may name columns by their numbers from 1; "tokens" is the first one and "tags" the last.
// Throws kBadData where there is no such column, and where form.tags is "pos" or "chunk" and
// several columns may hold them. Names are numbers where the columns are not the first and the
// last.
ConllLayout find_conll_layout(const std::deque<ConllSentence>& sentences, const TextForm& form,
                              bool ignores_tags);

}  // namespace berth
