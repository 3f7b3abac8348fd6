#include <map>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/arrow/arrow_arrays.h"
#include "storage/formats/arrow/arrow_messages.h"
#include "storage/formats/arrow/arrow_schema.h"
#include "storage/formats/columnar/schema_metadata.h"
#include "storage/formats/damage.h"
#include "storage/formats/row_readers.h"

namespace berth {
namespace arrow {
namespace {

bool holds_nested(Layout layout) { return layout >= Layout::kList32 && layout <= Layout::kStruct; }

using Names = std::vector<std::string>;

// The names of the classes in a column, which may be a list of them.
const Names& class_names_of(const Field& field) {
  static const Names none;
  const Field* leaf = &field;
  while (leaf->children.size() == 1) leaf = &leaf->children.front();
  return leaf->maker ? leaf->maker->names() : none;
}

class ArrowReader final : public RowReader {
 public:
  explicit ArrowReader(std::unique_ptr<RandomAccessSource> file)
      : file_(std::move(file)),
        messages_(*file_->view()),
        schema_(read_schema(messages_.schema(), messages_.schema_size())),
        dictionary_fields_(dictionary_fields(schema_)) {
    for (const Field& field : schema_.fields) {
      fields_.push_back(&field);
      is_wanted_.push_back(false);
      if (columnar::is_pandas_index(field.name)) continue;
      if (find_column(columns_, field.name)) {
        throw Error(Code::kBadData, "has two columns called " + quoted(field.name));
      }
      columns_.push_back({.name = field.name,
                          .categories = class_names_of(field),
                          .unreadable = std::string(field.unreadable),
                          .is_nested = holds_nested(field.layout),
                          .declares_classes = !class_names_of(field).empty()});
      field_of_.push_back(fields_.size() - 1);
    }
    for (const auto& [id, field] : dictionary_fields_) dictionaries_[id];
    if (columns_.empty()) throw Error(Code::kBadData, "has no columns");
    find_batch();
    for (const std::string& name : columnar::categorical_columns(schema_.pandas)) {
      find_categories(name);
    }
    is_selected_.assign(columns_.size(), true);
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", row_ - 1); }

  std::optional<uint64_t> rows_left() const override {
    uint64_t rows = batch_.rows - next_;
    const auto add = [&](const Message& message) {
      const auto more = message.header.number<int64_t>(0, 0);
      if (message.type != MessageType::kRecordBatch) return;
      if (more < 0 || __builtin_add_overflow(rows, static_cast<uint64_t>(more), &rows)) {
        fail_damaged(cat("a batch of ", more, " rows"));
      }
    };
    if (!read_ && coming_) add(*coming_);
    Messages ahead = messages_;
    while (const std::optional<Message> message = ahead.next()) add(*message);
    return rows;
  }

  void select(std::span<const size_t> columns) override {
    is_selected_.assign(columns_.size(), false);
    for (const size_t column : columns) is_selected_.at(column) = true;
  }

  bool next(Row& row) override {
    while (next_ == batch_.rows) {
      if (!next_batch()) return false;
    }
    ++row_;
    row.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) read_cell(i, row[i]);
    ++next_;
    return true;
  }

 private:
  // Reads dictionaries until a record batch comes, or the end.
  void find_batch() {
    while (true) {
      coming_ = messages_.next();
      if (!coming_ || coming_->type == MessageType::kRecordBatch) return;
      add_dictionary(*coming_);
    }
  }

  void add_dictionary(const Message& message) {
    const auto id = message.header.number<int64_t>(0, 0);
    const bool is_delta = message.header.boolean(2);
    const auto field = dictionary_fields_.find(id);
    const auto values = message.header.table(1);
    if (field == dictionary_fields_.end() || !values) {
      fail_damaged(cat("dictionary ", id, " belongs to no column"));
    }
    Batch part = BatchLoader(dictionaries_).load_dictionary(*values, message.body, *field->second);
    Dictionary& dictionary = dictionaries_[id];
    if (!is_delta && !dictionary.parts.empty()) {
      // The batches of a file have no order in which one dictionary could follow another.
      if (messages_.is_file()) fail_damaged(cat("the file has dictionary ", id, " twice"));
      dictionary = {};
    }
    const uint64_t before = dictionary.ends.empty() ? 0 : dictionary.ends.back();
    const uint64_t length = part.columns.front().length;
    if (length > UINT64_MAX - before) fail_damaged(cat("dictionary ", id, " of any length"));
    dictionary.ends.push_back(before + length);
    dictionary.parts.push_back(std::move(part));
  }

  // The values of the first dictionary are the categories, in their order.
  void find_categories(const std::string& name) {
    const auto column = find_column(columns_, name);
    if (!column || !columns_[*column].categories.empty()) return;
    const auto& key = fields_[field_of_[*column]]->dictionary;
    if (!key) return;
    Cell cell;
    for (const Batch& part : dictionaries_.at(key->id).parts) {
      const Array& values = part.columns.front();
      for (uint64_t i = 0; i < values.length; ++i) {
        cells_.make(values, i, cell);
        const auto* text = std::get_if<std::string>(&cell);
        if (text == nullptr) return columns_[*column].categories.clear();  // not of texts
        columns_[*column].categories.push_back(*text);
      }
    }
  }

  bool next_batch() {
    if (read_) file_->release(read_->begin, read_->size);
    if (read_) find_batch();
    read_ = coming_;
    if (!read_) return false;
    opened_ = is_selected_;
    for (size_t i = 0; i < columns_.size(); ++i) is_wanted_[field_of_[i]] = opened_[i];
    batch_ = BatchLoader(dictionaries_).load(read_->header, read_->body, fields_, is_wanted_);
    next_ = 0;
    return true;
  }

  void read_cell(size_t column, Cell& cell) {
    if (!opened_[column] || !is_selected_[column]) {
      cell = std::monostate();
      return;
    }
    try {
      cells_.make(batch_.columns[field_of_[column]], next_, cell);
    } catch (const Error& error) {
      throw error.at(cat(position(), ": column ", quoted(columns_[column].name)));
    }
  }

  const std::unique_ptr<RandomAccessSource> file_;
  Messages messages_;
  const Schema schema_;
  const std::map<int64_t, const Field*> dictionary_fields_;
  std::vector<const Field*> fields_;
  std::vector<Column> columns_;
  std::vector<size_t> field_of_;            // of each column
  std::vector<bool> is_wanted_;             // of fields, in the current batch
  std::vector<bool> is_selected_, opened_;  // of columns; opened_: in the current batch
  Dictionaries dictionaries_;
  ArrowCells cells_;
  std::optional<Message> coming_, read_;  // the next record batch, and the current one
  Batch batch_;
  uint64_t next_ = 0;  // of the batch's rows
  uint64_t row_ = 0;   // rows that were read
};

}  // namespace
}  // namespace arrow

std::unique_ptr<RowReader> make_arrow_reader(std::unique_ptr<RandomAccessSource> file) {
  return std::make_unique<arrow::ArrowReader>(std::move(file));
}

}  // namespace berth
