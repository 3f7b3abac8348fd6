#include "trainer/loop/managed_rows.h"

#include <array>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 2> kTexts = {"textContent", "textGcsUri"};
// The export's name, and the import schema's for one label alone.
constexpr std::array<std::string_view, 2> kAnnotations = {"classificationAnnotations",
                                                          "classificationAnnotation"};
constexpr size_t kReadAtOnce = 16;

const std::string* text_at(const Row& cells, std::optional<size_t> column) {
  return column ? std::get_if<std::string>(&cells[*column]) : nullptr;
}

std::string display_name(const Json& annotation) {
  if (annotation.is_object() && annotation.contains("displayName") &&
      annotation["displayName"].is_string()) {
    return annotation["displayName"];
  }
  throw Error(Code::kBadData, "an annotation without displayName");
}

Cell label_of(const std::string& annotations) {
  const Json parsed = parse_json(annotations);
  if (!parsed.is_array()) return display_name(parsed);
  if (parsed.empty()) return {};
  if (parsed.size() == 1) return display_name(parsed[0]);
  Json names = Json::array();
  for (const Json& each : parsed) names.push_back(display_name(each));
  return to_text(names);
}

std::string object_text(Storage& storage, const std::string& uri) {
  if (std::optional<std::string> text = read_text(storage, Uri::parse(uri))) {
    return std::move(*text);
  }
  throw Error(Code::kNotFound, "no such file, which is a row's text", uri);
}

class ManagedRows final : public RowReader {
 public:
  ManagedRows(std::unique_ptr<RowReader> rows, Storage& storage, LabelNeed need)
      : rows_(std::move(rows)), storage_(storage) {
    for (size_t i = 0; i < kTexts.size(); ++i) {
      texts_[i] = find_column(rows_->columns(), kTexts[i]);
      if (need == LabelNeed::kIgnored) continue;
      if (!annotations_) annotations_ = find_column(rows_->columns(), kAnnotations[i]);
    }
    if (annotations_) columns_.push_back({"label", {}});
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return position_; }

  bool next(Row& row) override {
    if (next_ == ahead_.size()) read_ahead();
    if (next_ == ahead_.size()) return false;
    Pending& pending = ahead_[next_++];
    position_ = pending.position;
    if (pending.failure) throw *pending.failure;
    if (pending.text.valid()) pending.cells[0] = pending.text.get();
    row = std::move(pending.cells);
    return true;
  }

 private:
  struct Pending {
    std::string position;
    Row cells{};
    std::future<std::string> text{};  // of an object
    std::optional<Error> failure{};
  };

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
      if (failed) return;  // there may be no row after it
    }
  }

  void fill(const Row& cells, Pending& pending) {
    const std::string* text = text_at(cells, texts_[0]);
    if (text == nullptr) text = text_at(cells, texts_[1]);
    if (text == nullptr) {
      throw Error(Code::kBadData, "neither textContent nor textGcsUri", pending.position);
    }
    pending.cells = {*text};
    if (text->starts_with("gs://")) {
      pending.text = std::async(std::launch::async, object_text, std::ref(storage_), *text);
    }
    if (!annotations_) return;
    const std::string* annotations = text_at(cells, annotations_);
    try {
      pending.cells.push_back(annotations == nullptr ? Cell() : label_of(*annotations));
    } catch (const Error& error) {
      throw error.at(pending.position);
    }
  }

  const std::unique_ptr<RowReader> rows_;
  Storage& storage_;
  std::array<std::optional<size_t>, 2> texts_{};
  std::optional<size_t> annotations_{};
  std::vector<Column> columns_ = {{"text", {}}};
  std::vector<Pending> ahead_;
  size_t next_ = 0;
  std::string position_;
};

}  // namespace

bool names_managed_rows(std::span<const Column> columns) {
  return find_column(columns, kTexts[0]) || find_column(columns, kTexts[1]);
}

std::unique_ptr<RowReader> make_managed_rows(std::unique_ptr<RowReader> rows, Storage& storage,
                                             LabelNeed need) {
  return std::make_unique<ManagedRows>(std::move(rows), storage, need);
}

}  // namespace berth
