#include "storage/formats/pickle.h"

#include <algorithm>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/numpy_array.h"
#include "storage/formats/pickle/pickle_graph.h"
#include "storage/formats/pickle/pickle_machine.h"
#include "storage/formats/pickle/table.h"

namespace berth {
namespace {

// new_in_table(), reduce_in_table() and build_in_table() handle the opcodes that make Python run
// code, for the pickles of tables. They create inert nodes and never call anything. They throw
// kBadData on arguments that no table has.

[[noreturn]] void refuse(const PickleGraph& graph, NodeId callable) {
  const GlobalEntry& entry = graph.global(callable);
  throw Error(Code::kBadData, cat("calls ", entry.module, ".", entry.name,
                                  ", which no table needs; nothing was executed"));
}

// NEWOBJ: class.__new__(class, *arguments).
NodeId new_in_table(PickleGraph& graph, NodeId cls, NodeId arguments) {
  if (!graph.is(cls, NodeKind::kGlobal) || !graph.is(arguments, NodeKind::kTuple)) {
    throw Error(Code::kCorrupt, cat("makes an instance of ", graph.describe(cls)));
  }
  switch (graph.global(cls).meaning) {
    case Global::kDataFrame:
    case Global::kSeries:
    case Global::kBlockManager:
    case Global::kSingleBlockManager:
    case Global::kIndex:
    case Global::kRangeIndex:
    case Global::kCategorical:
    case Global::kCategoricalDtype:
    case Global::kStringArray:
    case Global::kMaskedArray:
    case Global::kArrowArray:
    case Global::kOther:
      return graph.add_object(cls, arguments);
    default:
      refuse(graph, cls);
  }
}

// Does what _codecs.encode(text, "latin1") does: converts code points below 256 to bytes.
std::string latin1_bytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      bytes += text[i];
      continue;
    }
    const bool two = (byte == 0xC2 || byte == 0xC3) && i + 1 < text.size() &&
                     (static_cast<unsigned char>(text[i + 1]) & 0xC0) == 0x80;
    if (!two) throw Error(Code::kBadData, "encodes text as Latin-1 that does not fit it");
    bytes += static_cast<char>(((byte & 3) << 6) | (text[++i] & 0x3F));
  }
  return bytes;
}

NodeId encode(PickleGraph& graph, NodeId callable, std::span<const NodeId> args) {
  if (args.size() != 2 || !graph.is_text(args[0]) || !graph.is_text(args[1]) ||
      (graph.text(args[1]) != "latin1" && graph.text(args[1]) != "latin-1")) {
    refuse(graph, callable);
  }
  return graph.add_decoded(NodeKind::kBytes, latin1_bytes(graph.text(args[0])));
}

// Handles bytes(), bytearray() and bytearray(<bytes>). A number as argument, which would be a size,
// is refused.
NodeId make_bytes(PickleGraph& graph, NodeId callable, std::span<const NodeId> args) {
  if (args.empty()) return graph.add_slice(NodeKind::kBytes, {});
  const bool copies = graph.is_global(callable, Global::kBytearray) && args.size() == 1 &&
                      graph.is(args[0], NodeKind::kBytes);
  if (!copies) refuse(graph, callable);
  return args[0];
}

// Whether this is functools.partial(new_block) with a checked state. The state would replace the
// function, so it must name new_block again.
bool is_checked_partial(const PickleGraph& graph, NodeId object) {
  return graph.is_made_by(object, Global::kPartial) && graph.state(object) != PickleGraph::kNone;
}

void check_partial_state(const PickleGraph& graph, NodeId object, NodeId state) {
  if (graph.is(state, NodeKind::kTuple) && graph.items(state).size() == 4 &&
      graph.is_global(graph.items(state)[0], Global::kNewBlock) &&
      graph.is(graph.items(state)[1], NodeKind::kTuple) &&
      graph.items(graph.items(state)[1]).empty()) {
    return;
  }
  refuse(graph, graph.callable(object));
}

// REDUCE: applies `callable` to the tuple `arguments`. Old protocols write byte strings as calls
// (_codecs.encode, bytearray); these become bytes.
NodeId reduce_in_table(PickleGraph& graph, NodeId callable, NodeId arguments) {
  if (!graph.is(arguments, NodeKind::kTuple)) {
    throw Error(Code::kCorrupt, cat("calls with ", graph.describe(arguments), ", not a tuple"));
  }
  if (is_checked_partial(graph, callable)) return graph.add_object(callable, arguments);
  if (!graph.is(callable, NodeKind::kGlobal)) {
    throw Error(Code::kBadData, cat("calls ", graph.describe(callable), "; nothing was executed"));
  }
  const auto args = graph.items(arguments);
  switch (graph.global(callable).meaning) {
    case Global::kEncode:
      return encode(graph, callable, args);
    case Global::kBytes:
    case Global::kBytearray:
      return make_bytes(graph, callable, args);
    case Global::kReconstructor:
      if (args.size() != 3 || !graph.is(args[0], NodeKind::kGlobal) ||
          !graph.is_global(args[1], Global::kObject) || args[2] != PickleGraph::kNone) {
        refuse(graph, callable);
      }
      // Protocols 0 and 1 make instances by _reconstructor(class, object, None).
      return new_in_table(graph, args[0], graph.add_items(NodeKind::kTuple, {}));
    case Global::kGetattr:
      if (args.size() != 2 || !graph.is_global(args[0], Global::kZoneInfo) ||
          !graph.is_text(args[1]) || graph.text(args[1]) != "_unpickle") {
        refuse(graph, callable);
      }
      return graph.add_global({"zoneinfo", "ZoneInfo._unpickle", Global::kZoneInfoUnpickle});
    case Global::kPartial:
      if (args.size() != 1 || !graph.is_global(args[0], Global::kNewBlock)) refuse(graph, callable);
      return graph.add_object(callable, arguments);
    case Global::kObject:
    case Global::kMissing:
    case Global::kNewBlock:  // allowed only through the partial
      refuse(graph, callable);
    default:
      return graph.add_object(callable, arguments);
  }
}

// BUILD: gives `object` its state. An object can get its state only once.
void build_in_table(PickleGraph& graph, NodeId object, NodeId state) {
  if (!graph.is(object, NodeKind::kObject)) {
    throw Error(Code::kBadData,
                cat("gives state to ", graph.describe(object), "; nothing was executed"));
  }
  if (graph.state(object) != PickleGraph::kNone) {
    throw Error(Code::kBadData, cat("gives state twice to ", graph.describe(object)));
  }
  if (graph.is_made_by(object, Global::kPartial)) check_partial_state(graph, object, state);
  graph.set_state(object, state);
}

// The dialect of pickled DataFrames and plain tables. It allows the globals of pandas and numpy
// (find_table_global()), the calls that tables need, and no objects outside the pickle.
class TableDialect final : public PickleDialect {
 public:
  std::string_view kind() const override { return "table"; }

  std::optional<GlobalEntry> find_global(std::string_view module,
                                         std::string_view name) const override {
    return find_table_global(module, name);
  }

  NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) override {
    return reduce_in_table(graph, callable, arguments);
  }

  NodeId new_object(PickleGraph& graph, NodeId cls, NodeId arguments) override {
    return new_in_table(graph, cls, arguments);
  }

  void build(PickleGraph& graph, NodeId object, NodeId state) override {
    build_in_table(graph, object, state);
  }

  std::optional<NodeId> persistent(PickleGraph&, NodeId) override { return std::nullopt; }
};

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
              "a pandas DataFrame or Series, a list of dicts, or a dict of lists is expected");
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
  part.resize(read_fully(source, part));
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
    std::vector<Finding> found;
    if (reads_index_) {
      found.push_back({"named index of pandas", "the index of the table is read as a column"});
    }
    const Bytes rest = pickle_.graph.pickle().subspan(pickle_.size_bytes);
    if (std::ranges::any_of(rest, [](std::byte byte) { return byte != std::byte{0}; })) {
      found.push_back(
          warning(cat(human_bytes(rest.size()),
                      " stand after the end of the pickle and are not read, as where several "
                      "objects were dumped into one file; pickle one table")));
    }
    return found;
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
