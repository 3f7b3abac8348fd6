#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/formats/conll_look.h"

namespace berth {

// Finds the columns of words and of tags by what the first lines of a file show. Columns count
// from 0; find_conll_layout() says which one is which.
class ConllFinder {
 public:
  // Each line of `sentences` has `fields` fields.
  ConllFinder(const std::vector<ConllLines>& sentences, size_t fields);

  const ColumnLook& look(size_t column) const { return looks_[column]; }
  bool has_tags() const { return !tags_.empty(); }  // of entities
  bool counts_words() const { return looks_[0].counts || looks_[0].may_count; }
  bool is_conllu() const;
  // Whether a column is a text, as words are: no tags, no numbers and not the same in a sentence.
  bool is_text(size_t column) const;
  // Whether a column, or one of those before it, may have tags.
  bool may_be_tag(size_t column) const { return is_text(column) || is_taken(column); }
  bool may_have_tag_before(size_t column) const;
  // Whether a column has no tags of entities, and another one has.
  bool is_worse_tag(size_t column) const { return has_tags() && !is_taken(column); }

  // The word; `tag` is known not to be it.
  size_t word(std::optional<size_t> tag, bool ignores_tags) const;
  // The job's column of words, unless this file has numbers or tags there; then it is `seen`.
  // Throws kBadData where an earlier column may have the words, too.
  size_t usual_word(size_t usual, size_t seen) const;
  // Throws kBadData where a column before the word says that a block of lines has many sentences.
  void require_blank_lines(size_t word) const;
  // The column of entities or phrases; nullopt: there is none. The tag where no column has tags of
  // entities. `wanted` is what the tags say. Both throw kBadData where no column is better than
  // another, unless "any" is wanted.
  std::optional<size_t> iob_tag(size_t word, std::string_view wanted) const;
  size_t other_tag(size_t word, std::string_view wanted) const;

 private:
  bool is_taken(size_t column) const;  // by tags

  const size_t fields_;
  size_t sentences_ = 0;
  std::vector<ColumnLook> looks_;
  std::vector<size_t> tags_;  // the columns with tags of entities
};

}  // namespace berth
