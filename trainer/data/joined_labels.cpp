#include "trainer/data/joined_labels.h"

#include <algorithm>
#include <set>

#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

// What stands between labels.
struct Separator {
  std::string_view text, name;
};
// The separators by which labels are split if the rows show it, and the separators that only bring
// a warning.
constexpr Separator kSplitting[] = {{";", "';'"}, {"\n", "line breaks"}, {"/", "'/'"}};
constexpr Separator kDoubtful[] = {{"\t", "tabs"},
                                   {"::", "'::'"},
                                   {" - ", "' - '"},
                                   {" > ", "' > '"},
                                   {"__", "'__'"},
                                   {". ", "'. '"},
                                   {"#", "'#'"},
                                   {":", "':'"},
                                   {"^", "'^'"},
                                   {"~", "'~'"},
                                   {">", "'>'"},
                                   {"+", "'+'"},
                                   {"&", "'&'"},
                                   {"\xEF\xBC\x9B", "U+FF1B"},
                                   {"\xE3\x80\x81", "U+3001"},
                                   {"\xC2\xB7", "U+00B7"},
                                   {"\xEF\xBC\x8C", "U+FF0C"},
                                   {" ", "blanks"}};

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

// A text whose parts may be labels. Blanks also stand inside of names, whose words are mostly no
// names themselves.
std::string doubtful_example(const LabelCells& cells) {
  for (const Separator& separator : kDoubtful) {
    const JoinedLabels joined = joined_labels(cells, separator.text);
    const bool is_blank = separator.text == " ";
    if (joined.are_few() && (!is_blank || joined.alone() * 2 >= joined.labels.size())) {
      return joined.example;
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

}  // namespace

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

void find_separator(LabelForm& form, const LabelCells& cells, std::vector<Finding>& findings) {
  if (!form.separators.empty()) return;
  if (joined_labels(cells, "|").are_some()) return find_bars(form, cells, findings);
  const auto warn = [&](const std::string& example) {
    findings.push_back(
        {"",
         cat("labels such as ", quoted(example), " are read as one; --label-separator splits them"),
         /*is_warning=*/true});
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
  if (joined_labels(cells, ",").are_some()) return;
  const std::string example = doubtful_example(cells);
  if (!example.empty()) warn(example);
}

void warn_of_joined(const LabelCells& cells, std::vector<Finding>& findings) {
  std::string example;
  for (const std::string_view separator : {";", "\n", "/", ","}) {
    const JoinedLabels joined = joined_labels(cells, separator);
    if (example.empty() && joined.are_few()) example = joined.example;
  }
  if (example.empty()) example = doubtful_example(cells);
  if (example.empty()) return;
  findings.push_back(
      {"",
       cat("each text of the label column is one class, also ", quoted(example),
           "; --task multi_label reads it as several labels, with --label-separator where that is "
           "neither '|' nor a comma"),
       /*is_warning=*/true});
}

}  // namespace berth
