#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/pickle/pickle_globals.h"

namespace berth {

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
  kObject  // what a callable makes of arguments: inert, it was never called
};

// The objects that a pickle describes, by index: shared ones are one node, cycles are just indices,
// and no operation on it is recursive. Owns the pickle; texts and bytes are views of it where they
// can be. A view from items(), text() or bytes() is valid until the next change.
class PickleGraph {
 public:
  static constexpr NodeId kNone = 0, kFalse = 1, kTrue = 2;

  explicit PickleGraph(std::vector<std::byte> pickle);
  PickleGraph(PickleGraph&&) = default;

  Bytes pickle() const { return pickle_; }

  // A bound for what the pickle may claim without giving bytes for it (columns, categories).
  uint64_t claim_limit() const { return pickle_.size() + 65536; }

  // Building. Throws kBadData when the graph outgrows its indices or its share of the pickle's
  // size.
  NodeId add_int(int64_t value);
  NodeId add_float(double value);
  NodeId add_slice(NodeKind kind, Bytes of_pickle);                // borrowed
  NodeId add_decoded(NodeKind kind, std::string_view text);        // copied
  NodeId add_items(NodeKind kind, std::span<const NodeId> items);  // not a view of this graph
  NodeId add_global(GlobalEntry entry);
  NodeId add_object(NodeId callable, NodeId arguments);
  void append(NodeId sequence, std::span<const NodeId> items);
  void set_state(NodeId object, NodeId state);

  // Reading. The kind must fit.
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
  NodeId state(NodeId id) const { return links_[nodes_[id].offset + 2]; }  // kNone: never built

  bool is_text(NodeId id) const { return is(id, NodeKind::kText) || is(id, NodeKind::kOldText); }
  bool is_sequence(NodeId id) const { return is(id, NodeKind::kTuple) || is(id, NodeKind::kList); }
  bool is_global(NodeId id, Global global) const;

  // Whether `id` is an object made by `callable`, or an instance of that class.
  bool is_made_by(NodeId id, Global callable) const;

  // The items of a tuple or list of exactly `count`; else kBadData: "<what> is ...".
  std::span<const NodeId> items_of(NodeId id, size_t count, const char* what) const;

  // The last value under `key` in a dict, the state of an object; kNone when it is absent or `dict`
  // is none.
  NodeId find(NodeId dict, std::string_view key) const;

  // What a person would call it: "a list", "a pandas.core.frame.DataFrame".
  std::string describe(NodeId id) const;

 private:
  struct Node {
    NodeKind kind = NodeKind::kNone;
    bool decoded = false;  // text and bytes: in decoded_, not in pickle_
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
