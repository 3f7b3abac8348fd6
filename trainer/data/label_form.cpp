#include "trainer/data/label_form.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

constexpr std::string_view kBlanks = " \t";

// A text of a label column; empty: the cell holds something else.
std::string_view text_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string_view() : trimmed(*text);
}

bool is_whole(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Labels that are joined in one text by one of `separators`, as the first rows show them.
struct JoinedLabels {
  std::set<std::string, std::less<>> texts{}, labels{};
  std::string example{};  // a text that has several
};

JoinedLabels joined_labels(std::span<const Row> rows, size_t column, std::string_view separators) {
  JoinedLabels joined;
  for (const Row& row : rows) {
    const std::string_view text = text_of(row[column]);
    if (text.empty() || begins_list(text)) continue;
    joined.texts.emplace(text);
    const std::vector<std::string> labels = parted(text, separators);
    if (labels.size() > 1 && joined.example.empty()) joined.example = text;
    for (const std::string& label : labels) joined.labels.emplace(trimmed(label));
  }
  return joined;
}

struct Separator {
  std::string_view characters, name;
};
constexpr Separator kSeparators[] = {{";", "';'"}, {"\n", "line breaks"}, {"/", "'/'"}};

// Finds what separates the labels of sets. Where it would make more labels than there were texts,
// it may be a part of their names.
void find_separator(LabelForm& form, std::span<const Row> rows, size_t column,
                    std::vector<Finding>& findings) {
  if (!form.separators.empty() || !joined_labels(rows, column, "|").example.empty()) return;
  for (const auto& [characters, name] : kSeparators) {
    const JoinedLabels joined = joined_labels(rows, column, characters);
    if (joined.example.empty()) continue;
    const size_t labels = joined.labels.size(), texts = joined.texts.size();
    if (labels < texts || (labels == texts && characters != "/")) {
      form.separators = characters;
      findings.push_back({cat("labels separated by ", name),
                          cat("labels are separated by ", name, ", as in ", quoted(joined.example),
                              "; --label-separator says otherwise")});
      return;
    }
    findings.push_back({"",
                        cat("labels such as ", quoted(joined.example),
                            " are read as one; --label-separator splits them"),
                        /*is_warning=*/true});
    return;
  }
}

// Warns where texts that are read as classes may be sets of labels.
void warn_of_joined(std::span<const Row> rows, size_t column, std::vector<Finding>& findings) {
  for (const std::string_view characters : {";", "\n", "/", ","}) {
    const JoinedLabels joined = joined_labels(rows, column, characters);
    if (joined.example.empty() || joined.labels.size() >= joined.texts.size()) continue;
    findings.push_back(
        {"",
         cat("each text of the label column is one class, also ", quoted(joined.example),
             "; --task multi_label reads it as several labels"),
         /*is_warning=*/true});
    return;
  }
}

// Warns where classes are numbers with a decimal point, such as stars from 1.0 to 5.0.
void warn_of_floats(std::span<const Row> rows, size_t column, std::vector<Finding>& findings) {
  std::set<double> numbers;
  for (const Row& row : rows) {
    const Cell& cell = row[column];
    if (std::holds_alternative<std::monostate>(cell)) continue;
    const std::string_view text = text_of(cell);
    const auto* real = std::get_if<double>(&cell);
    const bool has_point = text.find_first_of(".eE") != std::string_view::npos;
    const auto number = real != nullptr ? std::optional(*real) : parse_real(text);
    if (!number || (real == nullptr && !has_point)) return;
    if (!std::isnan(*number)) numbers.insert(*number);
  }
  if (numbers.size() < 3) return;
  findings.push_back({"",
                      "labels such as " +
                          quoted(plain_text(Cell(*numbers.begin())).value_or("") + ".0") +
                          " are whole numbers, so each is a class; --task regression learns them "
                          "as numbers",
                      /*is_warning=*/true});
}

void find_decimals(LabelForm& form, std::span<const Row> rows, size_t column, bool is_given,
                   std::vector<Finding>& findings) {
  switch (find_decimal_commas(rows, column)) {
    case DecimalCommas::kNone:
      return;
    case DecimalCommas::kAmbiguous:
      throw Error(Code::kBadData,
                  "the labels have commas that may be decimal or may separate thousands", "",
                  "write 1.234 for a fraction and 1234 for thousands, or pass --task "
                  "sequence_classification where they are names");
    case DecimalCommas::kSome:
      form.decimal_comma = true;
      findings.push_back({"decimal commas",
                          is_given ? "labels are numbers with decimal commas"
                                   : "labels are numbers with decimal commas; pass --task "
                                     "multi_label where the comma separates labels",
                          !is_given});
  }
}

// The number of members of each text, where all of them are multi-hot lists; 0: they are not.
size_t multi_hot_positions(std::span<const Row> rows, size_t column, const LabelForm& form) {
  size_t positions = 0;
  for (const Row& row : rows) {
    if (std::holds_alternative<std::monostate>(row[column])) continue;
    const std::string_view text = text_of(row[column]);
    const auto marks = label_parts(text, form);
    // Without brackets, "0,1" is rather a number or two labels.
    const bool is_list = begins_list(text) || parse_tuple(text) || !form.separators.empty() ||
                         text.find('|') != std::string_view::npos;
    const size_t least = is_list ? 2 : 3;
    if (!marks || marks->size() < least || (positions > 0 && marks->size() != positions)) return 0;
    for (const std::string& mark : *marks) {
      if (!parse_mark(mark)) return 0;
    }
    positions = marks->size();
  }
  return positions;
}

}  // namespace

std::optional<bool> parse_mark(std::string_view text) {
  const std::string name = lower_ascii(trimmed(text));
  if (name == "true") return true;
  if (name == "false") return false;
  const std::optional<double> number = parse_real(std::string_view(name));
  if (!number || (*number != 0 && *number != 1)) return std::nullopt;
  return *number == 1;
}

std::optional<std::vector<std::string>> label_parts(std::string_view text, const LabelForm& form) {
  if (auto list = parse_text_list(text)) return list;
  if (auto tuple = parse_tuple(text)) return tuple;
  if (begins_list(text) || is_bracketed(text)) return std::nullopt;
  const std::string_view usual = text.find('|') != std::string_view::npos ? "|" : ",";
  std::vector<std::string> parts = parted(text, form.separators.empty() ? usual : form.separators);
  std::erase_if(parts, [](const std::string& part) { return trimmed(part).empty(); });
  return parts;
}

bool find_multi_hot(std::span<const Row> rows, size_t column, LabelForm& form) {
  LabelForm tried = form;
  tried.positions = multi_hot_positions(rows, column, tried);
  if (tried.positions == 0 && form.separators.empty()) {
    tried.separators = kBlanks;  // 1 0 1
    tried.positions = multi_hot_positions(rows, column, tried);
  }
  if (tried.positions > 0) form = tried;
  return tried.positions > 0;
}

DecimalCommas find_decimal_commas(std::span<const Row> rows, size_t column) {
  bool any = false, clear = false;
  for (const Row& row : rows) {
    const Cell& cell = row[column];
    const std::string_view text = text_of(cell);
    const bool is_missing = std::holds_alternative<std::monostate>(cell) || text == "nan" ||
                            text == "NaN" ||
                            (text.empty() && std::holds_alternative<std::string>(cell));
    if (is_missing || std::holds_alternative<int64_t>(cell)) continue;
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
      if (!is_whole(text.substr(text.starts_with('-') || text.starts_with('+')))) {
        return DecimalCommas::kNone;
      }
      continue;
    }
    const bool is_grouped = text.find(',', comma + 1) != std::string_view::npos;
    if (!is_grouped && !parse_decimal_comma(text)) return DecimalCommas::kNone;
    any = true;
    // Thousands have one to three digits, not 0 alone, before three others.
    std::string_view left = text.substr(0, comma), right = text.substr(comma + 1);
    left.remove_prefix(left.starts_with('-') || left.starts_with('+'));
    if (is_grouped) {
      for (const std::string& group : parted(right, ",")) {
        if (group.size() != 3 || !is_whole(group)) return DecimalCommas::kNone;
      }
    }
    clear = clear || (!is_grouped && (right.size() != 3 || left.starts_with('0') || left.empty() ||
                                      left.size() > 3));
  }
  if (!any) return DecimalCommas::kNone;
  return clear ? DecimalCommas::kSome : DecimalCommas::kAmbiguous;
}

bool has_label_forms(Task task) {
  const LabelKind kind = traits(task).labels;
  return kind == LabelKind::kClass || kind == LabelKind::kSet || kind == LabelKind::kNumber;
}

LabelForm find_label_form(LabelForm form, std::span<const Row> rows, size_t column, Task task,
                          bool is_given, std::vector<Finding>& findings) {
  switch (traits(task).labels) {
    case LabelKind::kNumber:
      find_decimals(form, rows, column, is_given, findings);
      return form;
    case LabelKind::kClass:
      if (is_given) return form;
      warn_of_joined(rows, column, findings);
      warn_of_floats(rows, column, findings);
      return form;
    case LabelKind::kSet:
      break;
    default:
      return form;
  }
  if (form.lists != LabelLists::kNames) {
    if (find_multi_hot(rows, column, form)) {
      findings.push_back(
          {"multi-hot lists", cat("labels are lists of ", form.positions,
                                  " numbers 0 and 1, one for each label; --label-lists names says "
                                  "otherwise")});
      form.lists = LabelLists::kMultiHot;
      return form;
    }
    if (form.lists == LabelLists::kMultiHot) {
      throw Error(Code::kBadData, "the labels are no lists of one length that hold only 0 and 1",
                  "", "leave --label-lists out, or give each row a 0 or 1 for each label");
    }
  }
  form.lists = LabelLists::kNames;
  for (const Row& row : rows) {
    if (!parse_tuple(text_of(row[column]))) continue;
    findings.push_back({"tuples of labels", "labels in parentheses are read as lists"});
    return form;
  }
  find_separator(form, rows, column, findings);
  return form;
}

}  // namespace berth
