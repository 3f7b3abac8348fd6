#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/numpy/npy_columns.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/zip_entry_source.h"
#include "storage/formats/zip_file.h"

namespace berth {
namespace {

// Each array that is read takes some 150 KiB of buffers.
constexpr size_t kMostArrays = 1'000;
constexpr std::string_view kSuffix = ".npy";

// One array of the file, whose columns are some of the table's.
struct Member {
  NpyColumns array;
  size_t first_column = 0;
  bool is_selected = true;
  Row row;
};

class NumpyReader final : public RowReader {
 public:
  explicit NumpyReader(std::unique_ptr<RandomAccessSource> file) : file_(std::move(file)) {
    const Bytes bytes = *file_->view();
    if (!is_zip(bytes)) {
      add(open_npy(open_range(*file_, 0, bytes.size()), bytes.size(), ""), "the array");
      return;
    }
    const ZipFile zip(bytes);
    std::vector<ZipFile::Entry> entries = zip.entries();
    if (entries.size() > kMostArrays) {
      throw Error(Code::kBadData, cat("holds ", entries.size(), " arrays"), "",
                  cat("a table has at most ", kMostArrays));
    }
    std::ranges::sort(entries, {}, &ZipFile::Entry::begin);
    for (const ZipFile::Entry& entry : entries) add(entry);
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", row_ == 0 ? 0 : row_ - 1); }
  std::optional<uint64_t> rows_left() const override { return rows_ - row_; }

  void select(std::span<const size_t> columns) override {
    for (Member& member : members_) {
      std::vector<size_t> own;
      for (const size_t column : columns) {
        const size_t own_column = column - member.first_column;  // wraps below the first one
        if (own_column < member.array.reader->columns().size()) own.push_back(own_column);
      }
      member.is_selected = member.is_selected && !own.empty();
      member.array.reader->select(own);
    }
  }

  bool next(Row& row) override {
    const bool is_end = row_ == rows_;
    row.resize(columns_.size());
    for (Member& member : members_) {
      Cell* const cells = row.data() + member.first_column;
      const size_t count = member.array.reader->columns().size();
      if (!member.is_selected) {
        std::fill_n(cells, count, Cell());
      } else if (member.array.reader->next(member.row) && !is_end) {
        std::swap_ranges(cells, cells + count, member.row.begin());
      }
    }
    if (is_end) return false;
    ++row_;
    return true;
  }

 private:
  void add(const ZipFile::Entry& entry) {
    const std::string where = cat("entry ", quoted(entry.name));
    if (!entry.name.ends_with(kSuffix)) {
      throw Error(Code::kBadData, "is no array", where, "numpy.savez writes arrays only");
    }
    std::string name(entry.name.substr(0, entry.name.size() - kSuffix.size()));
    if (name.empty()) throw Error(Code::kBadData, "has no name", where);
    try {
      add(open_npy(open_entry(*file_, entry), entry.size, std::move(name)), where);
    } catch (const Error& error) {
      if (error.where().starts_with(where)) throw;
      throw error.at(where);
    }
  }

  void add(NpyColumns array, const std::string& where) {
    if (!members_.empty() && array.rows != rows_) {
      throw Error(Code::kBadData,
                  cat("has ", array.rows, " rows, but the arrays before it have ", rows_), where,
                  "save only arrays with one element for each row");
    }
    rows_ = array.rows;
    const size_t first_column = columns_.size();
    for (const Column& column : array.reader->columns()) {
      if (find_column(columns_, column.name)) {
        throw Error(Code::kBadData, "has two columns called " + quoted(column.name));
      }
      columns_.push_back(column);
    }
    members_.push_back({std::move(array), first_column, true, {}});
  }

  const std::unique_ptr<RandomAccessSource> file_;
  std::vector<Column> columns_;
  std::vector<Member> members_;
  uint64_t rows_ = 0, row_ = 0;  // row_: rows that were read
};

}  // namespace

std::unique_ptr<RowReader> make_numpy_reader(std::unique_ptr<RandomAccessSource> file) {
  return std::make_unique<NumpyReader>(std::move(file));
}

}  // namespace berth
