#include "storage/formats/conll_finder.h"

#include <algorithm>
#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kConlluFields = 10;
constexpr const char* kNameTags = "name the column of tags with --label-column N, counted from 1";

// "2, 3 and 4", counted from 1.
std::string numbers_of(const std::vector<size_t>& columns) {
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i) {
    text += cat(i == 0 ? "" : i + 1 == columns.size() ? " and " : ", ", columns[i] + 1);
  }
  return text;
}

}  // namespace

ConllFinder::ConllFinder(const std::vector<ConllLines>& sentences, size_t fields)
    : fields_(fields) {
  for (size_t i = 0; i < fields; ++i) looks_.push_back(look_at_column(sentences, i));
  sentences_ = sentences.size();
  for (size_t i = 0; fields > 1 && i < fields; ++i) {
    if (looks_[i].is_tag()) tags_.push_back(i);
  }
  if (tags_.size() == fields) tags_.erase(tags_.begin());
}

bool ConllFinder::may_have_tag_before(size_t column) const {
  for (size_t i = 0; i < column; ++i) {
    if (may_be_tag(i)) return true;
  }
  return false;
}

bool ConllFinder::is_text(size_t column) const {
  const ColumnLook& look = looks_[column];
  return !is_taken(column) && !look.counts && !look.is_place && !look.is_constant &&
         !look.is_number && !look.is_fraction && !look.is_filler;
}

size_t ConllFinder::word(std::optional<size_t> tag, bool ignores_tags) const {
  std::vector<size_t> texts, open;
  bool has_tag = ignores_tags || tag || has_tags();
  for (size_t i = 0; i < fields_; ++i) {
    has_tag = has_tag || is_taken(i);
    if (is_taken(i) || i == tag) continue;
    open.push_back(i);
    if (is_text(i)) texts.push_back(i);
  }
  for (const size_t i : open) {
    const ColumnLook& look = looks_[i];
    if (is_text(i)) return i;
    if (look.counts || look.is_place) continue;
    // Numbers, and cells that are alike, are words where no other column is left for the words.
    const bool has_needed_tag = has_tag || (look.may_count && sentences_ > 2);
    const auto behind = std::ranges::count_if(texts, [&](size_t text) { return text > i; });
    if (behind < (has_needed_tag ? 1 : 2)) return i;
    if (ignores_tags && fields_ == 2 && looks_[1].has_outside) return i;
  }
  const auto last = std::ranges::find_if(
      open, [&](size_t i) { return !looks_[i].counts && !looks_[i].is_place; });
  if (last != open.end()) return *last;
  if (!open.empty()) return open.back();
  return tag == 0 && fields_ > 1 ? 1 : 0;
}

bool ConllFinder::is_conllu() const {
  const bool counts = looks_[0].counts || looks_[0].may_count;
  return counts && fields_ == kConlluFields;
}

size_t ConllFinder::usual_word(size_t usual, size_t seen) const {
  if (usual == seen || !is_text(usual)) return seen;
  for (size_t i = 0; i < usual; ++i) {
    if (!is_text(i)) continue;
    throw Error(Code::kBadData,
                cat("the job's words were in column ", usual + 1, ", but here column ", i + 1,
                    " may have them, too"),
                "", "name the column of words with --text-column N, counted from 1");
  }
  return usual;
}

std::optional<size_t> ConllFinder::iob_tag(size_t word, std::string_view wanted) const {
  if (tags_.size() < 2) return tags_.empty() ? std::nullopt : std::optional(tags_[0]);
  std::vector<size_t> entities;
  for (const size_t tag : tags_) {
    if (!looks_[tag].is_chunk) entities.push_back(tag);
  }
  if (entities.size() == 1) return entities[0];
  const std::vector<size_t>& found = entities.empty() ? tags_ : entities;
  const bool is_next = std::ranges::find(found, word + 1) != found.end();
  if (looks_[0].counts && is_next) return word + 1;
  if (found.back() == fields_ - 1 && looks_[found.back()].is_iob) return found.back();
  if (wanted == "any") return found.back();
  throw Error(Code::kBadData, cat("columns ", numbers_of(found), " may hold the tags"), "",
              kNameTags);
}

size_t ConllFinder::other_tag(size_t word, std::string_view wanted) const {
  std::vector<size_t> others, outside, with_outside;
  for (size_t i = 0; i < fields_; ++i) {
    const ColumnLook& look = looks_[i];
    if (look.is_outside && i != word) outside.push_back(i);
    const bool is_number_before = i < word && !is_text(i);
    if (i == word || look.is_filler || look.is_fraction || is_number_before) continue;
    others.push_back(i);
    if (look.has_outside) with_outside.push_back(i);
  }
  if (!outside.empty() && outside.back() + 1 == fields_) return outside.back();
  if (wanted != "ner") {
    if (is_conllu() && wanted != "any") {
      throw Error(Code::kBadData, "is CoNLL-U, whose lines have several kinds of tags", "",
                  "pass --task pos, or name a column with --label-column N, counted from 1");
    }
    if (others.empty() && !outside.empty()) return outside.back();
    return others.empty() ? fields_ - 1 : others.back();
  }
  if (outside.size() == 1) return outside[0];
  if (with_outside.size() == 1) return with_outside[0];
  if (others.size() == 1) return others[0];
  if (fields_ == 2) return 1 - word;
  throw Error(Code::kBadData, "no column has the tags of entities (B-NAME, I-NAME, O)", "",
              kNameTags);
}

void ConllFinder::require_blank_lines(size_t word) const {
  for (size_t i = 0; i < word; ++i) {
    if (!looks_[i].numbers_sentences || looks_[i].is_constant) continue;
    throw Error(
        Code::kBadData,
        cat("column ", i + 1, " numbers the sentences, but no blank lines stand between them"), "",
        "put a blank line after each sentence, or write a line sentence_id, word, tag "
        "first and let the file's name end in .tsv");
  }
}

bool ConllFinder::is_taken(size_t column) const {
  if (has_tags()) return std::ranges::find(tags_, column) != tags_.end();
  return looks_[column].is_outside && fields_ > 1;
}

}  // namespace berth
