#include "trainer/data/label_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

bool names_words(std::string_view column) {
  constexpr std::string_view kNames = "tokens words token word";
  return is_one_of(kNames, lower_ascii(column));
}

// "text", "score": the keys of an object, for messages.
std::string fields_of(const Json& object) {
  std::string fields;
  size_t count = 0;
  for (const auto& [name, value] : object.items()) {
    if (++count > 10) return fields + ", ...";
    fields += (fields.empty() ? "" : ", ") + quoted(name);
  }
  return fields;
}

}  // namespace

void refuse_nested(const std::string& column, std::string_view cell, const char* what) {
  const Json value = parse_json(cell);
  const bool is_list = value.is_array();
  const Json& object = is_list && !value.empty() ? value.front() : value;
  std::string holds = "lists";
  if (object.is_object()) {
    holds = cat(is_list ? "lists of objects" : "objects", " with the fields ", fields_of(object));
  }
  throw Error(Code::kBadData, cat("column ", quoted(column), " holds ", holds, ", not ", what), "",
              object.is_object()
                  ? "write the field that is meant as a column of its own, outside of the object"
                  : "join each list to one text, or name another column");
}

std::optional<std::string> joined_words(const Column& column, std::string_view cell,
                                        bool are_texts) {
  const bool may_be_list = are_texts ? names_words(column.name) : column.is_nested;
  if (!may_be_list || !begins_list(cell)) return std::nullopt;
  const auto words = names_words(column.name) ? parse_text_list(cell) : std::nullopt;
  if (!words && are_texts) return std::nullopt;
  if (!words) refuse_nested(column.name, cell, "texts");
  return joined(*words, " ");
}

namespace {

bool is_known(const LabelDictionary& labels, std::string_view label) {
  return std::ranges::find(labels.known(), trimmed(label)) != labels.known().end();
}

// What annotators who do not agree leave in a row of a pair: SNLI's "-", and -1 of `datasets`.
bool is_no_class(std::string_view label, const LabelForm& form) {
  return (form.dash_is_missing && label == "-") ||
         (form.minus_one_is_missing && parse_real(label) == -1);
}

// A number, or a word such as "yes", that a list has twice is no label.
void refuse_repeated(const std::vector<std::string>& parts, const std::string& whole) {
  std::set<std::string_view> seen;
  for (const std::string& part : parts) {
    const bool is_new = seen.insert(part).second;
    if (is_new || (!parse_real(part) && !column_mark(Cell(part)))) continue;
    throw Error(Code::kBadData,
                cat("label ", quoted(whole), " has ", quoted(part), " twice, so it holds no names"),
                "",
                begins_list(whole) || parse_tuple(whole)
                    ? "--label-lists multi-hot reads lists of one length that have a 0 or 1 for "
                      "each label; write them in place of words"
                    : "write a 0 or 1 for each label, and say by --label-separator what stands "
                      "between them");
  }
}

}  // namespace

void refuse_list(const std::string& column, const std::string& text) {
  if (is_shortened_list(text)) {
    throw Error(Code::kBadData,
                cat("column ", quoted(column), ": ", quoted(text),
                    " was shortened as NumPy shows long arrays, and the members between are lost"),
                "", "write whole lists, such as array.tolist() of NumPy returns");
  }
  const Json list = parse_json(text);
  for (size_t i = 0; list.is_array() && i < list.size(); ++i) {
    if (!list[i].is_null()) continue;
    throw Error(Code::kBadData,
                cat("column ", quoted(column), ": number ", i + 1, " of ",
                    counted(list.size(), "member"), " is missing"),
                "", "fill it in, or leave such rows out with --skip-bad-rows N");
  }
  throw Error(Code::kBadData, cat("column ", quoted(column), ": ", quoted(text), " is not a list"),
              "", "write a list of texts or numbers as JSON or Python does");
}

void LabelReader::begin(LabelDictionary& labels) {
  if (!are_texts_) labels.keep_zeros();
  for (const size_t place : found_.labels) {
    const Column& column = rows_.columns()[place];
    labels.add_categories(column.categories);
    if (column.declares_classes && !has_label_columns()) labels.add_classes(column.categories);
  }
  if (form_.positions > 0 && !found_.labels.empty()) name_positions(labels);
  if (!has_label_columns()) return;
  std::vector<std::string> names;
  for (const size_t column : found_.labels) names.push_back(name(column));
  labels.add_categories(names);
}

// Multi-hot lists have the known labels, or labels that are numbered from 0. All of them count,
// even labels that no row has.
void LabelReader::name_positions(LabelDictionary& labels) {
  const std::vector<std::string>& known = labels.known();
  if (!known.empty() && known.size() != form_.positions) {
    throw Error(Code::kBadData,
                cat("column ", quoted(name(found_.labels[0])), " has lists of ", form_.positions,
                    " numbers 0 and 1, but there are ", counted(known.size(), "label")),
                "", "--label-lists names reads the members of a list as names of labels");
  }
  for (size_t i = 0; i < form_.positions; ++i) {
    positions_.push_back(labels.entry(known.empty() ? std::to_string(i) : known[i]));
  }
}

bool LabelReader::is_missing_label(const Cell& cell, const LabelDictionary& labels) const {
  const auto* text = std::get_if<std::string>(&cell);
  return is_missing(cell, are_texts_) && (text == nullptr || !is_known(labels, *text));
}

void LabelReader::refuse_missing(const Row& row, size_t column, bool are_classes) const {
  const auto* text = std::get_if<std::string>(&row[column]);
  const bool means_it = text != nullptr && means_missing(*text);
  const bool may_be_class = means_it && are_classes;
  throw Error(
      Code::kBadData,
      cat("label ", quoted(name(column)), " is missing",
          means_it ? cat(": ", quoted(*text), " means that, as in ", who_means_missing(*text))
                   : ""),
      "",
      may_be_class ? "fill it in, leave such rows out with --skip-bad-rows N, or name it as a "
                     "class with --label-names"
                   : "fill it in, or leave such rows out with --skip-bad-rows N");
}

bool LabelReader::read_class(const Row& row, LabelDictionary& labels, Example& example) {
  const size_t column = found_.labels[0];
  const Cell& cell = row[column];
  // ClassLabel of `datasets` has no name for -1, so it is missing here.
  const bool has_no_name =
      rows_.columns()[column].declares_classes && std::holds_alternative<std::monostate>(cell);
  if (found_.text_pair && has_no_name) {
    ++left_out_;
    return false;
  }
  if (is_missing_label(cell, labels)) refuse_missing(row, column);
  const std::string label = label_text(cell).value_or(plain_text(cell).value_or(""));
  if (found_.text_pair && is_no_class(label, form_) && !is_known(labels, label)) {
    ++left_out_;
    return false;
  }
  if (is_shortened_list(label) && !is_known(labels, label)) refuse_list(name(column), label);
  const bool may_be_list = std::holds_alternative<std::string>(cell) &&
                           (begins_list(label) || parse_tuple(label)) && !is_known(labels, label);
  if (may_be_list && rows_.columns()[column].is_nested && begins_list(label) &&
      !parse_text_list(label)) {
    refuse_nested(name(column), label, "labels");
  }
  if (const auto entry = may_be_list ? class_in_list(label, labels) : std::nullopt) {
    example.labels.push_back(*entry);
  } else {
    example.labels.push_back(labels.entry(label));
  }
  return true;
}

// The class that a list holds. nullopt: the text is no list.
std::optional<int32_t> LabelReader::class_in_list(const std::string& text,
                                                  LabelDictionary& labels) const {
  const auto parts = label_parts(text, {});
  if (!parts) return std::nullopt;
  if (form_.positions == 0 && parts->size() == 1) return labels.entry(parts->front());
  std::optional<size_t> hot;
  bool is_one_hot = form_.positions > 0 && parts->size() == form_.positions;
  for (size_t i = 0; is_one_hot && i < parts->size(); ++i) {
    const std::optional<bool> mark = parse_mark((*parts)[i]);
    is_one_hot = mark && !(*mark && hot);
    if (mark.value_or(false)) hot = i;
  }
  if (is_one_hot && hot) return positions_[*hot];
  throw Error(Code::kBadData,
              cat("label ", quoted(text), " is a list of ", parts->size(), ", not one class"), "",
              "--task multi_label reads lists of labels");
}

void LabelReader::read_set(const Row& row, LabelDictionary& labels, Example& example) {
  if (const auto whole = plain_text(row[found_.labels[0]]); whole && is_shortened_list(*whole)) {
    refuse_list(name(found_.labels[0]), *whole);
  }
  if (form_.positions > 0) return read_marks(row, example);
  for (const std::string& label : label_set(row, labels)) {
    example.labels.push_back(labels.entry(label));
  }
}

std::vector<std::string> LabelReader::label_set(const Row& row, const LabelDictionary& labels) {
  if (has_label_columns()) return marked_columns(row);
  const size_t column = found_.labels[0];
  const std::string whole = plain_text(row[column]).value_or("");
  if (trimmed(whole).empty()) {
    ++empty_sets_;
    return {};
  }
  if (is_missing_label(row[column], labels)) {
    ++blank_sets_;
    return {};
  }
  if (begins_list(whole) || is_bracketed(whole) || parse_tuple(whole)) {
    auto parts = label_parts(whole, form_);
    if (!parts && rows_.columns()[column].is_nested && trimmed(whole).starts_with('{')) {
      refuse_nested(name(column), whole, "labels");
    }
    if (!parts) refuse_list(name(column), whole);
    refuse_repeated(*parts, whole);
    return std::move(*parts);
  }
  return split_labels(whole, labels);
}

std::vector<std::string> LabelReader::split_labels(const std::string& whole,
                                                   const LabelDictionary& labels) {
  LabelForm form = form_;
  if (form.separators.empty()) {
    const bool has_bar = whole.find('|') != std::string::npos;
    if (has_bar && separator_ == ',') {
      throw Error(Code::kBadData,
                  cat("label ", quoted(whole), " has a '|', but labels before it are separated by ",
                      "commas"),
                  "", "--label-separator says what separates the labels of all rows");
    }
    const bool has_comma = whole.find(',') != std::string::npos;
    if (separator_ == '\0') separator_ = has_bar ? '|' : has_comma ? ',' : '\0';
    if (separator_ != '\0') form.separators = separator_;
  }
  std::vector<std::string> parts = *label_parts(whole, form);
  for (const std::string& part : parts) {
    if (!are_texts_ || !means_missing(part) || is_known(labels, part)) continue;
    throw Error(Code::kBadData,
                cat("label ", quoted(whole), " holds ", quoted(trimmed(part)),
                    ", which means a missing value, as in ", who_means_missing(part)),
                "", "take it out, or name it as a label with --label-names");
  }
  refuse_repeated(parts, whole);
  return parts;
}

void LabelReader::read_marks(const Row& row, Example& example) const {
  const size_t column = found_.labels[0];
  const std::optional<std::string> whole = plain_text(row[column]);
  if (!whole || is_missing(row[column], are_texts_)) refuse_missing(row, column);
  const auto marks = label_parts(*whole, form_);
  bool is_read = marks && marks->size() == form_.positions;
  for (size_t i = 0; is_read && i < marks->size(); ++i) {
    const std::optional<bool> mark = parse_mark((*marks)[i]);
    is_read = mark.has_value();
    if (mark.value_or(false)) example.labels.push_back(positions_[i]);
  }
  if (is_read) return;
  throw Error(
      Code::kBadData,
      cat("label ", quoted(*whole), " is not a list of ", form_.positions,
          " numbers 0 and 1, as the other lists of labels are"),
      "",
      "give a 0 or 1 for each label, or skip such rows with --skip-bad-rows N; --label-lists "
      "names reads all members of lists as names");
}

// The names of the columns whose cells are 1.
std::vector<std::string> LabelReader::marked_columns(const Row& row) const {
  std::vector<std::string> marked;
  for (const size_t column : found_.labels) {
    std::optional<bool> mark = column_mark(row[column]);
    if (form_.blank_is_zero && is_missing(row[column], are_texts_)) mark = false;
    if (!mark) {
      throw Error(Code::kBadData, "column " + quoted(name(column)) + " holds neither 0 nor 1", "",
                  "write 1 or 0, True or False, or yes or no for each label");
    }
    if (*mark) marked.push_back(name(column));
  }
  return marked;
}

std::vector<Finding> LabelReader::findings() const {
  std::vector<Finding> found;
  if (blank_sets_ > 0) {
    found.push_back({"missing values as in pandas",
                     cat(counted(blank_sets_, "row"),
                         " whose label means a missing value, such as NaN, NA or None, ",
                         blank_sets_ == 1 ? "has" : "have", " no label"),
                     /*is_warning=*/true});
  }
  if (empty_sets_ > 0) {
    found.push_back({"", cat(counted(empty_sets_, "row"), empty_sets_ == 1 ? " has" : " have",
                             " no label, which teaches that no label is right")});
  }
  if (left_out_ > 0) {
    found.push_back(
        {"pairs without a class are left out",
         cat("left out ", counted(left_out_, "row"),
             " whose label is '-' or -1, as annotators of pairs who do not agree write; "
             "--label-names makes that a class"),
         /*is_warning=*/true});
  }
  return found;
}

}  // namespace berth
