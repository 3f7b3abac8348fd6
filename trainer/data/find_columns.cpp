#include "trainer/data/find_columns.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// In order of preference.
constexpr std::array<std::string_view, 16> kTextNames = {
    "text",  "sentence", "content", "review",  "document", "sentence1", "text_a",      "text1",
    "tweet", "comment",  "body",    "message", "premise",  "question1", "description", "utterance"};
constexpr std::array<std::string_view, 11> kLabelNames = {
    "label",     "labels",  "target", "class",    "category", "intent",
    "sentiment", "emotion", "topic",  "label_id", "y"};
constexpr std::array<std::array<std::string_view, 2>, 7> kPairNames = {{{"sentence1", "sentence2"},
                                                                        {"text_a", "text_b"},
                                                                        {"text1", "text2"},
                                                                        {"text", "text_pair"},
                                                                        {"premise", "hypothesis"},
                                                                        {"question1", "question2"},
                                                                        {"sentence", "question"}}};

std::string list_columns(std::span<const Column> columns) {
  std::string text;
  for (const Column& column : columns.first(std::min<size_t>(columns.size(), 20))) {
    text += (text.empty() ? "" : ", ") + quoted(column.name);
  }
  return columns.empty() ? "no column at all" : text + (columns.size() > 20 ? ", ..." : "");
}

std::optional<size_t> find(std::span<const Column> columns, std::string_view name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (lower_ascii(columns[i].name) == lower_ascii(name)) return i;
  }
  return std::nullopt;
}

template <size_t N>
std::optional<size_t> find_any(std::span<const Column> columns,
                               const std::array<std::string_view, N>& names) {
  for (const std::string_view name : names) {
    if (const auto found = find(columns, name)) return found;
  }
  return std::nullopt;
}

size_t find_named(std::span<const Column> columns, const std::string& name,
                  const std::string& flag) {
  if (const auto found = find(columns, name)) return *found;
  throw Error(Code::kBadData,
              "no column " + quoted(name) + " (" + flag + "); there is " + list_columns(columns));
}

size_t find_text(std::span<const Column> columns, const ColumnChoice& choice,
                 std::optional<size_t> label) {
  if (!choice.text.empty()) return find_named(columns, choice.text, "--text-column");
  if (const auto found = find_any(columns, kTextNames)) return *found;
  if (columns.size() == 2 && label) return 1 - *label;
  if (columns.size() == 1 && !label) return 0;
  throw Error(Code::kBadData, "no column is named as a text is (text, sentence, content, ...)", "",
              "name it with --text-column; there is " + list_columns(columns));
}

std::optional<size_t> find_label(std::span<const Column> columns, const ColumnChoice& choice,
                                 LabelNeed need) {
  if (!choice.label.empty()) {
    if (need == LabelNeed::kIfPresent) return find(columns, choice.label);
    return find_named(columns, choice.label, "--label-column");
  }
  const auto found = find_any(columns, kLabelNames);
  if (!found && need == LabelNeed::kRequired) {
    throw Error(Code::kBadData, "no column is named as a label is (label, target, class, ...)", "",
                "name it with --label-column; there is " + list_columns(columns));
  }
  return found;
}

std::optional<size_t> find_pair(std::span<const Column> columns, const ColumnChoice& choice,
                                size_t text) {
  if (!choice.text_pair.empty()) {
    return find_named(columns, choice.text_pair, "--text-pair-column");
  }
  for (const auto& [first, second] : kPairNames) {
    if (lower_ascii(columns[text].name) == first) {
      if (const auto found = find(columns, second)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

FoundColumns find_columns(std::span<const Column> columns, const ColumnChoice& choice,
                          LabelNeed need) {
  FoundColumns found;
  found.label = find_label(columns, choice, need);
  found.text = find_text(columns, choice, found.label);
  found.text_pair = find_pair(columns, choice, found.text);
  if (found.text_pair == found.text || found.label == found.text ||
      (found.label && found.label == found.text_pair)) {
    const size_t twice = found.text_pair == found.text ? found.text : *found.label;
    throw Error(Code::kUsage, "column " + quoted(columns[twice].name) + " would be used twice", "",
                "name the columns with --text-column, --text-pair-column and --label-column");
  }
  return found;
}

}  // namespace berth
