#include "entrypoint/job/odd_labels.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/text.h"
#include "storage/formats/conll_columns.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

// Whether a tag seems to say which part of an entity a word is, but not as B-PER does.
bool is_unusual_tag(const std::string& tag) {
  constexpr std::string_view kMarks = "BIESLU";
  for (const char* part : {"B-", "I-"}) {
    const size_t at = tag.find(part);
    if (at != tag.npos && at > 0 && !is_word_byte(tag[at - 1])) return true;  // A|B-PER, <B-PER>
  }
  if (tag == "o") return true;
  if (tag.size() < 3 || is_entity_tag(tag)) return false;
  const char mark = tag.back(), before = tag[tag.size() - 2];
  return (kMarks.find(tag[0]) != kMarks.npos && tag[1] == '_') ||
         (kMarks.find(mark) != kMarks.npos && (before == '-' || before == '_'));
}

// The number of classes that the table's rows have. 0: rows have no class, or not exactly one.
size_t classes_of_rows(const TrainingRows& rows) {
  const bool has_classes =
      traits(rows.task).labels == LabelKind::kClass && rows.train.table->labelled;
  if (!has_classes) return 0;
  const LabelDictionary& labels = rows.train.table->labels;
  return labels.names().size() - labels.unmet_classes().size();
}

bool has_too_many(size_t classes, size_t rows) {
  constexpr size_t kFewRows = 3, kManyRows = 20;
  return (rows >= kFewRows && classes == rows) || (rows >= kManyRows && classes * 10 >= rows * 9);
}

// Warns where some entities end with a tag of BIOES or BILOU, and others do not. This happens when
// a file of IOB tags is joined to another one. Looks at the first rows.
void look_at_ends(const TrainingRows& rows, std::vector<Finding>& found) {
  constexpr size_t kRows = 1000, kFew = 3, kShare = 20;
  const ExampleTable& table = *rows.train.table;
  const auto any_is = [&](std::string_view marks) {
    return std::ranges::any_of(rows.labels, [&](const std::string& tag) {
      return is_entity_tag(tag) && marks.find(tag[0]) != marks.npos;
    });
  };
  if (!any_is("EL")) return;
  const bool marks_single = any_is("SU");
  // An entity that does not end with E, L, S or U is open. -1 stands behind the last word.
  size_t entities = 0, open = 0;
  for (size_t row = 0; row < std::min(kRows, table.rows()); ++row) {
    std::string tag;
    std::vector<int32_t> entries = table.read(static_cast<uint32_t>(row)).labels;
    entries.push_back(-1);
    for (const int32_t entry : entries) {
      const std::string next = entry < 0 ? "O" : table.labels.name_of(entry);
      const bool is_inside = tag.size() > 1 && (tag[0] == 'I' || (tag[0] == 'B' && marks_single));
      const bool goes_on = next.size() > 1 && next.find_first_of("IELM") == 0 &&
                           next.substr(1) == tag.substr(std::min<size_t>(1, tag.size()));
      const bool is_open = is_inside && !goes_on;
      open += is_open ? 1 : 0;
      entities += is_open || (tag.size() > 1 && tag.find_first_of("ELSU") == 0) ? 1 : 0;
      tag = next;
    }
  }
  if (open < kFew || open * kShare < entities) return;
  found.push_back(
      warning(cat(open, " of the first ", entities, " entities end without a tag such as ",
                  any_is("L") ? "L-" : "E-",
                  ", as where files of BIO and BIOES were joined; write them in one way")));
}

// Tags of words that teach nothing, or that are not written as entities are.
void look_at_tags(const TrainingRows& rows, std::vector<Finding>& found) {
  const size_t labels = rows.labels.size();
  if (labels == 1) {
    found.push_back(warning(cat("every word has the tag ", quoted(rows.labels.front()),
                                ", so any model is right about all of them; --label-column names "
                                "another column")));
  }
  const auto is_number = [](const std::string& label) { return parse_real(label).has_value(); };
  if (labels > 1 && std::ranges::all_of(rows.labels, is_number)) {
    found.push_back(
        warning("the tags are numbers, so no entity is found by them and entity_f1 is 0; "
                "--label-names O,B-PER,... names them in the order of their numbers"));
  }
  // S and U mean the same in BIOES and BILOU, and so do E and L.
  const auto any_begins = [&](const char* mark) {
    return std::ranges::any_of(rows.labels,
                               [&](const std::string& tag) { return tag.starts_with(mark); });
  };
  if ((any_begins("S-") && any_begins("U-")) || (any_begins("E-") && any_begins("L-"))) {
    found.push_back(
        warning("the tags mix BIOES and BILOU: S- and U-, or E- and L-, mean the same and are "
                "different labels here; write them in one way"));
  }
  look_at_ends(rows, found);
  // Tags of entities without names are the letters alone.
  const auto entities =
      static_cast<size_t>(std::ranges::count_if(rows.labels, [](const std::string& tag) {
        return is_entity_tag(tag) || is_one_of("B I E S L U M", tag);
      }));
  const bool has_outside = std::ranges::find(rows.labels, "O") != rows.labels.end();
  const auto is_mark = [](const std::string& tag) {
    return tag == "_" || tag == "-" || tag == "*";
  };
  // Tags without B- or I- beside "O" or beside tags with them, or marks such as "_".
  const bool has_bare = entities + (has_outside ? 1 : 0) < labels;
  const bool are_bare = labels > 1 && has_bare &&
                        (has_outside || entities > 0 || std::ranges::any_of(rows.labels, is_mark));
  if (are_bare || std::ranges::any_of(rows.labels, is_unusual_tag)) {
    found.push_back(
        warning("entities are counted by tags such as B-PER, I-PER and O; some tags "
                "here are written otherwise, and each of them counts as a name"));
  }
}

}  // namespace

std::string equal_labels(const ExampleTable& table, const std::vector<uint32_t>& rows,
                         LabelKind kind) {
  constexpr size_t kFewRows = 5;
  const bool is_of_words = kind == LabelKind::kTagPerWord, is_of_sets = kind == LabelKind::kSet;
  const bool has_labels = kind == LabelKind::kClass || is_of_words || is_of_sets;
  const bool is_number = kind == LabelKind::kNumber;
  if (!(has_labels || is_number) || !table.labelled || rows.size() < kFewRows) return "";
  if (is_number) {
    const float first = table.read(rows.front()).score;
    const auto is_equal = [&](uint32_t row) { return table.read(row).score == first; };
    if (!std::ranges::all_of(rows, is_equal)) return "";
    return cat("the label ", formatted("%.6g", static_cast<double>(first)));
  }
  std::optional<std::vector<std::string>> all;
  for (const uint32_t row : rows) {
    std::vector<std::string> names;
    for (const int32_t entry : table.read(row).labels) {
      if (entry >= 0) names.push_back(table.labels.name_of(entry));
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (is_of_words && names.empty()) continue;
    if ((is_of_words && names.size() > 1) || names != all.value_or(names)) return "";
    all = std::move(names);
  }
  if (!all || (all->empty() && !is_of_sets)) return "";
  if (all->empty()) return "no label";
  return cat("the ", is_of_words ? "tag" : "label", all->size() > 1 ? "s " : " ",
             quoted_list(*all));
}

std::vector<Finding> look_at_labels(const TrainingRows& rows, bool holds_rows_out) {
  std::vector<Finding> found;
  const size_t count = rows.train.table->rows();
  const LabelKind kind = traits(rows.task).labels;
  if (kind == LabelKind::kTagPerWord) look_at_tags(rows, found);
  const auto has = [&](std::string_view name) {
    return std::ranges::find(rows.labels, name) != rows.labels.end();
  };
  if (kind == LabelKind::kClass && (has("True") || has("False")) && (has("1") || has("0"))) {
    found.push_back(
        warning("True and 1, or False and 0, are different labels here; write all of "
                "them in one way"));
  }
  if (kind == LabelKind::kSet && rows.labels.size() == 1) {
    found.push_back(warning(cat("the only label is ", quoted(rows.labels.front()),
                                ", so there is nothing to tell apart but whether a row has it; "
                                "--label-column names another column")));
  }
  const std::string equal = kind == LabelKind::kSet && rows.labels.size() > 1
                                ? equal_labels(*rows.train.table, rows.split.train, kind)
                                : "";
  if (!equal.empty()) {
    found.push_back(warning(cat("every row has ", equal,
                                ", so there is nothing to tell apart; "
                                "--label-column names another column")));
  }
  if (rows.eval && rows.eval->table->digest() == rows.train.table->digest()) {
    found.push_back(
        warning("the job evaluates on the rows that it trains on, so the evaluation says nothing "
                "of other texts; give other rows by --eval-data-file"));
  }
  if (const size_t classes = classes_of_rows(rows); has_too_many(classes, count)) {
    found.push_back(
        warning(cat(classes == count ? "every row" : "nearly every row",
                    " has a label of its own, as an id, a number or a text has; --label-column "
                    "names another column, and --task regression reads numbers")));
  }
  if (holds_rows_out && rows.split.held_out.empty()) {
    found.push_back(
        warning("no row is left to evaluate on, so the job evaluates nothing; give "
                "--eval-data-file, or a larger --validation-split"));
  }
  return found;
}

}  // namespace berth
