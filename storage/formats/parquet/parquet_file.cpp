#include "storage/formats/parquet/parquet_file.h"

#include <array>
#include <utility>

namespace berth::parquet {
namespace {

constexpr size_t kPageBytes = size_t{1} << 20;
constexpr std::string_view kFileMagic = "PAR1";
constexpr int32_t kNotCompressed = 0, kIsText = 0;

void append_u32(std::string& bytes, size_t value) {
  const auto little_endian = static_cast<uint32_t>(value);
  bytes.append(reinterpret_cast<const char*>(&little_endian), sizeof little_endian);
}

// One run of the hybrid of runs and bit packing: `count` times the same level, of at most 8 bits.
void append_run(std::string& levels, uint64_t count, char level) {
  for (uint64_t header = count << 1;; header >>= 7) {
    if (header < 0x80) {
      levels.push_back(static_cast<char>(header));
      break;
    }
    levels.push_back(static_cast<char>(header | 0x80));
  }
  levels.push_back(level);
}

std::string page(size_t values, std::string_view body) {
  ThriftWriter header;
  header.root([&] {
    header.integer(1, static_cast<int32_t>(PageType::kData));
    header.integer(2, static_cast<int32_t>(body.size()));
    header.integer(3, static_cast<int32_t>(body.size()));
    header.structure(5, [&] {
      header.integer(1, static_cast<int32_t>(values));
      header.integer(2, static_cast<int32_t>(Encoding::kPlain));
      header.integer(3, static_cast<int32_t>(Encoding::kRle));
      header.integer(4, static_cast<int32_t>(Encoding::kRle));
    });
  });
  return header.written() + std::string(body);
}

void write_column(ThriftWriter& out, const WrittenColumn& column) {
  out.integer(2, column.begin);
  out.structure(3, [&] {
    out.integer(1, static_cast<int32_t>(column.type));
    const std::array encodings = {Encoding::kPlain, Encoding::kRle};
    out.list(2, ThriftType::kInt32, encodings.size(), [&] {
      for (const Encoding encoding : encodings) out.element(static_cast<int32_t>(encoding));
    });
    out.list(3, ThriftType::kBinary, column.path.size(), [&] {
      for (const std::string& part : column.path) out.element(part);
    });
    out.integer(4, kNotCompressed);
    out.integer(5, column.values);
    out.integer(6, column.size);
    out.integer(7, column.size);
    out.integer(9, column.begin);
  });
}

}  // namespace

std::string text_value(std::string_view text) {
  std::string value;
  append_u32(value, text.size());
  return value.append(text);
}

void ColumnPages::add(Bytes values) {
  values_.append(as_text(values));
  ++rows_;
  if (values_.size() >= kPageBytes) end_page();
}

void ColumnPages::end_page() {
  if (rows_ == 0) return;
  const size_t count = rows_ * (width_ > 0 ? width_ : 1);
  pages_ += page(count, levels() + values_);
  all_values_ += static_cast<int64_t>(count);
  values_.clear();
  rows_ = 0;
}

// The first value of a row begins a list (repetition level 0), the others go on with it (1).
std::string ColumnPages::levels() const {
  if (width_ == 0) return {};
  std::string repetition, definition, both;
  for (size_t row = 0; row < rows_; ++row) {
    append_run(repetition, 1, 0);
    if (width_ > 1) append_run(repetition, width_ - 1, 1);
  }
  append_run(definition, rows_ * width_, 1);
  for (const std::string* levels : {&repetition, &definition}) {
    append_u32(both, levels->size());
    both += *levels;
  }
  return both;
}

ParquetFile::ParquetFile(ByteSink& sink) : sink_(sink) { write(kFileMagic); }

void ParquetFile::end_group(std::vector<WrittenColumn> columns, std::span<ColumnPages* const> pages,
                            int64_t rows) {
  for (size_t i = 0; i < columns.size(); ++i) {
    pages[i]->end_page();
    columns[i].values = pages[i]->values();
    columns[i].begin = written_;
    columns[i].size = static_cast<int64_t>(pages[i]->pages().size());
    write(pages[i]->pages());
    pages[i]->clear();
  }
  groups_.push_back({.columns = std::move(columns), .rows = rows});
  rows_ += rows;
}

void ParquetFile::write_group(ThriftWriter& out, const WrittenGroup& group) {
  int64_t size = 0;
  out.list(1, ThriftType::kStruct, group.columns.size(), [&] {
    for (const WrittenColumn& column : group.columns) {
      out.root([&] { write_column(out, column); });
      size += column.size;
    }
  });
  out.integer(2, size);
  out.integer(3, group.rows);
}

void ParquetFile::finish(size_t nodes, const std::function<void(ThriftWriter& out)>& schema) {
  ThriftWriter out;
  out.root([&] {
    out.integer(1, int32_t{1});  // the version of the format
    out.list(2, ThriftType::kStruct, nodes, [&] { schema(out); });
    out.integer(3, rows_);
    out.list(4, ThriftType::kStruct, groups_.size(), [&] {
      for (const WrittenGroup& group : groups_) {
        out.root([&] { write_group(out, group); });
      }
    });
    out.text(6, "berth");
  });
  std::string end = out.written();
  append_u32(end, out.written().size());
  write(end.append(kFileMagic));
}

void ParquetFile::write(std::string_view bytes) {
  sink_.write(as_bytes(bytes));
  written_ += static_cast<int64_t>(bytes.size());
}

void write_text_node(ThriftWriter& out, std::string_view name) {
  out.root([&] {
    out.integer(1, static_cast<int32_t>(kByteArrayType));
    out.integer(3, static_cast<int32_t>(Repetition::kRequired));
    out.text(4, name);
    out.integer(6, kIsText);
    out.structure(10, [&] { out.structure(1, [] {}); });
  });
}

}  // namespace berth::parquet
