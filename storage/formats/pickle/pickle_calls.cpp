#include "storage/formats/pickle/pickle_calls.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

[[noreturn]] void refuse(const PickleGraph& graph, NodeId callable) {
  const GlobalEntry& entry = graph.global(callable);
  throw Error(Code::kBadData, cat("calls ", entry.module, ".", entry.name,
                                  ", which no table needs; nothing was executed"));
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

// Handles copyreg._reconstructor(class, object, None), which protocols 0 and 1 use to make
// instances.
NodeId reconstruct(PickleGraph& graph, NodeId cls) {
  return new_in_table(graph, cls, graph.add_items(NodeKind::kTuple, {}));
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

}  // namespace

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
      return reconstruct(graph, args[0]);
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

}  // namespace berth
