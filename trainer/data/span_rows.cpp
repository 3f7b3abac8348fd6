#include "trainer/data/span_rows.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/annotated_words.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 4> kTextNames = {"text", "content", "sentence", "data"};
constexpr std::array<std::string_view, 7> kSpanNames = {
    "label", "labels", "entities", "spans", "annotations", "completions", "ner"};
constexpr std::array<std::string_view, 4> kBeginKeys = {"start", "start_offset", "startOffset",
                                                        "begin"};
constexpr std::array<std::string_view, 3> kEndKeys = {"end", "end_offset", "endOffset"};
constexpr std::array<std::string_view, 7> kNameKeys = {"label",        "labels", "type", "entity",
                                                       "entity_group", "tag",    "name"};

template <size_t Size>
const Json* any_of(const Json& object, const std::array<std::string_view, Size>& keys) {
  for (const std::string_view key : keys) {
    const auto found = object.find(std::string(key));
    if (found != object.end()) return &*found;
  }
  return nullptr;
}

// One of Vertex AI's annotations, which annotated_words() reads; null: it is no span.
Json annotation_of(const Json& span) {
  const Json *begin = nullptr, *end = nullptr, *name = nullptr;
  if (span.is_array() && span.size() >= 3) {
    begin = &span[0], end = &span[1], name = &span[2];
  } else if (span.is_object()) {
    if (span.contains("value")) return annotation_of(span["value"]);
    begin = any_of(span, kBeginKeys), end = any_of(span, kEndKeys), name = any_of(span, kNameKeys);
  }
  if (name != nullptr && name->is_array() && name->size() == 1) name = &(*name)[0];
  if (begin == nullptr || end == nullptr || name == nullptr || !begin->is_number_unsigned() ||
      !end->is_number_unsigned() || !name->is_string()) {
    return {};
  }
  return {{"startOffset", *begin}, {"endOffset", *end}, {"displayName", *name}};
}

// The list of spans in a cell. Label Studio's annotations are a list of objects with results, of
// which the first one that was not cancelled counts. Discarded: it is no list.
Json spans_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return Json::array();  // missing: nothing is annotated
  Json list = parse_json(*text);
  if (!list.is_array()) return Json(Json::value_t::discarded);
  if (list.empty() || !list[0].is_object() || !list[0].contains("result")) return list;
  for (const Json& annotation : list) {
    if (!annotation.is_object() || !annotation.contains("result")) continue;
    if (annotation.value("was_cancelled", Json()) == true) continue;
    Json spans = Json::array();
    for (const Json& result : annotation["result"]) {
      // Relations and choices stand in the same list.
      if (!annotation_of(result).is_null()) spans.push_back(result);
    }
    return spans;
  }
  return Json::array();
}

// Whether all cells are lists of spans, and one has a span.
bool holds_spans(std::span<const Row> rows, size_t column) {
  bool any = false;
  for (const Row& row : rows) {
    const Json list = spans_of(row[column]);
    if (!list.is_array()) return false;
    for (const Json& span : list) {
      if (annotation_of(span).is_null()) return false;
      any = true;
    }
  }
  return any;
}

class TaggedWords final : public RowReader {
 public:
  TaggedWords(std::unique_ptr<RowReader> rows, const SpanRows& layout)
      : rows_(std::move(rows)), layout_(layout) {}

  std::span<const Column> columns() const override { return rows_->columns(); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::string position() const override { return rows_->position(); }
  void select(std::span<const size_t> columns) override {
    std::vector<size_t> wanted(columns.begin(), columns.end());
    wanted.push_back(layout_.spans);
    rows_->select(wanted);
  }

  bool next(Row& row) override {
    if (!rows_->next(row)) return false;
    try {
      const std::string text = text_of_cell(row[layout_.text]);
      Json annotations = Json::array();
      const Json spans = spans_of(row[layout_.spans]);
      if (!spans.is_array()) throw Error(Code::kBadData, "the spans are no list");
      for (const Json& span : spans) {
        annotations.push_back(annotation_of(span));
        if (annotations.back().is_null()) {
          throw Error(Code::kBadData, cat(quoted(to_text(span)), " is no span"), "",
                      "write [begin, end, \"NAME\"], counted in characters from 0");
        }
      }
      const AnnotatedWords words = annotated_words(text, to_text(annotations));
      row[layout_.text] = to_text(Json(words.words));
      row[layout_.spans] = to_text(Json(words.tags));
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = rows_->findings();
    found.push_back({"", cat("column ", quoted(columns()[layout_.spans].name),
                             " has spans of characters, which become tags of words: B-NAME where a "
                             "span begins, I-NAME inside it, O outside")});
    return found;
  }

 private:
  static std::string text_of_cell(const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    if (text == nullptr) throw Error(Code::kBadData, "the text is missing");
    if (!text->starts_with('{')) return *text;
    const Json data = parse_json(*text);
    const Json* const inner = data.is_object() ? any_of(data, kTextNames) : nullptr;
    return inner != nullptr && inner->is_string() ? inner->get<std::string>() : *text;
  }

  const std::unique_ptr<RowReader> rows_;
  const SpanRows layout_;
};

}  // namespace

std::optional<SpanRows> find_span_rows(std::span<const Column> columns, std::span<const Row> rows,
                                       const ColumnChoice& choice, std::optional<Task> task) {
  if (task && traits(*task).inputs != InputKind::kWords) return std::nullopt;
  const auto named = [&](const std::string& given, auto names) -> std::vector<size_t> {
    std::vector<size_t> found;
    for (const std::string_view name : names) {
      const auto column = find_column(columns, given.empty() ? name : std::string_view(given));
      if (column) found.push_back(*column);
    }
    return found;
  };
  const std::vector<size_t> texts = named(choice.text, kTextNames);
  if (texts.empty()) return std::nullopt;
  for (const size_t spans : named(choice.label, kSpanNames)) {
    if (spans != texts[0] && holds_spans(rows, spans)) return SpanRows{texts[0], spans};
  }
  return std::nullopt;
}

std::unique_ptr<RowReader> tag_words(std::unique_ptr<RowReader> rows, const SpanRows& layout) {
  return std::make_unique<TaggedWords>(std::move(rows), layout);
}

}  // namespace berth
