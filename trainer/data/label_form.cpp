#include "trainer/data/label_form.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

// What stands between the separators in a text, without blanks around it. Parts that are empty are
// dropped.
std::vector<std::string> split_at(std::string_view text, std::string_view separator);

// What stands between labels.
struct Separator {
  std::string_view text, name;
};
// The separators by which labels are split if the rows show it, and the separators that only bring
// a warning.
constexpr Separator kSplitting[] = {{";", "';'"}, {"\n", "line breaks"}, {"/", "'/'"}};
constexpr Separator kDoubtful[] = {
    {"\t", "tabs"}, {"::", "'::'"},   {" - ", "' - '"},     {" > ", "' > '"},
    {"__", "'__'"}, {". ", "'. '"},   {"#", "'#'"},         {":", "':'"},
    {"^", "'^'"},   {"~", "'~'"},     {">", "'>'"},         {"+", "'+'"},
    {"&", "'&'"},   {"\\n", "'\\n'"}, {" and ", "' and '"}, {" ", "blanks"}};

// Labels that are joined in one text by a separator, as the first rows show them.
struct JoinedLabels {
  std::set<std::string, std::less<>> texts{}, labels{};
  std::string example{};  // a text that has several

  bool are_some() const { return !example.empty(); }
  bool are_few() const { return are_some() && labels.size() < texts.size(); }
  // How many labels are also the only one of a text.
  size_t alone() const {
    return static_cast<size_t>(
        std::ranges::count_if(labels, [&](const auto& label) { return texts.contains(label); }));
  }
};

JoinedLabels joined_labels(const LabelCells& cells, std::string_view separator) {
  JoinedLabels joined;
  for (const Row& row : cells.rows) {
    const auto* cell = std::get_if<std::string>(&row[cells.column]);
    if (cell == nullptr || is_missing(*cell, cells.are_texts)) continue;
    const std::string_view text = trimmed(*cell);
    if (begins_list(text)) continue;
    joined.texts.emplace(text);
    std::vector<std::string> labels = split_at(text, separator);
    if (labels.size() > 1 && joined.example.empty()) joined.example = text;
    for (std::string& label : labels) joined.labels.insert(std::move(label));
  }
  return joined;
}

// What stands between words of the texts and has a mark beyond ASCII, such as " – " and "、".
std::set<std::string> marks_between_words(const LabelCells& cells) {
  constexpr size_t kMostMarks = 20;
  std::set<std::string> found;
  for (const Row& row : cells.rows) {
    std::string marks;
    bool has_wide = false;
    std::string_view rest = trimmed_text(row[cells.column]);
    while (!rest.empty() && found.size() < kMostMarks) {
      const auto [code_point, size] = decode_utf8(rest);
      if (is_word_character(code_point) || code_point == 0x2019) {
        if (has_wide) found.insert(marks);
        marks.clear();
        has_wide = false;
      } else {
        marks += rest.substr(0, size);
        has_wide = has_wide || code_point >= 0x80;
      }
      rest.remove_prefix(size);
    }
  }
  return found;
}

// A text whose parts may be labels. Blanks, and "and", also stand inside of names, whose words are
// mostly no names themselves.
std::string doubtful_example(const LabelCells& cells) {
  for (const Separator& separator : kDoubtful) {
    const JoinedLabels joined = joined_labels(cells, separator.text);
    const bool are_alone = joined.alone() * 2 >= joined.labels.size();
    const bool may_be_name =
        (separator.text == " " && !are_alone) ||
        (separator.text == " and " && !are_alone && joined.labels.size() * 2 > joined.texts.size());
    if (joined.are_few() && !may_be_name) {
      return joined.example;
    }
  }
  for (const std::string& marks : marks_between_words(cells)) {
    const JoinedLabels joined = joined_labels(cells, marks);
    if (joined.are_few()) return joined.example;
  }
  return "";
}

// A label that is another one behind a word that ends a list: "and c" of "a, b, and c".
std::string last_of_list(const JoinedLabels& joined) {
  for (const std::string& label : joined.labels) {
    for (const std::string_view word : {"and ", "or ", "& "}) {
      const bool is_last =
          label.starts_with(word) && joined.labels.contains(label.substr(word.size()));
      if (is_last) return label;
    }
  }
  return "";
}

void find_bars(LabelForm& form, const LabelCells& cells, std::vector<Finding>& findings) {
  form.separators = "|";
  for (const Row& row : cells.rows) {
    const auto* text = std::get_if<std::string>(&row[cells.column]);
    if (text == nullptr || begins_list(*text) || text->find('|') != std::string::npos ||
        text->find(',') == std::string::npos) {
      continue;
    }
    findings.push_back({"one separator of labels",
                        cat("labels are separated by '|', so commas belong to their names, as in ",
                            quoted(trimmed(*text)), "; --label-separator says otherwise")});
    return;
  }
}

std::vector<std::string> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = trimmed(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    if (end == text.size()) return parts;
    text.remove_prefix(end + separator.size());
  }
}

// Finds what separates the labels of sets, unless the user said it. Warns where each text is read
// as one label but may hold several.
void find_separator(LabelForm& form, const LabelCells& cells, std::vector<Finding>& findings) {
  if (!form.separators.empty()) return;
  if (joined_labels(cells, "|").are_some()) return find_bars(form, cells, findings);
  const auto warn = [&](const std::string& example) {
    findings.push_back(warning(cat("labels such as ", quoted(example),
                                   " are read as one; --label-separator splits them")));
  };
  for (const auto& [text, name] : kSplitting) {
    const JoinedLabels joined = joined_labels(cells, text);
    if (!joined.are_some()) continue;
    const bool are_as_many = joined.labels.size() == joined.texts.size() && text != "/";
    // Where it would make more labels than there were texts, it may be a part of their names.
    if (!joined.are_few() && !are_as_many) return warn(joined.example);
    form.separators = text;
    const JoinedLabels others = joined_labels(cells, ",");
    const bool also_commas = others.are_few();
    if (also_commas) warn(others.example);
    findings.push_back({cat("labels separated by ", name),
                        cat("labels are separated by ", name, ", as in ", quoted(joined.example),
                            "; --label-separator says otherwise")});
    return;
  }
  if (const JoinedLabels joined = joined_labels(cells, ","); joined.are_some()) {
    const std::string last = last_of_list(joined);
    if (last.empty()) return;
    findings.push_back(warning(cat("the label ", quoted(last), " is read beside ",
                                   quoted(last.substr(last.find(' ') + 1)),
                                   "; write commas alone between labels")));
    return;
  }
  const std::string example = doubtful_example(cells);
  if (!example.empty()) warn(example);
}

// Warns where texts that are read as classes may be sets of labels.
void warn_of_joined(const LabelCells& cells, std::vector<Finding>& findings) {
  std::string example;
  for (const std::string_view separator : {";", "\n", "/", ","}) {
    const JoinedLabels joined = joined_labels(cells, separator);
    if (example.empty() && joined.are_few()) example = joined.example;
  }
  if (example.empty()) example = doubtful_example(cells);
  if (example.empty()) return;
  findings.push_back(warning(
      cat("each text of the label column is one class, also ", quoted(example),
          "; --task multi_label reads it as several labels, with --label-separator where that is "
          "neither '|' nor a comma")));
}

constexpr std::string_view kBlanks = " \t";

void find_number_form(LabelForm& form, const LabelCells& cells, bool is_given,
                      std::vector<Finding>& findings) {
  const NumbersFound found = find_numbers(cells.rows, cells.column, cells.are_texts);
  if (!found.are_most()) return;
  if (found.is_ambiguous) {
    throw Error(Code::kBadData,
                cat("the labels, such as ", quoted(found.example),
                    ", have commas that may be decimal or may separate thousands"),
                "",
                "write 1.234 for a fraction and 1234 for thousands, or pass --task "
                "sequence_classification where they are names");
  }
  form.numbers = found.form;
  if (found.has_plain_form) return;
  if (found.form.decimal == ',' && found.form.unit.empty()) {
    findings.push_back({"decimal commas",
                        is_given ? "labels are numbers with decimal commas"
                                 : "labels are numbers with decimal commas; pass --task "
                                   "multi_label where the comma separates labels",
                        !is_given});
    return;
  }
  const double value = parse_number(found.example, found.form).value_or(0);
  findings.push_back(
      {"numbers as people write them",
       cat("labels are numbers such as ", quoted(found.example), ", which is read as ", value,
           "; --task sequence_classification reads them as names")});
}

// Warns where classes are whole numbers that may be meant as numbers: stars from 1.0 to 5.0, a
// column of scores, thousands; and where many of them are fractions.
void warn_of_numbers(const LabelCells& cells, std::vector<Finding>& findings) {
  const NumbersFound found = find_numbers(cells.rows, cells.column, cells.are_texts);
  const auto warn = [&](std::string text) { findings.push_back(warning(std::move(text))); };
  if (!found.are_all()) {
    if (found.fractions == 0 || found.numbers * 2 < found.cells) return;
    return warn(cat(found.numbers, " of the first ", found.cells, " labels are numbers, such as ",
                    quoted(found.example), ", and others are not, such as ", quoted(found.other),
                    ", so each is a class; --task regression reads numbers"));
  }
  std::set<double> numbers;
  bool has_points = true;
  for (const Row& row : cells.rows) {
    const Cell& cell = row[cells.column];
    if (is_missing(cell, cells.are_texts)) continue;
    const std::string_view text = trimmed_text(cell);
    const bool is_real = std::holds_alternative<double>(cell);
    has_points = has_points && (is_real || text.find_first_of(".eE") != std::string_view::npos);
    numbers.insert(cell_number(cell, found.form).value_or(0));
  }
  const bool is_of_scores = names_scores(cells.name) && numbers.size() > 1;
  const bool is_marked = (has_points || !found.has_plain_form) && numbers.size() > 2;
  if (is_of_scores || is_marked) {
    std::string example = found.example;
    if (example.empty()) example = cat(*numbers.begin());
    if (has_points && example.find('.') == std::string::npos) example += ".0";
    warn(cat("labels such as ", quoted(example),
             " are whole numbers, so each is a class; --task regression learns them as numbers"));
  }
}

// Texts of CSV files are numbers where they look like numbers, as in pandas.
void say_lost_zeros(const LabelCells& cells, std::vector<Finding>& findings) {
  std::string_view example;
  bool has_power = false;  // "1E5"
  for (const Row& row : cells.rows) {
    const std::string_view text = trimmed_text(row[cells.column]);
    if (!text.empty() && !parse_real(text)) return;
    const bool are_digits = text.find_first_not_of("0123456789") == std::string_view::npos;
    const bool is_power = text.find_first_of("eE") != std::string_view::npos;
    if (!example.empty() || !(is_power || (are_digits && text.size() > 1 && text[0] == '0'))) {
      continue;
    }
    example = text;
    has_power = is_power;
  }
  if (example.empty() || !cells.are_texts || cells.have_names) return;
  findings.push_back(
      warning(cat("labels such as ", quoted(example), " are read as numbers, ",
                  has_power ? "with e for a power of ten" : "without the zeros before them",
                  ", as pandas reads CSV; --label-names keeps names as they are")));
}

// Warns of texts such as "010", which seem to have a place for each label.
void warn_of_bits(const LabelCells& cells, std::vector<Finding>& findings) {
  std::set<std::string_view> texts;
  bool begins_with_zero = false;
  for (const Row& row : cells.rows) {
    const std::string_view text = trimmed_text(row[cells.column]);
    const bool are_bits = text.find_first_not_of("01") == std::string_view::npos;
    if (text.size() < 2 || !are_bits) return;
    if (!texts.empty() && text.size() != texts.begin()->size()) return;
    begins_with_zero = begins_with_zero || text[0] == '0';
    texts.insert(text);
  }
  if (texts.size() < 3 || !begins_with_zero || cells.have_names) return;
  findings.push_back(
      warning(cat("labels such as ", quoted(*texts.begin()),
                  " have a 0 or 1 in each place, and each text is one class; for --task "
                  "multi_label write them as 0 1 0")));
}

// The lists in a column of labels.
struct ListsOfLabels {
  size_t lists = 0, of_one = 0, one_hot = 0, texts = 0;
  bool are_all_of_one() const { return lists > 0 && of_one == lists; }
  bool are_all_one_hot() const { return lists > 0 && lists == texts && one_hot == lists; }
};

ListsOfLabels lists_of_labels(const LabelCells& cells) {
  ListsOfLabels found;
  for (const Row& row : cells.rows) {
    const std::string_view text = trimmed_text(row[cells.column]);
    found.texts += !is_missing(row[cells.column], cells.are_texts);
    const bool is_list = begins_list(text) || parse_tuple(text);
    const auto parts = is_list ? label_parts(text, {}) : std::nullopt;
    if (!parts) continue;
    ++found.lists;
    found.of_one += parts->size() == 1;
    found.one_hot += std::ranges::count_if(*parts, [](const std::string& part) {
                       return parse_mark(part).value_or(false);
                     }) == 1;
  }
  return found;
}

// Lists as the classes of a task that has one for each text.
void find_class_lists(LabelForm& form, const LabelCells& cells, std::vector<Finding>& findings) {
  const ListsOfLabels found = lists_of_labels(cells);
  if (found.lists == 0) return;
  if (found.are_all_one_hot() && found.of_one == 0 && form.lists != LabelLists::kNames &&
      find_multi_hot(cells.rows, cells.column, form)) {
    findings.push_back(
        {"one-hot lists", cat("labels are lists of ", form.positions,
                              " numbers of which one is 1, whose place is the class")});
  } else if (found.are_all_of_one()) {
    findings.push_back({"lists of one label", "lists of one label are read as that label"});
  }
}

// Warns where sets of labels rather are classes, because each text has one label.
void warn_of_single_labels(const LabelCells& cells, bool is_multi_hot,
                           std::vector<Finding>& findings) {
  const ListsOfLabels found = lists_of_labels(cells);
  if (found.lists < 2 || found.lists != found.texts) return;
  if (!found.are_all_of_one() && !(is_multi_hot && found.are_all_one_hot())) return;
  findings.push_back(
      warning("each text has one label in its list, and is learnt as a set of labels; "
              "--task sequence_classification learns one class for each text"));
}

// In data sets of pairs, "-" or -1 is the label of a few rows on which annotators did not agree.
// There are two exceptions: all labels are marks like "-", or -1 belongs to a scale.
void find_no_agreement(LabelForm& form, const LabelCells& cells, std::vector<Finding>& findings) {
  bool has_names = false, has_minus_one = false, are_words = true;
  size_t dashes = 0;
  std::set<double> numbers;
  for (const Row& row : cells.rows) {
    const Cell& cell = row[cells.column];
    if (is_missing(cell, cells.are_texts)) continue;
    if (trimmed_text(cell) == "-") {
      ++dashes;
      continue;
    }
    are_words = are_words && (!std::holds_alternative<std::string>(cell) ||
                              std::ranges::any_of(trimmed_text(cell), is_word_byte));
    const auto number = std::holds_alternative<std::string>(cell) ? parse_real(trimmed_text(cell))
                        : std::holds_alternative<bool>(cell)      ? std::nullopt
                                                                  : cell_number(cell);
    has_names = has_names || !number;
    has_minus_one = has_minus_one || number == -1;
    if (number && *number != -1) numbers.insert(*number);
  }
  const bool counts = numbers.size() >= 3 && *numbers.begin() == 0 && *numbers.rbegin() > 1;
  form.minus_one_is_missing = (has_names && numbers.empty()) || (!has_names && counts);
  form.dash_is_missing = are_words && dashes * 2 <= cells.rows.size();
  if (form.minus_one_is_missing || !has_minus_one) return;
  findings.push_back(
      warning("the label -1 is a class; where it says that a pair has no label, leave these "
              "rows out"));
}

// -1 beside 0, 1, 2 and so on is no part of a scale, but what `datasets` writes for a missing
// class.
void warn_of_minus_one(const LabelCells& cells, std::vector<Finding>& findings) {
  std::set<double> numbers;
  for (const Row& row : cells.rows) {
    const Cell& cell = row[cells.column];
    if (is_missing(cell, cells.are_texts)) continue;
    const auto* text = std::get_if<std::string>(&cell);
    const auto number = text != nullptr                      ? parse_real(*text)
                        : std::holds_alternative<bool>(cell) ? std::nullopt
                                                             : cell_number(cell);
    if (!number || *number < -1) return;
    numbers.insert(*number);
  }
  constexpr size_t kFewest = 4;  // -1, 0, 1 may be a scale
  if (numbers.size() < kFewest || *numbers.begin() != -1 || *std::next(numbers.begin()) != 0)
    return;
  findings.push_back(
      warning("the label -1 is a class; where it says that a row has no label, as in files "
              "of `datasets`, leave these rows out"));
}

// The texts of a column as multi-hot lists.
struct MultiHotLists {
  std::map<size_t, size_t> lengths{};  // how many lists have each length
  size_t others = 0;                   // texts that are no such lists
  bool repeats_mark = false;           // a list has a 0 or 1 twice
};

MultiHotLists multi_hot_lists(std::span<const Row> rows, size_t column, const LabelForm& form) {
  MultiHotLists lists;
  for (const Row& row : rows) {
    if (is_missing(row[column], /*are_texts=*/false)) continue;
    const std::string_view text = trimmed_text(row[column]);
    const auto marks = label_parts(text, form);
    // Without brackets, "0,1" is rather a number or two labels.
    const bool is_list = begins_list(text) || parse_tuple(text) || !form.separators.empty() ||
                         text.find('|') != std::string_view::npos;
    const size_t least = is_list ? 2 : 3;
    std::set<bool> seen;
    bool are_marks = marks && marks->size() >= least, repeats = false;
    for (size_t i = 0; marks && i < marks->size(); ++i) {
      const std::optional<bool> mark = parse_mark((*marks)[i]);
      are_marks = are_marks && mark;
      repeats = repeats || (mark && !seen.insert(*mark).second);
    }
    lists.repeats_mark = lists.repeats_mark || repeats;
    are_marks ? ++lists.lengths[marks->size()] : ++lists.others;
  }
  return lists;
}

// The number of members of the lists; 0: they are not multi-hot.
size_t multi_hot_positions(std::span<const Row> rows, size_t column, const LabelForm& form) {
  const MultiHotLists lists = multi_hot_lists(rows, column, form);
  if (lists.lengths.empty()) return 0;
  if (lists.lengths.size() == 1 && lists.others == 0) return lists.lengths.begin()->first;
  size_t all = lists.others;
  for (const auto& [length, count] : lists.lengths) all += count;
  const auto usual = std::ranges::max_element(
      lists.lengths, [](const auto& a, const auto& b) { return a.second < b.second; });
  return lists.repeats_mark && usual->second * 2 > all ? usual->first : 0;
}

}  // namespace

bool names_scores(std::string_view column) {
  constexpr std::string_view kNames = "score rating stars similarity value";
  return is_one_of(kNames, lower_ascii(column));
}

std::optional<bool> parse_mark(std::string_view text) {
  const std::string name = lower_ascii(trimmed(text));
  if (name == "true") return true;
  if (name == "false") return false;
  const std::optional<double> number = parse_real(std::string_view(name));
  if (!number || (*number != 0 && *number != 1)) return std::nullopt;
  return *number == 1;
}

std::optional<bool> column_mark(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean;
  if (text == nullptr) return parse_mark(plain_text(cell).value_or(""));
  const std::string name = lower_ascii(trimmed(*text));
  if (name == "yes" || name == "y" || name == "x" || name == "t") return true;
  if (name == "no" || name == "n" || name == "f") return false;
  return parse_mark(name);
}

std::optional<std::vector<std::string>> label_parts(std::string_view text, const LabelForm& form) {
  if (auto list = parse_text_list(text)) return list;
  if (auto tuple = parse_tuple(text)) return tuple;
  if (begins_list(text) || is_bracketed(text)) return std::nullopt;
  const std::string_view usual = text.find('|') != std::string_view::npos ? "|" : ",";
  if (form.separators == kBlanks) return parted(text, kBlanks);
  return split_at(text, form.separators.empty() ? usual : form.separators);
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

bool has_label_forms(Task task) {
  const LabelKind kind = traits(task).labels;
  return kind == LabelKind::kClass || kind == LabelKind::kSet || kind == LabelKind::kNumber;
}

LabelForm find_label_form(LabelForm form, const LabelCells& cells, Task task, bool is_given,
                          std::vector<Finding>& findings) {
  if (form.is_settled) return form;
  form.is_settled = true;
  switch (traits(task).labels) {
    case LabelKind::kNumber:
      find_number_form(form, cells, is_given, findings);
      return form;
    case LabelKind::kClass:
      say_lost_zeros(cells, findings);
      warn_of_bits(cells, findings);
      cells.is_of_pairs ? find_no_agreement(form, cells, findings)
                        : warn_of_minus_one(cells, findings);
      if (is_given) {
        find_class_lists(form, cells, findings);
        return form;
      }
      warn_of_joined(cells, findings);
      warn_of_numbers(cells, findings);
      return form;
    case LabelKind::kSet:
      break;
    default:
      return form;
  }
  if (form.lists != LabelLists::kNames) {
    if (find_multi_hot(cells.rows, cells.column, form)) {
      findings.push_back(
          {"multi-hot lists", cat("labels are lists of ", form.positions,
                                  " numbers 0 and 1, one for each label; --label-lists names says "
                                  "otherwise")});
      if (!is_given) warn_of_single_labels(cells, /*is_multi_hot=*/true, findings);
      form.lists = LabelLists::kMultiHot;
      return form;
    }
    if (form.lists == LabelLists::kMultiHot) {
      throw Error(Code::kBadData, "the labels are no lists of one length that hold only 0 and 1",
                  "", "leave --label-lists out, or give each row a 0 or 1 for each label");
    }
  }
  form.lists = LabelLists::kNames;
  if (!is_given) warn_of_single_labels(cells, /*is_multi_hot=*/false, findings);
  for (const Row& row : cells.rows) {
    if (!parse_tuple(trimmed_text(row[cells.column]))) continue;
    findings.push_back({"tuples of labels", "labels in parentheses are read as lists"});
    return form;
  }
  find_separator(form, cells, findings);
  return form;
}

LabelForm find_mark_form(LabelForm form, std::span<const Row> rows, std::span<const size_t> columns,
                         bool are_texts, std::vector<Finding>& findings) {
  if (form.is_settled) return form;
  form.is_settled = true;
  bool has_zero = false, has_missing = false;
  std::string other;  // a mark that is neither 0 nor 1
  size_t single = 0;  // rows with one mark
  for (const Row& row : rows) {
    single += std::ranges::count_if(columns, [&](size_t column) {
                return column_mark(row[column]).value_or(false);
              }) == 1;
    for (const size_t column : columns) {
      const Cell& cell = row[column];
      if (is_missing(cell, are_texts)) {
        has_missing = true;
        continue;
      }
      const std::optional<bool> mark = column_mark(cell);
      has_zero = has_zero || mark == false;
      const auto* text = std::get_if<std::string>(&cell);
      if (mark && text != nullptr && !parse_real(*text) && other.empty()) other = trimmed(*text);
    }
  }
  if (!other.empty()) {
    findings.push_back(
        {"", cat("columns of labels hold ", quoted(other), " and the like for 1 or 0")});
  }
  constexpr size_t kFewMarked = 3;
  if (single >= kFewMarked && single == rows.size() && columns.size() > 1) {
    findings.push_back(
        warning("each row has one mark in the columns of labels, and so one class; "
                "pandas.from_dummies() makes a column of classes"));
  }
  form.blank_is_zero = has_missing && !has_zero;
  if (form.blank_is_zero) {
    findings.push_back({"",
                        "no column of labels holds a 0, so a label that is missing in a row is "
                        "read as 0"});
  }
  return form;
}

namespace {

constexpr uint64_t kMostPositions = 1'000'000;

std::string text_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_true(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && *found == true;
}

}  // namespace

OrderedJson to_json(const LabelForm& form) {
  OrderedJson object = OrderedJson::object();
  if (form.lists == LabelLists::kNames) object["lists"] = "names";
  if (form.lists == LabelLists::kMultiHot) object["lists"] = "multi-hot";
  if (!form.separators.empty()) object["separators"] = form.separators;
  if (form.positions > 0) object["positions"] = form.positions;
  const auto& [decimal, thousands, unit] = form.numbers;
  if (decimal != '.') object["decimal"] = std::string(1, decimal);
  if (thousands != '\0') object["thousands"] = std::string(1, thousands);
  if (!unit.empty()) object["unit"] = unit;
  if (form.blank_is_zero) object["blank_is_zero"] = true;
  if (form.minus_one_is_missing) object["minus_one_is_missing"] = true;
  if (form.dash_is_missing) object["dash_is_missing"] = true;
  return object;
}

std::optional<LabelForm> label_form_of(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  LabelForm form{.separators = text_member(object, "separators"),
                 .blank_is_zero = is_true(object, "blank_is_zero"),
                 .minus_one_is_missing = is_true(object, "minus_one_is_missing"),
                 .dash_is_missing = is_true(object, "dash_is_missing"),
                 .is_settled = true};
  const std::string lists = text_member(object, "lists"), decimal = text_member(object, "decimal"),
                    thousands = text_member(object, "thousands");
  if (lists == "names") form.lists = LabelLists::kNames;
  if (lists == "multi-hot") form.lists = LabelLists::kMultiHot;
  if (decimal.size() == 1) form.numbers.decimal = decimal[0];
  if (thousands.size() == 1) form.numbers.thousands = thousands[0];
  form.numbers.unit = text_member(object, "unit");
  const auto positions = object.find("positions");
  if (positions != object.end() && positions->is_number_unsigned()) {
    const auto count = positions->get<uint64_t>();
    if (count > kMostPositions) return std::nullopt;
    form.positions = count;
  }
  return form;
}

}  // namespace berth
