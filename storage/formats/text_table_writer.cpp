#include "storage/formats/text_table_writer.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/parquet/parquet_file.h"

namespace berth {
namespace {

class DelimitedTableWriter final : public TextTableWriter {
 public:
  DelimitedTableWriter(char delimiter, const std::vector<std::string>& columns, ByteSink& sink)
      : delimiter_(delimiter), sink_(sink) {
    add(columns);
  }

  void add(std::span<const std::string> texts) override {
    std::string line;
    for (const std::string& text : texts) {
      if (&text != texts.data()) line.push_back(delimiter_);
      append(text, line);
    }
    line.push_back('\n');
    sink_.write(as_bytes(line));
  }

 private:
  // An empty field would be a missing one.
  void append(const std::string& text, std::string& line) const {
    const bool is_plain = !text.empty() && text.find_first_of("\"\r\n") == std::string::npos &&
                          text.find(delimiter_) == std::string::npos;
    if (is_plain) {
      line += text;
      return;
    }
    line.push_back('"');
    for (const char c : text) line.append(c == '"' ? 2 : 1, c);
    line.push_back('"');
  }

  const char delimiter_;
  ByteSink& sink_;
};

class JsonTableWriter final : public TextTableWriter {
 public:
  JsonTableWriter(std::vector<std::string> columns, ByteSink& sink)
      : columns_(std::move(columns)), sink_(sink) {}

  void add(std::span<const std::string> texts) override {
    OrderedJson row = OrderedJson::object();
    for (size_t i = 0; i < columns_.size(); ++i) row[columns_[i]] = texts[i];
    sink_.write(as_bytes(to_text(row) + "\n"));
  }

 private:
  const std::vector<std::string> columns_;
  ByteSink& sink_;
};

// Columns of texts that are all there.
class ParquetTableWriter final : public TextTableWriter {
 public:
  ParquetTableWriter(std::vector<std::string> columns, ByteSink& sink)
      : columns_(std::move(columns)),
        pages_(columns_.size(), parquet::ColumnPages(0)),
        file_(sink) {}

  void add(std::span<const std::string> texts) override {
    size_t size = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      pages_[i].add(as_bytes(parquet::text_value(texts[i])));
      size += pages_[i].size();
    }
    ++rows_;
    if (size >= parquet::ParquetFile::kGroupBytes) end_group();
  }

  void finish() override {
    end_group();
    file_.finish(columns_.size() + 1, [this](parquet::ThriftWriter& out) {
      out.root([&] {
        out.text(4, "schema");
        out.integer(5, static_cast<int32_t>(columns_.size()));
      });
      for (const std::string& column : columns_) parquet::write_text_node(out, column);
    });
  }

 private:
  void end_group() {
    if (rows_ == 0) return;
    std::vector<parquet::WrittenColumn> written;
    std::vector<parquet::ColumnPages*> pages;
    for (size_t i = 0; i < columns_.size(); ++i) {
      written.push_back({.type = parquet::kByteArrayType, .path = {columns_[i]}});
      pages.push_back(&pages_[i]);
    }
    file_.end_group(std::move(written), pages, rows_);
    rows_ = 0;
  }

  const std::vector<std::string> columns_;
  std::vector<parquet::ColumnPages> pages_;
  parquet::ParquetFile file_;
  int64_t rows_ = 0;
};

bool ends_with_any(std::string_view file_name, std::initializer_list<std::string_view> suffixes) {
  const std::string name = lower_ascii(file_name);
  return std::ranges::any_of(suffixes, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

std::unique_ptr<TextTableWriter> make_text_table_writer(std::string_view file_name,
                                                        std::vector<std::string> columns,
                                                        ByteSink& sink) {
  require_text_table(file_name);
  if (ends_with_any(file_name, {".jsonl", ".json"})) {
    return std::make_unique<JsonTableWriter>(std::move(columns), sink);
  }
  if (ends_with_any(file_name, {".parquet"})) {
    return std::make_unique<ParquetTableWriter>(std::move(columns), sink);
  }
  const char delimiter = ends_with_any(file_name, {".csv"}) ? ',' : '\t';
  return std::make_unique<DelimitedTableWriter>(delimiter, columns, sink);
}

void require_text_table(std::string_view file_name) {
  if (ends_with_any(file_name, {".jsonl", ".json", ".csv", ".tsv", ".parquet"})) return;
  throw Error(Code::kUsage, "the name says no format of a table that berth writes",
              std::string(file_name), "end it with .jsonl, .csv, .tsv or .parquet");
}

}  // namespace berth
