#include <algorithm>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle.h"
#include "storage/formats/pickle/numpy_array.h"
#include "storage/formats/pickle/pickle_machine.h"
#include "storage/formats/pickle/table.h"
#include "storage/formats/pickle/table_dialect.h"

namespace berth {
namespace {

constexpr uint64_t kRowTextFactor = 16;  // text in one row, as a multiple of the pickle's size
// Text in all rows. A label or category takes one byte in the pickle for each row that has it, and
// the text itself in the table.
constexpr uint64_t kTableTextFactor = 128;
constexpr uint64_t kPickleLimitBytes = uint64_t{16} << 30;
constexpr size_t kBeginningBytes = size_t{1} << 20;
constexpr uint64_t kCellFactor = 64;  // cells in a table, per byte of the pickle

Table read_table(const PickleGraph& graph, NodeId top) {
  if (is_data_frame(graph, top)) return read_data_frame(graph, top);
  if (is_plain_table(graph, top)) return read_plain_table(graph, top);
  throw Error(Code::kBadData, cat("holds ", graph.describe(top), ", not a table"), "",
              "a pandas DataFrame or Series is expected");
}

Table read_array(const PickleGraph& graph, NodeId top, const std::string& name) {
  NumpyArray array = read_numpy_array(graph, top);
  if (array.shape.empty() && array.dtype.kind == 'O') return read_table(graph, array.objects[0]);
  Table table;
  table.rows = length_of(array);
  table.columns.push_back({name, {}});
  table.values.push_back(array_cells(graph, std::move(array), 0, 1, table.rows));
  return table;
}

void check_table(const PickleGraph& graph, const Table& table) {
  std::unordered_set<std::string_view> seen;
  for (const Column& column : table.columns) {
    if (!seen.insert(column.name).second) {
      throw Error(Code::kBadData, cat("two columns are named ", quoted(column.name)));
    }
  }
  uint64_t cells = 0;
  if (__builtin_mul_overflow(table.rows, table.columns.size(), &cells) ||
      cells > kCellFactor * graph.claim_limit()) {
    throw Error(Code::kBadData, cat("claims ", table.rows, " rows of ", table.columns.size(),
                                    " columns in ", human_bytes(graph.pickle().size())));
  }
}

// Calls `read` with a dialect.
template <typename Read>
auto reading(bool has_protocol, Read read) {
  TableDialect dialect;
  try {
    return read(dialect);
  } catch (const Error& error) {
    // Protocols 0 and 1 have no signature, so a file that fails to parse may not be a pickle at
    // all.
    if (has_protocol || error.code() != Code::kCorrupt) throw;
    throw Error(Code::kCorrupt, cat("is not a pickle, or is damaged: ", error.problem()),
                error.where());
  }
}

bool has_protocol(Bytes pickle) { return pickle[0] == std::byte{0x80}; }

LoadedPickle load(std::vector<std::byte> pickle) {
  if (pickle.empty()) throw Error(Code::kBadData, "is empty");
  return reading(has_protocol(pickle),
                 [&](PickleDialect& dialect) { return load_pickle(std::move(pickle), dialect); });
}

// Reads `size` bytes, or fewer at the end of the source.
std::vector<std::byte> read_part(ByteSource& source, size_t size) {
  std::vector<std::byte> part(size);
  size_t filled = 0;
  while (filled < size) {
    const size_t count = source.read(std::span(part).subspan(filled));
    if (count == 0) break;
    filled += count;
  }
  part.resize(filled);
  return part;
}

// Appends all that follows in `source`. It reads parts and joins them at the end, because a vector
// that grows needs up to three times the size of what it holds.
std::vector<std::byte> with_rest(std::vector<std::byte> first, ByteSource& source) {
  std::vector<std::vector<std::byte>> parts;
  size_t size = first.size(), last = first.size();
  parts.push_back(std::move(first));
  while (last == parts.back().size() && last > 0) {
    last = std::max(kBeginningBytes, size / 16);
    parts.push_back(read_part(source, last));
    size += parts.back().size();
    if (size > kPickleLimitBytes) {
      throw Error(Code::kMemory, cat("is larger than ", human_bytes(kPickleLimitBytes)));
    }
  }
  std::vector<std::byte> whole;
  whole.reserve(size);
  for (std::vector<std::byte>& part : parts) {
    whole.insert(whole.end(), part.begin(), part.end());
    std::vector<std::byte>().swap(part);
  }
  return whole;
}

// The whole pickle. It is refused early if its beginning is not a pickle.
std::vector<std::byte> read_whole(ByteSource& source) {
  std::vector<std::byte> first = read_part(source, kBeginningBytes);
  if (first.size() < kBeginningBytes) return first;
  reading(has_protocol(first),
          [&](PickleDialect& dialect) { check_pickle_beginning(first, dialect); });
  return with_rest(std::move(first), source);
}

class PickleReader final : public RowReader {
 public:
  // `array_name` is the column's name if the pickle is a single array; nullptr: it is a table.
  explicit PickleReader(std::vector<std::byte> pickle, const std::string* array_name = nullptr)
      : pickle_(load(std::move(pickle))),
        table_(array_name == nullptr ? read_table(pickle_.graph, pickle_.top)
                                     : read_array(pickle_.graph, pickle_.top, *array_name)) {
    check_table(pickle_.graph, table_);
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      std::string& unreadable = table_.columns[i].unreadable;
      if (unreadable.empty()) unreadable = table_.values[i]->unreadable();
      table_.columns[i].is_nested = table_.values[i]->holds_nested();
    }
    skips_.resize(table_.columns.size());
    left_ = kTableTextFactor * pickle_.graph.claim_limit();
  }

  std::span<const Column> columns() const override { return table_.columns; }
  std::string position() const override { return cat("row ", next_ == 0 ? 0 : next_ - 1); }
  uint64_t rows() const { return table_.rows; }

  void select(std::span<const size_t> columns) override {
    // An index may repeat long texts, which nobody has asked for.
    for (size_t i = 0; i < table_.columns.size(); ++i) skips_[i] = table_.columns[i].is_index;
    for (const size_t column : columns) {
      reads_index_ = reads_index_ || table_.columns.at(column).is_index;
      skips_[column] = false;
    }
  }

  std::vector<Finding> findings() const override {
    if (!reads_index_) return {};
    return {{"named index of pandas", "the index of the table is read as a column"}};
  }

  bool next(Row& row) override {
    if (next_ == table_.rows) return false;
    const uint64_t index = next_++;
    row.resize(table_.columns.size());
    uint64_t text_left = std::min(left_, kRowTextFactor * pickle_.graph.claim_limit());
    for (size_t i = 0; i < row.size(); ++i) {
      if (skips_[i]) {
        row[i] = std::monostate();
        continue;
      }
      try {
        table_.values[i]->read(index, row[i]);
      } catch (const Error& error) {
        throw error.at(cat("column ", quoted(table_.columns[i].name))).at(position());
      }
      const auto* text = std::get_if<std::string>(&row[i]);
      const uint64_t size = text == nullptr ? 0 : text->size();
      if (size > text_left) {
        throw Error(Code::kBadData, "repeats its text to many times the file's size", position());
      }
      text_left -= size;
      left_ -= size;
    }
    return true;
  }

 private:
  const LoadedPickle pickle_;
  Table table_;  // borrows from pickle_
  uint64_t next_ = 0;
  std::vector<bool> skips_;
  bool reads_index_ = false;
  uint64_t left_ = 0;  // bytes of text that the rows may still have
};

}  // namespace

std::unique_ptr<RowReader> read_pickle(std::vector<std::byte> pickle) {
  return std::make_unique<PickleReader>(std::move(pickle));
}

std::unique_ptr<RowReader> read_pickle(ByteSource& source) {
  return read_pickle(read_whole(source));
}

std::unique_ptr<RowReader> read_pickled_array(ByteSource& source, const std::string& name,
                                              uint64_t& rows) {
  auto reader = std::make_unique<PickleReader>(read_whole(source), &name);
  rows = reader->rows();
  return reader;
}

std::unique_ptr<RowReader> read_pickle(Bytes pickle) {
  return read_pickle(std::vector(pickle.begin(), pickle.end()));
}

}  // namespace berth
