#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle.h"
#include "storage/formats/pickle/pickle_machine.h"
#include "storage/formats/pickle/table.h"
#include "storage/formats/pickle/table_dialect.h"

namespace berth {
namespace {

constexpr uint64_t kRowTextFactor = 16;  // text in one row, as a multiple of the pickle's size
constexpr uint64_t kCellFactor = 64;     // cells in a table, per byte of the pickle

Table read_table(const PickleGraph& graph, NodeId top) {
  if (is_data_frame(graph, top)) return read_data_frame(graph, top);
  if (is_plain_table(graph, top)) return read_plain_table(graph, top);
  throw Error(Code::kBadData, cat("holds ", graph.describe(top), ", not a table"), "",
              "a pandas DataFrame or Series is expected");
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

LoadedPickle load(std::vector<std::byte> pickle) {
  if (pickle.empty()) throw Error(Code::kBadData, "is empty");
  const bool has_protocol = pickle[0] == std::byte{0x80};
  TableDialect dialect;
  try {
    return load_pickle(std::move(pickle), dialect);
  } catch (const Error& error) {
    // Protocols 0 and 1 have no signature, so a file that fails to parse may not be a pickle at
    // all.
    if (has_protocol || error.code() != Code::kCorrupt) throw;
    throw Error(Code::kCorrupt, cat("is not a pickle, or is damaged: ", error.problem()),
                error.where());
  }
}

class PickleReader final : public RowReader {
 public:
  explicit PickleReader(std::vector<std::byte> pickle)
      : pickle_(load(std::move(pickle))), table_(read_table(pickle_.graph, pickle_.top)) {
    check_table(pickle_.graph, table_);
  }

  std::span<const Column> columns() const override { return table_.columns; }
  std::string position() const override { return cat("row ", next_ == 0 ? 0 : next_ - 1); }

  bool next(Row& row) override {
    if (next_ == table_.rows) return false;
    const uint64_t index = next_++;
    row.resize(table_.columns.size());
    uint64_t text_left = kRowTextFactor * pickle_.graph.claim_limit();
    for (size_t i = 0; i < row.size(); ++i) {
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
    }
    return true;
  }

 private:
  const LoadedPickle pickle_;
  const Table table_;  // borrows from pickle_
  uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> read_pickle(std::vector<std::byte> pickle) {
  return std::make_unique<PickleReader>(std::move(pickle));
}

std::unique_ptr<RowReader> read_pickle(Bytes pickle) {
  return read_pickle(std::vector(pickle.begin(), pickle.end()));
}

}  // namespace berth
