#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "storage/formats/pickle/pickle_graph.h"

// From a pickle's opcodes to its graph. The functions are thread-safe where the dialects are
// different objects.
namespace berth {

// Decides, for one kind of file, which globals a pickle may name and what the opcodes that would
// run code in Python mean. They create inert nodes and never call anything. Whatever the kind of
// file does not need is refused with kBadData.
class PickleDialect {
 public:
  virtual ~PickleDialect() = default;

  // The kind of file, for messages: "table".
  virtual std::string_view kind() const = 0;

  // Returns the entry of exactly this pair, or nullopt if such a file does not contain it.
  virtual std::optional<GlobalEntry> find_global(std::string_view module,
                                                 std::string_view name) const = 0;
  // REDUCE: applies `callable` to `arguments`.
  virtual NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) = 0;
  // NEWOBJ: cls.__new__(cls, *arguments).
  virtual NodeId new_object(PickleGraph& graph, NodeId cls, NodeId arguments) = 0;
  // BUILD: gives `object` its state.
  virtual void build(PickleGraph& graph, NodeId object, NodeId state) = 0;
  // BINPERSID: returns the object outside the pickle that `id` refers to, or nullopt if this kind
  // of file has no such objects.
  virtual std::optional<NodeId> persistent(PickleGraph& graph, NodeId id) = 0;
};

struct LoadedPickle {
  PickleGraph graph;
  NodeId top;
  size_t size_bytes;  // up to and including STOP
};

// Interprets the opcodes of protocols 0 to 5 (CPython Lib/pickletools.py) up to STOP. Like Python,
// it ignores what follows. Throws kCorrupt on damage and kBadData on whatever `dialect` refuses;
// both name the byte offset. Time and memory are linear in the size of the pickle.
LoadedPickle load_pickle(std::vector<std::byte> pickle, PickleDialect& dialect);

// Throws if load_pickle() would throw for every pickle that begins with these bytes. So a file that
// is not a pickle is refused before all of it is in memory.
void check_pickle_beginning(Bytes beginning, PickleDialect& dialect);

}  // namespace berth
