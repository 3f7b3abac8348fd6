#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "storage/formats/text_form.h"

// Which columns of a file with a word on each line hold the words and the tags. The functions are
// thread-safe; BracketTags is not.
namespace berth {

using ConllFields = std::vector<std::string_view>;
using ConllLines = std::vector<ConllFields>;  // of one sentence

// Whether a tag is O, or B-NAME with one of the letters of IOB, BIOES and BILOU.
bool is_iob_tag(std::string_view tag);
// The same without O.
bool is_entity_tag(std::string_view tag);
// Whether a tag only says that a word is outside of all entities: O, o, _ or -.
bool is_filler_tag(std::string_view tag);
// Whether at least three quarters of the tags are of entities, so that the others are errors or
// names without B- and I-. Tags that say "outside" are not counted.
inline bool are_most_tags(size_t entities, size_t others) {
  return entities > 0 && others * 3 <= entities;
}

// Whether a cell holds several IOB tags, with blanks between them.
bool are_tags_of_sentence(std::string_view cell);
// What to do where each line is a sentence.
inline constexpr const char* kOfSentences =
    "write one word a line. A table of sentences is called .tsv, and its first line names the "
    "columns, such as text, a tab and ner_tags";

// Returns the first number of a running number of CoNLL-U: 3 of "3", "3-4" and "3.1". `is_pair`
// becomes true for the last two.
std::optional<uint64_t> running_number(std::string_view text, bool& is_pair);

// The tags of OntoNotes and CoNLL-2012: "(NAME*" begins an entity, "*" lies inside or outside of
// it, "*)" ends it, and "(NAME)" or "(NAME*)" is one word. Makes IOB tags of them. Used for one
// sentence.
class BracketTags {
 public:
  // nullopt: the cell is no such tag, or begins an entity inside another one.
  std::optional<std::string> next(std::string_view cell);
  bool is_open() const { return !name_.empty(); }

 private:
  std::string name_;
};

// What the lines of some sentences show of one column. At most a tenth of the cells may be unlike
// the others in a column of numbers, and a quarter in one of entities.
struct ColumnLook {
  // Running numbers, which begin again in each sentence or go on: in a sentence of several words,
  // and in sentences of one word each, which show less.
  bool counts = false, may_count = false;
  bool is_place = false;   // several numbers, such as 1-1 and 1-2, 1.0 and 1.1, or 1_1 and 1_2
  bool is_id = false;      // running numbers with the same marks, such as t1 and t2, or [1] and [2]
  bool is_number = false;  // whole numbers
  bool is_fraction = false;        // numbers, not all of which are whole
  bool is_constant = false;        // in each sentence
  bool numbers_sentences = false;  // whole numbers that grow by 1 after some lines of a sentence
  bool is_iob = false;             // entities, and O, _ or - outside of them
  bool is_chunk = false;           // the same, of phrases such as NP and VP
  bool is_brackets = false;        // see BracketTags
  bool is_outside = false;         // O alone
  bool has_outside = false;        // O, and other cells
  bool is_filler = false;          // O, _ and - alone

  bool is_tag() const { return is_iob || is_brackets; }
};

ColumnLook look_at_column(const std::vector<ConllLines>& sentences, size_t column);

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
  bool has_brackets = false;                            // the tags are BracketTags
  bool counts = false;                                  // the first column counts the words
  std::string word_name = "tokens", tag_name = "tags";  // of the table's columns
  std::optional<uint64_t> header{};                     // the number of the line that names columns
  bool has_other_tags = false;  // whether another column has tags of entities, too
  std::vector<Finding> findings{};
  std::set<std::string, std::less<>> tags{};  // some that occur

  // Whether a line before the first word of a sentence is a comment, and not the word "#".
  bool is_comment(std::string_view line, std::span<const std::string_view> fields) const;
  // Whether a line of CoNLL-U has the number of several words (1-2) or of an empty node (1.1).
  bool is_no_word(std::span<const std::string_view> fields) const;
};

// Looks at the first sentences. A column of IOB tags, or of OntoNotes' brackets, is the tag,
// wherever it stands. The word is the first other column that does not count words and is not the
// same in all lines of each sentence. A column of numbers, or of ids that count, is not the word
// either, if another column has texts. Without IOB tags:
//   - CoNLL-U, which has ten columns and counts words, has parts of speech in the fourth
//   - otherwise the tag is the last column but for fractions and columns of _ or -
// If several columns have IOB tags, columns of phrases (NP, VP) do not count. Then,
//   - in a file with counted words, as GermEval, the one behind the word is the tag
//   - otherwise the last column is the tag if it is one of them
// A first line that names columns is no word. `form` may name columns by their numbers from 1, or
// by the names in that line; "tokens" is the first one and "tags" the last. form.usual_words and
// form.usual_tags are used if the file has these columns. If form.tags is "any", the tag is the
// last column that may have tags. A program that only shows a file asks for that.
// Throws kBadData
//   - where there is no such column, and where no column is better than another: for "ner" without
//     IOB tags, for "pos" with several columns, for "chunk" without one column of phrases, and for
//     CoNLL-U without a task
//   - where a first line looks as if it named columns, and where a column of numbers says that
//     sentences have no blank lines between them
//   - where most lines hold a sentence, or the tags of one
//   - for brat's and WebAnno's files
// Names are numbers where the columns are not the first and the last, and `form` has no names.
ConllLayout find_conll_layout(const std::deque<ConllSentence>& sentences, const TextForm& form,
                              bool ignores_tags);

}  // namespace berth
