#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

using ConllFields = std::vector<std::string_view>;
using ConllLines = std::vector<ConllFields>;  // of one sentence

// Whether a tag is O, or B-NAME with one of the letters of IOB, BIOES and BILOU.
bool is_iob_tag(std::string_view tag);
// The same without O.
bool is_entity_tag(std::string_view tag);

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

// What the lines of some sentences show of one column.
struct ColumnLook {
  // Running numbers, which begin again in each sentence or go on: in a sentence of several words,
  // and in sentences of one word each, which show less.
  bool counts = false, may_count = false;
  bool is_place = false;           // two numbers, such as 1-1 and 1-2, or 1.0 and 1.1
  bool is_number = false;          // whole numbers
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

}  // namespace berth
