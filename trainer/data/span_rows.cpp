#include "trainer/data/span_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/conll_columns.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

struct Segment {
  uint64_t begin, end;  // in code points
  std::string name;
};

uint64_t offset_of(const Json& annotation, const char* key) {
  const auto found = annotation.find(key);
  if (found == annotation.end()) return 0;
  if (found->is_number_unsigned()) return *found;
  uint64_t offset = 0;
  if (found->is_string()) {
    const auto& digits = found->get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
    if (error == std::errc() && end == digits.data() + digits.size()) return offset;
  }
  throw Error(Code::kBadData, cat(key, " ", to_text(*found), " is not an offset in a text"));
}

Segment segment_of(const Json& annotation) {
  std::string name = display_name(annotation);
  return {offset_of(annotation, "startOffset"), offset_of(annotation, "endOffset"),
          std::move(name)};
}

std::string described(const Segment& segment) {
  return cat("annotation ", quoted(segment.name), " from ", segment.begin, " to ", segment.end);
}

// The segments in the order of the text. Throws kBadData if one is malformed or they overlap.
std::vector<Segment> segments_of(std::string_view annotations, uint64_t text_size) {
  std::vector<Segment> segments;
  const Json list = parse_json(annotations);
  if (!list.is_array()) throw Error(Code::kBadData, "textSegmentAnnotations is not a list");
  for (const Json& annotation : list) segments.push_back(segment_of(annotation));
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  uint64_t last_end = 0;
  for (const Segment& segment : segments) {
    if (segment.begin >= segment.end || segment.end > text_size) {
      throw Error(Code::kBadData,
                  cat(described(segment), " is not a part of a text of ", text_size, " characters"),
                  "", "offsets count characters from 0, and the end is after the last");
    }
    if (segment.begin < last_end) {
      throw Error(Code::kBadData, described(segment) + " overlaps the one before it", "",
                  "a word has one tag: keep one of them");
    }
    last_end = segment.end;
  }
  return segments;
}

class WordCutter {
 public:
  explicit WordCutter(const std::vector<Segment>& segments) : segments_(segments) {}

  void add(uint64_t place, const DecodedCharacter& character, std::string_view bytes) {
    const uint8_t classes = classes_.of(character.code_point);
    const bool stands_alone = classes & (kPunctuation | kCjk);
    const bool is_inside_word = is_open_ && !stands_alone && !(classes & kWhitespace);
    while (segment_ < segments_.size() && place >= segments_[segment_].end) {
      is_cut_ = is_cut_ || is_inside_word;
      leave_segment();
    }
    if (segment_ < segments_.size() && place == segments_[segment_].begin) {
      is_cut_ = is_inside_word;
      is_open_ = false;
    }
    if (classes & kWhitespace) {
      is_open_ = false;
      return;
    }
    if (!is_open_ || stands_alone) begin_word(place);
    result_.words.back().append(bytes);
    is_open_ = !stands_alone;
  }

  AnnotatedWords finish() {
    while (segment_ < segments_.size()) leave_segment();
    return std::move(result_);
  }

 private:
  void begin_word(uint64_t place) {
    result_.words.emplace_back();
    if (segment_ == segments_.size() || place < segments_[segment_].begin) {
      result_.tags.emplace_back("O");
      return;
    }
    result_.tags.push_back((has_word_ ? "I-" : "B-") + segments_[segment_].name);
    has_word_ = true;
  }

  void leave_segment() {
    if (!has_word_) {
      throw Error(Code::kBadData, described(segments_[segment_]) + " holds no word");
    }
    ++segment_;
    result_.cut_annotations += is_cut_;
    has_word_ = is_open_ = is_cut_ = false;
  }

  const CharacterClasses& classes_ = CharacterClasses::shared();
  const std::vector<Segment>& segments_;
  size_t segment_ = 0;     // the first segment that does not end before the character
  bool is_cut_ = false;    // whether that segment begins or ends inside a word
  bool has_word_ = false;  // whether a word of that segment has begun
  bool is_open_ = false;   // the next character may belong to the last word
  AnnotatedWords result_;
};

}  // namespace

std::string display_name(const Json& annotation) {
  if (annotation.is_object() && annotation.contains("displayName") &&
      annotation["displayName"].is_string()) {
    return annotation["displayName"];
  }
  throw Error(Code::kBadData, "an annotation without displayName");
}

AnnotatedWords annotated_words(std::string_view text, std::string_view annotations) {
  const std::vector<Segment> segments = segments_of(annotations, code_point_count(text));
  WordCutter cutter(segments);
  for (uint64_t place = 0; !text.empty(); ++place) {
    const DecodedCharacter character = decode_utf8(text);
    cutter.add(place, character, text.substr(0, character.size_bytes));
    text.remove_prefix(character.size_bytes);
  }
  return cutter.finish();
}

namespace {

constexpr std::string_view kGlinerWords = "tokenized_text";
constexpr std::array<std::string_view, 5> kNamesOfTexts = {"text", "content", "sentence", "data",
                                                           kGlinerWords};
constexpr std::array<std::string_view, 8> kSpanNames = {
    "label", "labels", "entities", "ents", "spans", "annotations", "completions", "ner"};
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
  const Json *begin = nullptr, *end = nullptr, *name = nullptr, *text = nullptr;
  if (span.is_array() && span.size() >= 3) {
    begin = &span[0], end = &span[1], name = &span[2];
    if (begin->is_string()) begin = &span[1], end = &span[2], name = &span[0];
  } else if (span.is_object()) {
    // Rasa's "value" is a text.
    if (span.contains("value") && span["value"].is_object()) return annotation_of(span["value"]);
    begin = any_of(span, kBeginKeys), end = any_of(span, kEndKeys), name = any_of(span, kNameKeys);
    text = any_of(span, std::array<std::string_view, 1>{"text"});
  }
  if (name != nullptr && name->is_array() && name->size() == 1) name = &(*name)[0];
  if (begin == nullptr || end == nullptr || name == nullptr || !begin->is_number_unsigned() ||
      !end->is_number_unsigned() || !name->is_string()) {
    return {};
  }
  Json annotation = {{"startOffset", *begin}, {"endOffset", *end}, {"displayName", *name}};
  if (text != nullptr && text->is_string()) annotation["text"] = *text;
  return annotation;
}

// The list in a cell. Discarded: the cell is not a list.
Json list_of(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return Json::array();  // nothing is annotated
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return Json(Json::value_t::discarded);
  Json list = parse_json(*text);
  if (list.is_discarded()) list = parse_python(*text);
  return list.is_array() ? list : Json(Json::value_t::discarded);
}

bool has_results(const Json& list) {
  return list.is_array() && std::ranges::any_of(list, [](const Json& part) {
           return part.is_object() && part.contains("result") && part["result"].is_array();
         });
}

// The spans of Label Studio's annotations, which are a list of objects with results: the spans of
// the ground truth, or of each annotation that was not cancelled.
std::vector<Json> finished_annotations(const Json& list) {
  std::vector<Json> finished;
  for (const Json& annotation : list) {
    if (!annotation.is_object() || !annotation.contains("result")) continue;
    if (annotation.value("was_cancelled", Json()) == true) continue;
    Json spans = Json::array();
    for (const Json& result : annotation["result"]) {
      // Relations and choices stand in the same list.
      Json span = annotation_of(result);
      if (!span.is_null()) spans.push_back(std::move(span));
    }
    std::sort(spans.begin(), spans.end());
    if (annotation.value("ground_truth", Json()) == true) return {spans};
    finished.push_back(std::move(spans));
  }
  return finished;
}

// The annotations in a list of spans. Throws kBadData where a part of it is no span.
Json annotations_in(const Json& list) {
  Json annotations = Json::array();
  for (const Json& span : list) {
    annotations.push_back(annotation_of(span));
    if (annotations.back().is_null()) {
      throw Error(Code::kBadData, cat(quoted(to_text(span)), " is no span"), "",
                  "write [begin, end, \"NAME\"], counted in characters from 0");
    }
    const bool is_of_token = span.is_object() && span.contains("entity") &&
                             span["entity"].is_string() &&
                             is_entity_tag(span["entity"].get_ref<const std::string&>());
    if (!is_of_token) continue;
    throw Error(
        Code::kBadData,
        cat("the span ", quoted(span["entity"].get<std::string>()), " is a tag of one token"), "",
        "write whole entities, as pipeline(aggregation_strategy=\"simple\") returns them");
  }
  return annotations;
}

// Whether the cells are lists of spans, and one has a span. At least three quarters of the cells
// that are not empty must be such lists, so that the others are errors. `may_be_empty`: empty lists
// are enough where texts are no lists.
bool holds_spans(std::span<const Row> rows, size_t column, size_t texts, bool may_be_empty) {
  size_t lists = 0, others = 0;
  bool is_empty = true;
  for (const Row& row : rows) {
    Json list = list_of(row[column]);
    if (!list.is_array()) {
      ++others;
      continue;
    }
    const bool is_missing = std::holds_alternative<std::monostate>(row[column]);
    const auto* text = std::get_if<std::string>(&row[texts]);
    is_empty = is_empty && list.empty() && !is_missing && text != nullptr && !begins_list(*text);
    if (has_results(list)) {
      const std::vector<Json> finished = finished_annotations(list);
      lists += !finished.empty() && !finished[0].empty();
      continue;
    }
    const bool is_odd =
        std::ranges::any_of(list, [](const Json& span) { return annotation_of(span).is_null(); });
    others += is_odd;
    lists += !is_odd && !list.empty();
  }
  if (lists > 0) return others * 3 <= lists;
  return may_be_empty && is_empty && others == 0 && !rows.empty();
}

// What the offsets of spans may count.
enum class Unit { kCodePoints, kUtf16, kBytes };

// The part of a text. Empty where an offset lies inside a character.
std::string_view part_of(std::string_view text, uint64_t begin, uint64_t end, Unit unit) {
  size_t first = std::string_view::npos;
  uint64_t place = 0;
  for (size_t at = 0; at <= text.size();) {
    if (place == begin) first = at;
    if (place == end && first != std::string_view::npos) return text.substr(first, at - first);
    if (at == text.size()) break;
    size_t size = 1;
    while (at + size < text.size() && !begins_code_point(text[at + size])) ++size;
    place += unit == Unit::kBytes ? size : unit == Unit::kUtf16 && size == 4 ? 2 : 1;
    at += size;
  }
  return {};
}

bool is_alike(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view text) {
    std::string kept(text);
    std::erase_if(kept, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
    return kept;
  };
  return plain(a) == plain(b);
}

// Throws kBadData where a span says of itself that it holds another text.
void require_texts(std::string_view text, const Json& annotations) {
  for (const Json& span : annotations) {
    if (!span.contains("text")) continue;
    const auto begin = span["startOffset"].get<uint64_t>(), end = span["endOffset"].get<uint64_t>();
    const std::string said = span["text"];
    const std::string_view held = part_of(text, begin, end, Unit::kCodePoints);
    if (is_alike(held, said)) continue;
    std::string count;
    if (is_alike(part_of(text, begin, end, Unit::kUtf16), said)) count = "units of UTF-16";
    if (is_alike(part_of(text, begin, end, Unit::kBytes), said)) count = "bytes of UTF-8";
    const bool is_last = is_alike(part_of(text, begin, end + 1, Unit::kCodePoints), said);
    throw Error(Code::kBadData,
                cat("the span from ", begin, " to ", end, " holds ", quoted(held),
                    ", but says that its text is ", quoted(said)),
                "",
                cat("offsets count characters from 0, and the end is after the last",
                    count.empty() ? "" : "; these count " + count,
                    is_last ? "; this end is the last one" : ""));
  }
}

// Words with the tags of spans that count words, and whose ends are the last ones.
std::vector<std::string> tags_of_words(size_t words, const Json& annotations) {
  std::vector<std::string> tags(words, "O");
  for (const Json& span : annotations) {
    const auto begin = span["startOffset"].get<uint64_t>(), end = span["endOffset"].get<uint64_t>();
    const std::string name = span["displayName"];
    const std::string said = cat("the span ", quoted(name), " from ", begin, " to ", end);
    if (begin > end || end >= words) {
      throw Error(Code::kBadData, cat(said, " is not a part of ", counted(words, "word")));
    }
    for (uint64_t i = begin; i <= end; ++i) {
      if (tags[i] != "O") throw Error(Code::kBadData, said + " overlaps another one");
      tags[i] = (i == begin ? "B-" : "I-") + name;
    }
  }
  return tags;
}

class TaggedWords final : public RowReader {
 public:
  TaggedWords(std::unique_ptr<RowReader> rows, const SpanRows& layout, bool ignores_spans)
      : rows_(std::move(rows)), layout_(layout), ignores_spans_(ignores_spans) {}

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
      const std::optional<Json> annotations = annotations_of(row[layout_.spans]);
      layout_.counts_words ? tag_listed_words(annotations.value_or(Json::array()), row)
                           : tag_text(annotations.value_or(Json::array()), row);
      if (!annotations) row[layout_.spans] = {};
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = rows_->findings();
    if (cut_ > 0) {
      found.push_back(
          warning(cat(cut_, " of ", counted(spans_, "span"), " of column ",
                      quoted(columns()[layout_.spans].name),
                      " begin or end inside a word; offsets count characters (not bytes, nor "
                      "units of UTF-16) from 0, and the end is after the last")));
    }
    found.push_back({"", cat("column ", quoted(columns()[layout_.spans].name),
                             " has spans of characters, which become tags of words: B-NAME where a "
                             "span begins, I-NAME inside it, O outside")});
    return found;
  }

 private:
  // nullopt: no annotation is finished.
  std::optional<Json> annotations_of(const Cell& cell) const {
    if (ignores_spans_) return Json::array();
    const Json list = list_of(cell);
    if (!list.is_array()) throw Error(Code::kBadData, "the spans are no list");
    if (!layout_.has_results || (!list.empty() && !has_results(list))) return annotations_in(list);
    std::vector<Json> finished = finished_annotations(list);
    if (finished.empty()) return std::nullopt;
    if (std::ranges::any_of(finished, [&](const Json& other) { return other != finished[0]; })) {
      throw Error(Code::kBadData, cat("has ", finished.size(), " annotations that differ"), "",
                  "keep one of them, or mark one as the ground truth; --skip-bad-rows N leaves "
                  "such rows out");
    }
    return std::move(finished[0]);
  }

  void tag_text(const Json& annotations, Row& row) {
    const std::string text = text_of_cell(row[layout_.text]);
    require_texts(text, annotations);
    const AnnotatedWords words = annotated_words(text, to_text(annotations));
    row[layout_.text] = to_text(Json(words.words));
    row[layout_.spans] = to_text(Json(words.tags));
    spans_ += annotations.size();
    cut_ += words.cut_annotations;
  }

  void tag_listed_words(const Json& annotations, Row& row) const {
    const auto* text = std::get_if<std::string>(&row[layout_.text]);
    const auto words = text != nullptr ? parse_text_list(*text) : std::nullopt;
    if (!words) throw Error(Code::kBadData, "the words are no list");
    row[layout_.spans] = to_text(Json(tags_of_words(words->size(), annotations)));
  }

  static std::string text_of_cell(const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    if (text == nullptr) throw Error(Code::kBadData, "the text is missing");
    if (!text->starts_with('{')) return *text;
    const Json data = parse_json(*text);
    const Json* const inner = data.is_object() ? any_of(data, kNamesOfTexts) : nullptr;
    return inner != nullptr && inner->is_string() ? inner->get<std::string>() : *text;
  }

  const std::unique_ptr<RowReader> rows_;
  const SpanRows layout_;
  const bool ignores_spans_;
  size_t spans_ = 0, cut_ = 0;
};

// Throws kBadData where annotations say of whole texts what they are.
void refuse_classes(std::span<const Column> columns, std::span<const Row> rows,
                    const ColumnChoice& choice) {
  if (!choice.label.empty() || find_usual_labels(columns, kDefaultTask)) return;
  for (const std::string_view name : {"annotations", "completions"}) {
    const auto column = find_column(columns, name);
    const bool has_choices =
        column && std::ranges::any_of(rows, [&](const Row& row) {
          const auto* text = std::get_if<std::string>(&row[*column]);
          return text != nullptr && text->find("\"choices\"") != std::string::npos;
        });
    if (!has_choices) continue;
    throw Error(Code::kBadData, "has Label Studio's choices inside of its annotations", "",
                "export the project as CSV or JSON-MIN, and name the column of the choices with "
                "--label-column");
  }
  const auto cats = find_column(columns, "cats");
  const auto* first = cats && !rows.empty() ? std::get_if<std::string>(&rows[0][*cats]) : nullptr;
  if (first == nullptr || !first->starts_with('{')) return;
  throw Error(
      Code::kBadData, "has spaCy's \"cats\", which berth does not read", "",
      "write the names of the labels that are 1 as a list: row[\"label\"] = [name for name, "
      "value in row[\"cats\"].items() if value > 0.5]");
}

// Throws kBadData where another column has labels of whole texts.
void refuse_other_labels(std::span<const Column> columns, std::span<const Row> rows, size_t spans) {
  const auto labels = find_usual_labels(columns, kDefaultTask);
  if (!labels || *labels == spans) return;
  const bool are_all_missing = std::ranges::all_of(
      rows, [&](const Row& row) { return plain_text(row[*labels]).value_or("").empty(); });
  if (are_all_missing) return;
  throw Error(
      Code::kBadData,
      cat("column ", quoted(columns[spans].name), " has spans of characters, and column ",
          quoted(columns[*labels].name), " has labels"),
      "",
      "--task token_classification learns the spans, and --task sequence_classification the "
      "labels");
}

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
  const std::vector<size_t> texts = named(choice.text, kNamesOfTexts);
  if (texts.empty()) return std::nullopt;
  for (const size_t spans : named(choice.label, kSpanNames)) {
    if (spans == texts[0] || !holds_spans(rows, spans, texts[0], task.has_value())) continue;
    if (!task && choice.label.empty()) refuse_other_labels(columns, rows, spans);
    return SpanRows{.text = texts[0],
                    .spans = spans,
                    .counts_words = columns[texts[0]].name == kGlinerWords,
                    .has_results = std::ranges::any_of(
                        rows, [&](const Row& row) { return has_results(list_of(row[spans])); })};
  }
  if (!task) refuse_classes(columns, rows, choice);
  return std::nullopt;
}

std::unique_ptr<RowReader> tag_words(std::unique_ptr<RowReader> rows, const SpanRows& layout,
                                     bool ignores_spans) {
  return std::make_unique<TaggedWords>(std::move(rows), layout, ignores_spans);
}

}  // namespace berth
