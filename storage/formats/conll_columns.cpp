#include "storage/formats/conll_columns.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kMostTags = 10'000;
constexpr size_t kConlluFields = 10, kConlluTag = 3;

using Fields = std::vector<std::string_view>;

bool is_iob(std::string_view tag) {
  const bool is_inside = tag.size() > 2 && tag[1] == '-' &&
                         std::string_view("BIESLUM").find(tag[0]) != std::string_view::npos;
  return tag == "O" || is_inside;
}

bool is_filler(std::string_view tag) { return tag == "O" || tag == "_" || tag == "-"; }

// What the first lines show of one column.
struct ColumnLook {
  bool counts = true;       // running numbers, which begin anew in each sentence or go on
  bool is_constant = true;  // in each sentence
  bool is_iob = true;
  bool is_filler = true;
};

// The lines of the sentences as fields, without comments.
std::vector<std::vector<Fields>> split_lines(const std::deque<ConllSentence>& sentences,
                                             const ConllLayout& layout) {
  std::vector<std::vector<Fields>> parts;
  for (const ConllSentence& sentence : sentences) {
    std::vector<Fields> lines;
    for (const std::string& line : sentence.lines) {
      Fields fields = conll_fields(line);
      if (lines.empty() && layout.is_comment(line, fields)) continue;
      if (fields.size() == layout.fields) lines.push_back(std::move(fields));
    }
    if (!lines.empty()) parts.push_back(std::move(lines));
  }
  return parts;
}

// Returns the first number of a running number of CoNLL-U: 3 of "3", "3-4" and "3.1".
std::optional<uint64_t> running_number(std::string_view text, bool& is_no_word) {
  const size_t end = std::min(text.find_first_of("-."), text.size());
  is_no_word = end < text.size();
  if (is_no_word && !parse_number(text.substr(end + 1))) return std::nullopt;
  return parse_number(text.substr(0, end));
}

ColumnLook look_at(const std::vector<std::vector<Fields>>& sentences, size_t column) {
  ColumnLook look;
  size_t lines = 0;
  std::optional<uint64_t> last;
  for (const auto& sentence : sentences) {
    bool begins = true;
    for (const Fields& fields : sentence) {
      const std::string_view text = fields[column];
      ++lines;
      look.is_constant = look.is_constant && text == sentence[0][column];
      look.is_iob = look.is_iob && is_iob(text);
      look.is_filler = look.is_filler && is_filler(text);
      bool is_no_word = false;
      const auto number = running_number(text, is_no_word);
      const bool goes_on = number && last && *number == *last + 1;
      const bool is_first = number && begins && *number <= 1;
      look.counts = look.counts && number && (is_no_word || goes_on || is_first);
      if (!is_no_word && number) last = number;
      begins = begins && is_no_word;
    }
  }
  // Sentences of one word show nothing.
  const bool has_several = lines >= 2 * sentences.size();
  look.is_constant = look.is_constant && has_several && sentences.size() > 1;
  look.counts = look.counts && has_several && !sentences.empty();
  return look;
}

size_t named_column(const std::string& name, uint64_t number, const ConllLayout& layout,
                    const char* flag) {
  if (number >= 1 && number <= layout.fields) return number - 1;
  throw Error(Code::kBadData, cat("there is no column ", name, " (", flag, "); the lines have ",
                                  layout.fields, layout.fields == 1 ? " column" : " columns"));
}

size_t usual_tag(const std::vector<ColumnLook>& looks, const ConllLayout& layout) {
  const size_t last = layout.fields - 1, next = layout.word + 1;
  if (layout.counts && layout.fields == kConlluFields) return kConlluTag;
  if (layout.counts && next < last && looks[next].is_iob && looks[last].is_iob) return next;
  if (!looks[last].is_filler) return last;
  for (size_t column = last; column > next; --column) {
    const ColumnLook& look = looks[column - 1];
    // O alone says that the tags are of IOB.
    if (!look.is_filler && (look.is_iob || !looks[last].is_iob)) return column - 1;
  }
  return last;
}

// Where several columns may hold the tags that the task names, none is better than another.
void require_one(const ConllLayout& layout, std::string_view wanted) {
  const bool is_conllu = layout.counts && layout.fields == kConlluFields && wanted == "pos";
  if ((wanted != "pos" && wanted != "chunk") || is_conllu) return;
  if (layout.fields - layout.word <= 2) return;
  throw Error(
      Code::kBadData,
      cat("has ", layout.fields - layout.word - 1, " columns that may hold the ", wanted, " tags"),
      "", "name one with --label-column N, counted from 1");
}

}  // namespace

std::vector<std::string_view> conll_fields(std::string_view line) {
  const char separator = line.find('\t') != std::string_view::npos ? '\t' : ' ';
  std::vector<std::string_view> fields;
  while (true) {
    const size_t end = std::min(line.find(separator), line.size());
    if (end > 0) fields.push_back(line.substr(0, end));
    if (end == line.size()) return fields;
    line.remove_prefix(end + 1);
  }
}

bool ConllLayout::is_comment(std::string_view line, std::span<const std::string_view> parts) const {
  if (!line.starts_with('#')) return false;
  if (counts || parts.size() != fields) return true;
  return fields > 1 && !is_iob(parts.back()) && !tags.contains(parts.back());
}

bool ConllLayout::is_no_word(std::span<const std::string_view> parts) const {
  bool is_none = false;
  return counts && !parts.empty() && running_number(parts[0], is_none) && is_none;
}

ConllLayout find_conll_layout(const std::deque<ConllSentence>& sentences, const TextForm& form,
                              bool ignores_tags) {
  ConllLayout layout;
  for (const bool may_be_comments : {false, true}) {  // a file may have the word "#" alone
    for (const ConllSentence& sentence : sentences) {
      for (const std::string& line : sentence.lines) {
        if (line.starts_with('#') != may_be_comments) continue;
        const Fields fields = conll_fields(line);
        if (layout.fields == 0) layout.fields = fields.size();
        if (layout.tags.size() < kMostTags && !may_be_comments) layout.tags.emplace(fields.back());
      }
    }
    if (layout.fields > 0) break;
  }
  const auto parts = split_lines(sentences, layout);
  std::vector<ColumnLook> looks;
  for (size_t i = 0; i < layout.fields; ++i) looks.push_back(look_at(parts, i));
  layout.counts = layout.fields > 1 && looks[0].counts;
  while (layout.word + 1 < layout.fields &&
         (looks[layout.word].counts || looks[layout.word].is_constant)) {
    ++layout.word;
  }
  if (looks[layout.word].is_constant || looks[layout.word].counts) layout.word = 0;
  const auto word_number = parse_number(form.words), tag_number = parse_number(form.tags);
  if (form.words == "tokens") layout.word = 0;
  if (word_number) layout.word = named_column(form.words, *word_number, layout, "--text-column");
  const size_t last = layout.fields - 1;
  if (!ignores_tags && layout.word < last) {
    layout.tag = form.tags == "tags" ? last : usual_tag(looks, layout);
    if (tag_number) {
      layout.tag = named_column(form.tags, *tag_number, layout, "--label-column");
    } else {
      require_one(layout, form.tags);
    }
  }
  const bool is_plain = layout.word == 0 && layout.tag.value_or(last) == last;
  if (!is_plain || word_number) layout.word_name = std::to_string(layout.word + 1);
  if (layout.tag && (!is_plain || tag_number)) layout.tag_name = std::to_string(*layout.tag + 1);
  const bool is_choice = layout.fields > 2 || !is_plain;
  if (!is_choice || (word_number && tag_number)) return layout;
  layout.text = cat("of ", layout.fields, " columns, the word is column ", layout.word + 1);
  if (layout.tag) layout.text += cat(" and the tag column ", *layout.tag + 1);
  layout.text += "; --text-column and --label-column choose others by their numbers";
  if (!is_plain) {
    layout.rule =
        cat("columns ", layout.word + 1, " and ", layout.tag.value_or(last) + 1, " of CoNLL");
  }
  return layout;
}

}  // namespace berth
