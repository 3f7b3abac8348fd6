#include "storage/formats/pickle/pickle_graph.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Each of `names` in each of `modules`. They stand between blanks.
struct TableGlobals {
  Global meaning;
  std::string_view modules, names;
};

// The globals observed in pickles of pandas 0.15 to 3.0 (protocols 0-5, Python 2 and 3). All are
// inert here.
constexpr TableGlobals kTableGlobals[] = {
    {Global::kObject, "__builtin__ builtins", "object"},
    {Global::kReconstructor, "copy_reg copyreg", "_reconstructor"},
    {Global::kEncode, "_codecs", "encode"},
    {Global::kBytes, "__builtin__ builtins", "bytes"},
    {Global::kBytearray, "__builtin__ builtins", "bytearray"},
    {Global::kSlice, "__builtin__ builtins", "slice"},
    {Global::kPartial, "functools", "partial"},
    {Global::kGetattr, "__builtin__ builtins", "getattr"},
    {Global::kZoneInfo, "zoneinfo", "ZoneInfo"},
    {Global::kDtype, "numpy", "dtype"},
    {Global::kNdarray, "numpy", "ndarray"},
    {Global::kReconstructArray, "numpy._core.multiarray numpy.core.multiarray", "_reconstruct"},
    {Global::kFromBuffer, "numpy._core.numeric numpy.core.numeric", "_frombuffer"},
    {Global::kScalar, "numpy._core.multiarray numpy.core.multiarray", "scalar"},
    {Global::kDataFrame, "pandas pandas.core.frame", "DataFrame"},
    {Global::kSeries, "pandas pandas.core.series", "Series"},
    {Global::kBlockManager, "pandas.core.internals pandas.core.internals.managers", "BlockManager"},
    {Global::kSingleBlockManager, "pandas.core.internals pandas.core.internals.managers",
     "SingleBlockManager"},
    {Global::kNewBlock, "pandas.core.internals.blocks", "new_block"},
    {Global::kUnpickleBlock, "pandas._libs.internals", "_unpickle_block"},
    {Global::kNewIndex, "pandas.core.index pandas.core.indexes.base pandas.indexes.base",
     "_new_Index"},
    {Global::kIndex, "pandas pandas.core.index pandas.core.indexes.base pandas.indexes.base",
     "Index"},
    {Global::kIndex, "pandas.core.index pandas.core.indexes.numeric pandas.indexes.numeric",
     "Int64Index Float64Index"},
    {Global::kIndex, "pandas.core.indexes.numeric", "UInt64Index"},
    {Global::kIndex, "pandas pandas.core.indexes.category", "CategoricalIndex"},
    {Global::kRangeIndex, "pandas pandas.core.indexes.range pandas.indexes.range", "RangeIndex"},
    {Global::kUnpickleArray, "pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked"},
    {Global::kCategorical, "pandas pandas.core.arrays.categorical pandas.core.categorical",
     "Categorical"},
    {Global::kCategoricalDtype, "pandas pandas.core.dtypes.dtypes", "CategoricalDtype"},
    {Global::kStringArray, "pandas.arrays pandas.core.arrays.string_", "StringArray"},
    {Global::kStringArray, "pandas.core.arrays.string_", "StringArrayNumpySemantics"},
    {Global::kMaskedArray, "pandas.arrays pandas.core.arrays.integer", "IntegerArray"},
    {Global::kMaskedArray, "pandas.arrays pandas.core.arrays.floating", "FloatingArray"},
    {Global::kMaskedArray, "pandas.arrays pandas.core.arrays.boolean", "BooleanArray"},
    {Global::kArrowArray, "pandas.arrays pandas.core.arrays.string_arrow", "ArrowStringArray"},
    {Global::kArrowArray, "pandas.core.arrays.string_arrow", "ArrowStringArrayNumpySemantics"},
    {Global::kArrowArray, "pandas.arrays pandas.core.arrays.arrow.array", "ArrowExtensionArray"},
    {Global::kMissing, "pandas pandas._libs.missing", "NA"},
    {Global::kMissing, "pandas", "NaT"},
    {Global::kArrowRestore, "pyarrow.lib", "_restore_array"},
    {Global::kArrowChunked, "pyarrow.lib", "chunked_array"},
    {Global::kArrowBuffer, "pyarrow.lib", "py_buffer"},
    {Global::kArrowType, "pyarrow.lib", "type_for_alias"},
    {Global::kOther, "pandas pandas.core.arrays.string_", "StringDtype"},
    {Global::kOther, "pandas pandas.core.arrays.boolean", "BooleanDtype"},
    {Global::kOther, "pandas pandas.core.arrays.arrow.dtype pandas.core.dtypes.dtypes",
     "ArrowDtype"},
    {Global::kOther, "pandas pandas.core.dtypes.dtypes",
     "DatetimeTZDtype PeriodDtype IntervalDtype"},
    {Global::kOther, "pandas pandas.core.arrays.integer",
     "Int8Dtype Int16Dtype Int32Dtype Int64Dtype UInt8Dtype UInt16Dtype UInt32Dtype UInt64Dtype"},
    {Global::kOther, "pandas pandas.core.arrays.floating", "Float32Dtype Float64Dtype"},
    {Global::kOther, "pandas.arrays pandas.core.arrays.datetimes", "DatetimeArray"},
    {Global::kOther, "pandas.arrays pandas.core.arrays.timedeltas", "TimedeltaArray"},
    {Global::kOther, "pandas.arrays pandas.core.arrays.period", "PeriodArray"},
    {Global::kOther, "pandas.arrays pandas.core.arrays.interval", "IntervalArray"},
    {Global::kOther, "pandas pandas.core.indexes.datetimes pandas.tseries.index", "DatetimeIndex"},
    {Global::kOther, "pandas.core.indexes.datetimes pandas.tseries.index", "_new_DatetimeIndex"},
    {Global::kOther, "pandas pandas.core.indexes.timedeltas", "TimedeltaIndex"},
    {Global::kOther, "pandas pandas.core.indexes.period", "PeriodIndex"},
    {Global::kOther, "pandas pandas.core.indexes.interval", "IntervalIndex"},
    {Global::kOther, "pandas.core.indexes.interval", "_new_IntervalIndex"},
    {Global::kOther, "pandas pandas.core.index pandas.core.indexes.multi pandas.indexes.multi",
     "MultiIndex"},
    {Global::kOther, "pandas.core.base pandas.core.indexes.frozen", "FrozenNDArray"},
    {Global::kOther, "pandas._libs.tslib pandas._libs.tslibs.timestamps pandas.tslib", "Timestamp"},
    {Global::kOther, "pandas._libs.tslibs.timestamps", "_unpickle_timestamp"},
    {Global::kNaT, "pandas._libs.tslib pandas._libs.tslibs.nattype pandas.tslib", "__nat_unpickle"},
    {Global::kNaT, "pandas._libs.tslibs.nattype", "_nat_unpickle"},
    {Global::kOther, "pandas._libs.tslibs.timedeltas", "_timedelta_unpickle"},
    {Global::kOther, "pandas._libs.tslibs.offsets",
     "Day Hour Minute BusinessDay MonthBegin MonthEnd QuarterBegin QuarterEnd Week YearBegin "
     "YearEnd"},
    {Global::kOther, "datetime", "date datetime time timedelta timezone"},
    {Global::kOther, "pytz", "_UTC _p"},
};

}  // namespace

std::optional<GlobalEntry> find_table_global(std::string_view module, std::string_view name) {
  for (const TableGlobals& row : kTableGlobals) {
    const std::string_view known = find_word(row.names, name);
    const std::string_view home = find_word(row.modules, module);
    if (!known.empty() && !home.empty()) return GlobalEntry{home, known, row.meaning};
  }
  return std::nullopt;
}

std::string global_name(std::string_view module, std::string_view name) {
  constexpr size_t kLimit = 80;
  std::string text;
  for (const std::string_view part : {module, std::string_view("."), name}) {
    for (const char c : part.substr(0, kLimit)) {
      if (c > ' ' && c < 0x7F) {
        text += c;
      } else {
        text += formatted("\\x%02x", static_cast<unsigned char>(c));
      }
    }
    if (part.size() > kLimit) text += "...";
  }
  return text;
}

namespace {

constexpr size_t kStateLimit = 256;  // no object's state has as many entries

// The number of items that a sequence of `size` items has room for. Up to there it grows in place.
uint64_t capacity(uint64_t size) {
  return size == 0 ? 0 : std::max<uint64_t>(4, std::bit_ceil(size));
}

}  // namespace

PickleGraph::PickleGraph(std::vector<std::byte> pickle) : pickle_(std::move(pickle)) {
  nodes_.resize(3);
  nodes_[kFalse].kind = nodes_[kTrue].kind = NodeKind::kBool;
  nodes_[kTrue].integer = 1;
}

NodeId PickleGraph::add(const Node& node) {
  if (nodes_.size() == UINT32_MAX) throw Error(Code::kBadData, "holds more than 2^32 objects");
  nodes_.push_back(node);
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId PickleGraph::add_int(int64_t value) {
  Node node;
  node.kind = NodeKind::kInt;
  node.integer = value;
  return add(node);
}

NodeId PickleGraph::add_float(double value) {
  Node node;
  node.kind = NodeKind::kFloat;
  node.real = value;
  return add(node);
}

NodeId PickleGraph::add_slice(NodeKind kind, Bytes of_pickle) {
  if (of_pickle.size() > UINT32_MAX) throw Error(Code::kBadData, "holds a value of 4 GiB or more");
  Node node;
  node.kind = kind;
  node.size = static_cast<uint32_t>(of_pickle.size());
  node.offset = of_pickle.empty() ? 0 : static_cast<uint64_t>(of_pickle.data() - pickle_.data());
  return add(node);
}

NodeId PickleGraph::add_decoded(NodeKind kind, std::string_view text) {
  // The limit holds for honest pickles: a text is decoded once, is at most twice as long as its
  // escapes, and may then be encoded once.
  if (text.size() > UINT32_MAX || decoded_.size() + text.size() > 4 * claim_limit()) {
    throw Error(Code::kBadData, "decodes to many times its size");
  }
  Node node;
  node.kind = kind;
  node.decoded = true;
  node.size = static_cast<uint32_t>(text.size());
  node.offset = decoded_.size();
  decoded_.append(text);
  return add(node);
}

NodeId PickleGraph::add_items(NodeKind kind, std::span<const NodeId> items) {
  Node node;
  node.kind = kind;
  node.offset = links_.size();
  if (kind == NodeKind::kTuple) {
    node.size = static_cast<uint32_t>(items.size());
    links_.insert(links_.end(), items.begin(), items.end());
    return add(node);
  }
  const NodeId id = add(node);
  append(id, items);
  return id;
}

NodeId PickleGraph::add_global(GlobalEntry entry) {
  Node node;
  node.kind = NodeKind::kGlobal;
  node.offset = globals_.size();
  globals_.push_back(entry);
  return add(node);
}

NodeId PickleGraph::add_object(NodeId callable, NodeId arguments) {
  Node node;
  node.kind = NodeKind::kObject;
  node.offset = links_.size();
  links_.insert(links_.end(), {callable, arguments, kNone});
  return add(node);
}

void PickleGraph::append(NodeId sequence, std::span<const NodeId> items) {
  Node& node = nodes_[sequence];
  const uint64_t size = node.size + uint64_t{items.size()};
  if (size > UINT32_MAX) throw Error(Code::kBadData, "holds a list of more than 2^32 items");
  if (size > capacity(node.size)) {
    const uint64_t moved = links_.size();
    links_.resize(moved + capacity(size));
    std::copy_n(links_.begin() + node.offset, node.size, links_.begin() + moved);
    node.offset = moved;
  }
  std::copy(items.begin(), items.end(), links_.begin() + node.offset + node.size);
  node.size = static_cast<uint32_t>(size);
}

void PickleGraph::set_state(NodeId object, NodeId state) {
  links_[nodes_[object].offset + 2] = state;
}

Bytes PickleGraph::bytes(NodeId id) const {
  const Node& node = nodes_[id];
  const Bytes whole = node.decoded ? as_bytes(decoded_) : Bytes(pickle_);
  return whole.subspan(node.offset, node.size);
}

std::span<const NodeId> PickleGraph::items(NodeId id) const {
  return std::span(links_).subspan(nodes_[id].offset, nodes_[id].size);
}

bool PickleGraph::is_global(NodeId id, Global meaning) const {
  return is(id, NodeKind::kGlobal) && global(id).meaning == meaning;
}

bool PickleGraph::is_made_by(NodeId id, Global maker) const {
  return is(id, NodeKind::kObject) && is_global(callable(id), maker);
}

std::span<const NodeId> PickleGraph::items_of(NodeId id, size_t count, const char* what) const {
  if (!is_sequence(id) || items(id).size() != count) {
    throw Error(Code::kBadData, cat(what, " is ", describe(id), ", not a tuple of ", count));
  }
  return items(id);
}

NodeId PickleGraph::find(NodeId dict, std::string_view key) const {
  if (!is(dict, NodeKind::kDict)) return kNone;
  const auto pairs = items(dict);
  if (pairs.size() > 2 * kStateLimit) {
    throw Error(Code::kBadData, cat("holds a state of ", pairs.size() / 2, " entries"));
  }
  for (size_t i = pairs.size(); i > 0; i -= 2) {
    if (is_text(pairs[i - 2]) && text(pairs[i - 2]) == key) return pairs[i - 1];
  }
  return kNone;
}

std::string PickleGraph::describe(NodeId id) const {
  switch (kind(id)) {
    case NodeKind::kNone:
      return "None";
    case NodeKind::kBool:
      return "a bool";
    case NodeKind::kInt:
      return "an int";
    case NodeKind::kFloat:
      return "a float";
    case NodeKind::kText:
    case NodeKind::kOldText:
      return "a str";
    case NodeKind::kBytes:
      return "bytes";
    case NodeKind::kTuple:
      return cat("a tuple of ", items(id).size());
    case NodeKind::kList:
      return cat("a list of ", items(id).size());
    case NodeKind::kDict:
      return cat("a dict of ", items(id).size() / 2);
    case NodeKind::kSet:
      return "a set";
    case NodeKind::kGlobal:
      return cat(global(id).module, ".", global(id).name, " itself");
    case NodeKind::kObject:
      break;
  }
  const NodeId maker = callable(id);
  if (!is(maker, NodeKind::kGlobal)) return "an object";
  return cat("a ", global(maker).module, ".", global(maker).name);
}

}  // namespace berth
