#include "trainer/inputs/managed_rows.h"

#include <array>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/whole_file.h"
#include "trainer/data/span_rows.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 2> kTexts = {"textContent", "textGcsUri"};
constexpr size_t kReadAtOnce = 16;

// The kind of a row's annotations. Their column decides it.
enum class Annotations { kNone, kClasses, kSentiment, kSegments };

struct AnnotationColumn {
  std::string_view name;
  Annotations kind;
};

constexpr std::array<AnnotationColumn, 4> kAnnotationColumns = {
    {{"classificationAnnotations", Annotations::kClasses},
     {"classificationAnnotation", Annotations::kClasses},  // the import schema's, for one class
     {"sentimentAnnotation", Annotations::kSentiment},
     {"textSegmentAnnotations", Annotations::kSegments}}};

const std::string* text_at(const Row& cells, std::optional<size_t> column) {
  return column ? std::get_if<std::string>(&cells[*column]) : nullptr;
}

Cell class_of(const std::string& annotations) {
  const Json parsed = parse_json(annotations);
  if (!parsed.is_array()) return display_name(parsed);
  if (parsed.empty()) return {};
  if (parsed.size() == 1) return display_name(parsed[0]);
  Json names = Json::array();
  for (const Json& each : parsed) names.push_back(display_name(each));
  return to_text(names);
}

// Reads the sentiment as a class. The JSON of Protocol Buffers leaves out a zero.
Cell sentiment_of(const std::string& annotation) {
  const Json parsed = parse_json(annotation);
  if (parsed.is_object() && !parsed.contains("sentiment")) return int64_t{0};
  if (parsed.is_object() && parsed["sentiment"].is_number_unsigned()) {
    return parsed["sentiment"].get<int64_t>();
  }
  throw Error(Code::kBadData, "the sentiment of a sentimentAnnotation is not a whole number");
}

std::string object_text(Storage& storage, const std::string& uri) {
  std::optional<std::string> text = read_text(storage, Uri::parse(uri));
  if (!text) throw Error(Code::kNotFound, "no such file, but a row names it as its text", uri);
  if (const auto byte = find_invalid_utf8(*text)) {
    throw Error(Code::kBadData, cat("is not UTF-8 at byte ", *byte), uri);
  }
  return std::move(*text);
}

bool is_of_words(Task task) { return traits(task).inputs == InputKind::kWords; }

class ManagedRows final : public RowReader {
 public:
  ManagedRows(std::unique_ptr<RowReader> rows, Storage& storage, Checksum& objects, LabelNeed need,
              std::optional<Task> task)
      : rows_(std::move(rows)), storage_(storage), objects_(objects) {
    for (size_t i = 0; i < kTexts.size(); ++i) {
      texts_[i] = find_column(rows_->columns(), kTexts[i]);
    }
    for (const AnnotationColumn& each : kAnnotationColumns) {
      const auto found = find_column(rows_->columns(), each.name);
      if (!found || annotations_ || !suits(each.kind, task)) continue;
      annotations_ = found;
      kind_ = each.kind;
    }
    has_words_ = kind_ == Annotations::kSegments || (task && is_of_words(*task));
    has_labels_ = annotations_ && need != LabelNeed::kIgnored;
    columns_.push_back({has_words_ ? "words" : "text", {}});
    if (has_labels_) columns_.push_back({has_words_ ? "tags" : "label", {}});
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return position_; }
  std::vector<Finding> findings() const override { return rows_->findings(); }

  bool next(Row& row) override {
    if (next_ == ahead_.size()) read_ahead();
    if (next_ == ahead_.size()) return false;
    Pending& pending = ahead_[next_++];
    position_ = pending.position;
    if (pending.failure) throw *pending.failure;
    if (pending.object.valid()) {
      pending.text = pending.object.get();
      objects_.add(as_bytes(pending.text));
    }
    try {
      row = cells_of(pending);
    } catch (const Error& error) {
      throw error.at(position_);
    }
    return true;
  }

 private:
  struct Pending {
    std::string position;
    std::string text{}, annotations{};  // annotations are empty if there are none
    std::future<std::string> object{};  // the text, if an object holds it
    std::optional<Error> failure{};
  };

  static bool suits(Annotations kind, std::optional<Task> task) {
    if (!task) return true;
    return (kind == Annotations::kSegments) == is_of_words(*task);
  }

  void read_ahead() {
    ahead_.clear();
    next_ = 0;
    for (Row cells; ahead_.size() < kReadAtOnce;) {
      Pending pending;
      try {
        if (!rows_->next(cells)) return;
        pending.position = rows_->position();
        fill(cells, pending);
      } catch (const Error& error) {
        pending.position = rows_->position();
        pending.failure = error;
      }
      const bool failed = pending.failure.has_value();
      ahead_.push_back(std::move(pending));
      if (failed) return;  // the reader may not reach another row
    }
  }

  void fill(const Row& cells, Pending& pending) {
    const std::string* text = text_at(cells, texts_[0]);
    if (text == nullptr) text = text_at(cells, texts_[1]);
    if (text == nullptr) {
      throw Error(Code::kBadData, "neither textContent nor textGcsUri", pending.position);
    }
    pending.text = *text;
    if (text->starts_with("gs://")) {
      pending.object = std::async(std::launch::async, object_text, std::ref(storage_), *text);
    }
    const std::string* annotations = has_labels_ ? text_at(cells, annotations_) : nullptr;
    if (annotations != nullptr) pending.annotations = *annotations;
  }

  Row cells_of(Pending& pending) const {
    const bool is_annotated = !pending.annotations.empty();
    if (has_words_) {
      const AnnotatedWords tagged =
          annotated_words(pending.text, is_annotated ? pending.annotations : "[]");
      Row row = {to_text(Json(tagged.words))};
      if (has_labels_) row.emplace_back(to_text(Json(tagged.tags)));
      return row;
    }
    Row row = {std::move(pending.text)};
    if (!has_labels_) return row;
    row.emplace_back();
    if (!is_annotated) return row;
    row.back() = kind_ == Annotations::kSentiment ? sentiment_of(pending.annotations)
                                                  : class_of(pending.annotations);
    return row;
  }

  const std::unique_ptr<RowReader> rows_;
  Storage& storage_;
  Checksum& objects_;
  std::array<std::optional<size_t>, 2> texts_{};
  std::optional<size_t> annotations_{};
  Annotations kind_ = Annotations::kNone;
  bool has_words_ = false, has_labels_ = false;
  std::vector<Column> columns_;
  std::vector<Pending> ahead_;
  size_t next_ = 0;
  std::string position_;
};

}  // namespace

bool names_managed_rows(std::span<const Column> columns) {
  return find_column(columns, kTexts[0]) || find_column(columns, kTexts[1]);
}

std::unique_ptr<RowReader> make_managed_rows(std::unique_ptr<RowReader> rows, Storage& storage,
                                             Checksum& objects, LabelNeed need,
                                             std::optional<Task> task) {
  return std::make_unique<ManagedRows>(std::move(rows), storage, objects, need, task);
}

}  // namespace berth
