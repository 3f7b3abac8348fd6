#include "storage/formats/pickle/pickle_graph.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// The globals observed in pickles of pandas 0.15 to 3.0 (protocols 0-5, Python 2 and 3). All are
// inert here.
constexpr GlobalEntry kPandasEntries[] = {
    {"builtins", "object", Global::kObject},
    {"__builtin__", "object", Global::kObject},
    {"copyreg", "_reconstructor", Global::kReconstructor},
    {"copy_reg", "_reconstructor", Global::kReconstructor},
    {"_codecs", "encode", Global::kEncode},
    {"builtins", "bytes", Global::kBytes},
    {"__builtin__", "bytes", Global::kBytes},
    {"builtins", "bytearray", Global::kBytearray},
    {"__builtin__", "bytearray", Global::kBytearray},
    {"builtins", "slice", Global::kSlice},
    {"__builtin__", "slice", Global::kSlice},
    {"functools", "partial", Global::kPartial},
    {"builtins", "getattr", Global::kGetattr},
    {"__builtin__", "getattr", Global::kGetattr},
    {"zoneinfo", "ZoneInfo", Global::kZoneInfo},

    {"numpy", "dtype", Global::kDtype},
    {"numpy", "ndarray", Global::kNdarray},
    {"numpy.core.multiarray", "_reconstruct", Global::kReconstructArray},
    {"numpy._core.multiarray", "_reconstruct", Global::kReconstructArray},
    {"numpy.core.numeric", "_frombuffer", Global::kFromBuffer},
    {"numpy._core.numeric", "_frombuffer", Global::kFromBuffer},
    {"numpy.core.multiarray", "scalar", Global::kScalar},
    {"numpy._core.multiarray", "scalar", Global::kScalar},

    {"pandas.core.frame", "DataFrame", Global::kDataFrame},
    {"pandas", "DataFrame", Global::kDataFrame},
    {"pandas.core.series", "Series", Global::kSeries},
    {"pandas", "Series", Global::kSeries},
    {"pandas.core.internals", "BlockManager", Global::kBlockManager},
    {"pandas.core.internals.managers", "BlockManager", Global::kBlockManager},
    {"pandas.core.internals", "SingleBlockManager", Global::kSingleBlockManager},
    {"pandas.core.internals.managers", "SingleBlockManager", Global::kSingleBlockManager},
    {"pandas.core.internals.blocks", "new_block", Global::kNewBlock},
    {"pandas._libs.internals", "_unpickle_block", Global::kUnpickleBlock},

    {"pandas.core.index", "_new_Index", Global::kNewIndex},
    {"pandas.indexes.base", "_new_Index", Global::kNewIndex},
    {"pandas.core.indexes.base", "_new_Index", Global::kNewIndex},
    {"pandas.core.index", "Index", Global::kIndex},
    {"pandas.indexes.base", "Index", Global::kIndex},
    {"pandas.core.indexes.base", "Index", Global::kIndex},
    {"pandas", "Index", Global::kIndex},
    {"pandas.core.index", "Int64Index", Global::kIndex},
    {"pandas.indexes.numeric", "Int64Index", Global::kIndex},
    {"pandas.core.indexes.numeric", "Int64Index", Global::kIndex},
    {"pandas.core.index", "Float64Index", Global::kIndex},
    {"pandas.indexes.numeric", "Float64Index", Global::kIndex},
    {"pandas.core.indexes.numeric", "Float64Index", Global::kIndex},
    {"pandas.core.indexes.numeric", "UInt64Index", Global::kIndex},
    {"pandas.core.indexes.category", "CategoricalIndex", Global::kIndex},
    {"pandas", "CategoricalIndex", Global::kIndex},
    {"pandas.indexes.range", "RangeIndex", Global::kRangeIndex},
    {"pandas.core.indexes.range", "RangeIndex", Global::kRangeIndex},
    {"pandas", "RangeIndex", Global::kRangeIndex},

    {"pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked", Global::kUnpickleArray},
    {"pandas.core.categorical", "Categorical", Global::kCategorical},
    {"pandas.core.arrays.categorical", "Categorical", Global::kCategorical},
    {"pandas", "Categorical", Global::kCategorical},
    {"pandas.core.dtypes.dtypes", "CategoricalDtype", Global::kCategoricalDtype},
    {"pandas", "CategoricalDtype", Global::kCategoricalDtype},
    {"pandas.core.arrays.string_", "StringArray", Global::kStringArray},
    {"pandas.core.arrays.string_", "StringArrayNumpySemantics", Global::kStringArray},
    {"pandas.arrays", "StringArray", Global::kStringArray},
    {"pandas.core.arrays.integer", "IntegerArray", Global::kMaskedArray},
    {"pandas.core.arrays.floating", "FloatingArray", Global::kMaskedArray},
    {"pandas.core.arrays.boolean", "BooleanArray", Global::kMaskedArray},
    {"pandas.arrays", "IntegerArray", Global::kMaskedArray},
    {"pandas.arrays", "FloatingArray", Global::kMaskedArray},
    {"pandas.arrays", "BooleanArray", Global::kMaskedArray},
    {"pandas.core.arrays.string_arrow", "ArrowStringArray", Global::kArrowArray},
    {"pandas.core.arrays.string_arrow", "ArrowStringArrayNumpySemantics", Global::kArrowArray},
    {"pandas.core.arrays.arrow.array", "ArrowExtensionArray", Global::kArrowArray},
    {"pandas.arrays", "ArrowStringArray", Global::kArrowArray},
    {"pandas.arrays", "ArrowExtensionArray", Global::kArrowArray},
    {"pandas._libs.missing", "NA", Global::kMissing},
    {"pandas", "NA", Global::kMissing},
    {"pandas", "NaT", Global::kMissing},

    {"pyarrow.lib", "_restore_array", Global::kArrowRestore},
    {"pyarrow.lib", "chunked_array", Global::kArrowChunked},
    {"pyarrow.lib", "py_buffer", Global::kArrowBuffer},
    {"pyarrow.lib", "type_for_alias", Global::kArrowType},

    {"pandas.core.arrays.string_", "StringDtype", Global::kOther},
    {"pandas", "StringDtype", Global::kOther},
    {"pandas.core.arrays.boolean", "BooleanDtype", Global::kOther},
    {"pandas", "BooleanDtype", Global::kOther},
    {"pandas.core.dtypes.dtypes", "ArrowDtype", Global::kOther},
    {"pandas.core.arrays.arrow.dtype", "ArrowDtype", Global::kOther},
    {"pandas", "ArrowDtype", Global::kOther},
    {"pandas.core.dtypes.dtypes", "DatetimeTZDtype", Global::kOther},
    {"pandas", "DatetimeTZDtype", Global::kOther},
    {"pandas.core.dtypes.dtypes", "PeriodDtype", Global::kOther},
    {"pandas", "PeriodDtype", Global::kOther},
    {"pandas.core.dtypes.dtypes", "IntervalDtype", Global::kOther},
    {"pandas", "IntervalDtype", Global::kOther},
    {"pandas.core.arrays.integer", "Int8Dtype", Global::kOther},
    {"pandas.core.arrays.integer", "Int16Dtype", Global::kOther},
    {"pandas.core.arrays.integer", "Int32Dtype", Global::kOther},
    {"pandas.core.arrays.integer", "Int64Dtype", Global::kOther},
    {"pandas.core.arrays.integer", "UInt8Dtype", Global::kOther},
    {"pandas.core.arrays.integer", "UInt16Dtype", Global::kOther},
    {"pandas.core.arrays.integer", "UInt32Dtype", Global::kOther},
    {"pandas.core.arrays.integer", "UInt64Dtype", Global::kOther},
    {"pandas.core.arrays.floating", "Float32Dtype", Global::kOther},
    {"pandas.core.arrays.floating", "Float64Dtype", Global::kOther},
    {"pandas", "Int8Dtype", Global::kOther},
    {"pandas", "Int16Dtype", Global::kOther},
    {"pandas", "Int32Dtype", Global::kOther},
    {"pandas", "Int64Dtype", Global::kOther},
    {"pandas", "UInt8Dtype", Global::kOther},
    {"pandas", "UInt16Dtype", Global::kOther},
    {"pandas", "UInt32Dtype", Global::kOther},
    {"pandas", "UInt64Dtype", Global::kOther},
    {"pandas", "Float32Dtype", Global::kOther},
    {"pandas", "Float64Dtype", Global::kOther},

    {"pandas.core.arrays.datetimes", "DatetimeArray", Global::kOther},
    {"pandas.core.arrays.timedeltas", "TimedeltaArray", Global::kOther},
    {"pandas.core.arrays.period", "PeriodArray", Global::kOther},
    {"pandas.core.arrays.interval", "IntervalArray", Global::kOther},
    {"pandas.arrays", "DatetimeArray", Global::kOther},
    {"pandas.arrays", "TimedeltaArray", Global::kOther},
    {"pandas.arrays", "PeriodArray", Global::kOther},
    {"pandas.arrays", "IntervalArray", Global::kOther},
    {"pandas.core.indexes.datetimes", "DatetimeIndex", Global::kOther},
    {"pandas.core.indexes.datetimes", "_new_DatetimeIndex", Global::kOther},
    {"pandas.tseries.index", "DatetimeIndex", Global::kOther},
    {"pandas.tseries.index", "_new_DatetimeIndex", Global::kOther},
    {"pandas", "DatetimeIndex", Global::kOther},
    {"pandas.core.indexes.timedeltas", "TimedeltaIndex", Global::kOther},
    {"pandas", "TimedeltaIndex", Global::kOther},
    {"pandas.core.indexes.period", "PeriodIndex", Global::kOther},
    {"pandas", "PeriodIndex", Global::kOther},
    {"pandas.core.indexes.interval", "IntervalIndex", Global::kOther},
    {"pandas.core.indexes.interval", "_new_IntervalIndex", Global::kOther},
    {"pandas", "IntervalIndex", Global::kOther},
    {"pandas.core.index", "MultiIndex", Global::kOther},
    {"pandas.indexes.multi", "MultiIndex", Global::kOther},
    {"pandas.core.indexes.multi", "MultiIndex", Global::kOther},
    {"pandas", "MultiIndex", Global::kOther},
    {"pandas.core.base", "FrozenNDArray", Global::kOther},
    {"pandas.core.indexes.frozen", "FrozenNDArray", Global::kOther},

    {"pandas.tslib", "Timestamp", Global::kOther},
    {"pandas._libs.tslib", "Timestamp", Global::kOther},
    {"pandas._libs.tslibs.timestamps", "Timestamp", Global::kOther},
    {"pandas._libs.tslibs.timestamps", "_unpickle_timestamp", Global::kOther},
    {"pandas.tslib", "__nat_unpickle", Global::kNaT},
    {"pandas._libs.tslib", "__nat_unpickle", Global::kNaT},
    {"pandas._libs.tslibs.nattype", "__nat_unpickle", Global::kNaT},
    {"pandas._libs.tslibs.nattype", "_nat_unpickle", Global::kNaT},
    {"pandas._libs.tslibs.timedeltas", "_timedelta_unpickle", Global::kOther},
    {"pandas._libs.tslibs.offsets", "Day", Global::kOther},
    {"pandas._libs.tslibs.offsets", "Hour", Global::kOther},
    {"pandas._libs.tslibs.offsets", "Minute", Global::kOther},
    {"pandas._libs.tslibs.offsets", "BusinessDay", Global::kOther},
    {"pandas._libs.tslibs.offsets", "MonthBegin", Global::kOther},
    {"pandas._libs.tslibs.offsets", "MonthEnd", Global::kOther},
    {"pandas._libs.tslibs.offsets", "QuarterBegin", Global::kOther},
    {"pandas._libs.tslibs.offsets", "QuarterEnd", Global::kOther},
    {"pandas._libs.tslibs.offsets", "Week", Global::kOther},
    {"pandas._libs.tslibs.offsets", "YearBegin", Global::kOther},
    {"pandas._libs.tslibs.offsets", "YearEnd", Global::kOther},
    {"datetime", "date", Global::kOther},
    {"datetime", "datetime", Global::kOther},
    {"datetime", "time", Global::kOther},
    {"datetime", "timedelta", Global::kOther},
    {"datetime", "timezone", Global::kOther},
    {"pytz", "_UTC", Global::kOther},
    {"pytz", "_p", Global::kOther},
};

}  // namespace

std::optional<GlobalEntry> find_table_global(std::string_view module, std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kPandasEntries), std::end(kPandasEntries),
                   [&](const auto& entry) { return entry.name == name && entry.module == module; });
  if (found == std::end(kPandasEntries)) return std::nullopt;
  return *found;
}

std::string global_name(std::string_view module, std::string_view name) {
  constexpr size_t kLimit = 80;
  std::string text;
  for (const std::string_view part : {module, std::string_view("."), name}) {
    for (const char c : part.substr(0, kLimit)) {
      if (c > ' ' && c < 0x7F) {
        text += c;
      } else {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
        text += escaped;
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
