#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

// The objects of a pickle, as inert nodes. A graph may be read by several threads once it is built.
namespace berth {

// What a global means to the reader. Several (module, name) pairs may mean the same, because pandas
// moved its classes between releases.
enum class Global : uint8_t {
  // Python
  kObject,
  kReconstructor,
  kEncode,
  kBytes,
  kBytearray,
  kSlice,
  kPartial,
  kGetattr,
  kZoneInfo,
  kZoneInfoUnpickle,  // result of getattr(ZoneInfo, "_unpickle")
  // numpy
  kDtype,
  kNdarray,
  kReconstructArray,
  kFromBuffer,
  kScalar,
  // pandas
  kDataFrame,
  kSeries,
  kBlockManager,
  kSingleBlockManager,
  kNewBlock,
  kUnpickleBlock,
  kNewIndex,
  kIndex,
  kRangeIndex,
  kUnpickleArray,
  kCategorical,
  kCategoricalDtype,
  kStringArray,
  kMaskedArray,
  kArrowArray,
  kMissing,
  kNaT,  // the function that makes pandas' missing time
  // pyarrow
  kArrowRestore,
  kArrowChunked,
  kArrowBuffer,
  kArrowType,
  // PyTorch; never in a table
  kOrderedDict,
  kRebuildTensor,
  kRebuildTensorV2,
  kRebuildParameter,
  kTorchStorage,     // the class, whose name gives the element type
  kTorchPersistent,  // makes a storage from a persistent id
  // Classes and functions whose values read as missing: dates, periods, intervals, and their dtypes
  kOther
};

struct GlobalEntry {
  std::string_view module, name;
  Global meaning;
};

// Returns the entry of exactly this pair, or nullopt if tables do not use it. Names are only
// compared with a fixed list: nothing is imported, and no prefix is trusted.
std::optional<GlobalEntry> find_table_global(std::string_view module, std::string_view name);

// Returns "os.system" for ("os", "system"), with everything but printable ASCII escaped.
std::string global_name(std::string_view module, std::string_view name);

using NodeId = uint32_t;

enum class NodeKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kBytes,
  kOldText,  // a Python 2 str: bytes that are meant as text
  kTuple,
  kList,
  kDict,  // items alternate key, value, key, value
  kSet,
  kGlobal,
  kObject  // the result of a call; inert, because the call was never made
};

// The objects that a pickle describes, addressed by index. A shared object is one node, and a cycle
// is just an index that occurs again; no operation recurses. The graph owns the pickle. Texts and
// bytes are views of the pickle where possible. A view returned by items(), text() or bytes() is
// valid until the next change of the graph.
class PickleGraph {
 public:
  static constexpr NodeId kNone = 0, kFalse = 1, kTrue = 2;

  explicit PickleGraph(std::vector<std::byte> pickle);
  PickleGraph(PickleGraph&&) = default;

  Bytes pickle() const { return pickle_; }

  // An upper bound for sizes that the pickle claims without providing as many bytes (columns,
  // categories).
  uint64_t claim_limit() const { return pickle_.size() + 65536; }

  // Functions that build the graph. They throw kBadData if it exceeds 2^32 nodes or a small
  // multiple of the pickle's size.
  NodeId add_int(int64_t value);
  NodeId add_float(double value);
  NodeId add_slice(NodeKind kind, Bytes of_pickle);          // borrowed
  NodeId add_decoded(NodeKind kind, std::string_view text);  // copied
  NodeId add_items(NodeKind kind,
                   std::span<const NodeId> items);  // must not be a view of this graph
  NodeId add_global(GlobalEntry entry);
  NodeId add_object(NodeId callable, NodeId arguments);
  void append(NodeId sequence, std::span<const NodeId> items);
  void set_state(NodeId object, NodeId state);

  // Functions that read the graph. The node must be of the matching kind.
  NodeKind kind(NodeId id) const { return nodes_[id].kind; }
  bool is(NodeId id, NodeKind kind) const { return nodes_[id].kind == kind; }
  bool truth(NodeId id) const { return nodes_[id].integer != 0; }
  int64_t integer(NodeId id) const { return nodes_[id].integer; }
  double real(NodeId id) const { return nodes_[id].real; }
  Bytes bytes(NodeId id) const;
  std::string_view text(NodeId id) const { return as_text(bytes(id)); }
  std::span<const NodeId> items(NodeId id) const;
  const GlobalEntry& global(NodeId id) const { return globals_[nodes_[id].offset]; }
  NodeId callable(NodeId id) const { return links_[nodes_[id].offset]; }
  NodeId arguments(NodeId id) const { return links_[nodes_[id].offset + 1]; }
  NodeId state(NodeId id) const { return links_[nodes_[id].offset + 2]; }  // kNone if it has none

  bool is_text(NodeId id) const { return is(id, NodeKind::kText) || is(id, NodeKind::kOldText); }
  bool is_sequence(NodeId id) const { return is(id, NodeKind::kTuple) || is(id, NodeKind::kList); }
  bool is_global(NodeId id, Global global) const;

  // Whether `id` is the result of calling `callable`, or an instance of that class.
  bool is_made_by(NodeId id, Global callable) const;

  // Returns the items of a tuple or list of exactly `count` items. Throws kBadData ("<what> is
  // ...") if it is anything else.
  std::span<const NodeId> items_of(NodeId id, size_t count, const char* what) const;

  // Returns the last value under `key` in a dict. Returns kNone if the key is absent or `dict` is
  // not a dict. Meant for the states of objects, which are small.
  NodeId find(NodeId dict, std::string_view key) const;

  // Describes a node for people: "a list", "a pandas.core.frame.DataFrame".
  std::string describe(NodeId id) const;

 private:
  struct Node {
    NodeKind kind = NodeKind::kNone;
    bool decoded = false;  // whether text or bytes are in decoded_ instead of pickle_
    uint32_t size = 0;
    union {
      int64_t integer = 0;
      double real;
      uint64_t offset;  // into pickle_, decoded_, links_ or globals_
    };
  };

  NodeId add(const Node& node);

  std::vector<std::byte> pickle_;
  std::string decoded_;
  std::vector<Node> nodes_;
  std::vector<NodeId> links_;
  std::vector<GlobalEntry> globals_;
};

}  // namespace berth
