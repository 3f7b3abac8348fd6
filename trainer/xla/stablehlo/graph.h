#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace berth::stablehlo {

// The element types that berth's programs use, named as PJRT names them. kPred is a truth value.
enum class ElementType : uint8_t { kPred, kS32, kU32, kU64, kF32, kBF16 };

constexpr bool is_float(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kBF16;
}

using Dims = std::vector<int64_t>;  // sizes, or numbers, of dimensions

struct TensorType {
  ElementType element = ElementType::kF32;
  Dims shape{};  // empty: a scalar

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const;
  // As StableHLO writes it: "tensor<2x3xf32>".
  std::string text() const;
  auto operator<=>(const TensorType&) const = default;
};

// What a node computes. operations.h defines each operation. The order matters to elementwise().
enum class Op : uint8_t {
  kParameter,  // attributes: {number}
  kConstant,   // attributes: {the bits of the only, or of each element}
  kIota,       // attributes: {dimension}
  // Element by element. Operations on one float:
  kNegate,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kTanh,
  kSqrt,
  kRsqrt,
  kErf,
  kCosine,
  kSine,
  kIsFinite,
  // Operations on two numbers:
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  // Operations on two words of bits:
  kAnd,
  kOr,
  kXor,
  kShiftRight,
  // Operations on anything:
  kCompare,  // attributes: {Comparison}
  kSelect,
  kConvert,
  // These move elements.
  kBroadcast,  // attributes: {the result's dimension of each of the operand's}
  kReshape,
  kTranspose,    // attributes: {the operand's dimension of each of the result's}
  kSlice,        // attributes: {first of each dimension}, {end of each}
  kConcatenate,  // attributes: {dimension}
  kPad,          // attributes: {before, by dimension}, {behind}; operand 1 is the padding
  // These compute sums or maxima.
  kReduceSum,  // attributes: {dimensions}; operand 1 is the start
  kReduceMax,
  kDot,          // attributes: {contracted of operand 0}, {of operand 1}, {batch of 0}, {of 1}
  kGatherRows,   // operands: table, ids
  kScatterRows,  // operands: start, ids, rows
  kSort,
  kAllReduce,  // attributes: {number of replicas}
  kBarrier,    // operand 0, not before operand 1 is computed
  // From here on, the value of operand 0; the text of a program has no line for them. In the next
  // two, operand 0 is that function of operand 1, and operand 2 is the value that the derivative
  // needs.
  kSoftmax,
  kNormalize,
  kStop,  // without a derivative
};

// Its name in StableHLO.
const char* name_of(Op op);

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

struct Node {
  Op op;
  TensorType type;
  std::vector<uint32_t> operands{};  // indices of earlier nodes
  std::array<Dims, 4> attributes{};  // see Op

  auto operator<=>(const Node&) const = default;
};

class Graph;

// A handle of a node, as cheap as a pointer. It must not outlive its graph.
class Value {
 public:
  Value() = default;
  Value(Graph& graph, uint32_t index) : graph_(&graph), index_(index) {}

  explicit operator bool() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  uint32_t index() const { return index_; }
  const Node& node() const;
  const TensorType& type() const { return node().type; }
  ElementType element() const { return type().element; }
  const Dims& shape() const { return type().shape; }
  int64_t rank() const { return type().rank(); }
  int64_t size(int64_t dimension) const;  // -1 is the last dimension
  bool operator==(const Value&) const = default;

 private:
  Graph* graph_ = nullptr;
  uint32_t index_ = 0;
};

// A program without side effects: nodes that only refer to earlier ones. It only grows. Equal nodes
// are stored once, so building an expression twice costs nothing. Not thread-safe.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // An input of the program.
  Value parameter(ElementType element, Dims shape);
  // The node with this content, which is added unless it exists. The functions of operations.h
  // check what they add; nobody else should call this.
  Value add(Node node);

  const Node& node(uint32_t index) const { return nodes_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }

  // The part of the program that a node belongs to; 0 outside of all parts. Reverse mode computes
  // the nodes of a part again instead of keeping them (Chen et al. 2016, arXiv:1604.06174).
  int32_t part(uint32_t index) const { return parts_[index]; }
  void begin_part() { current_part_ = ++last_part_; }
  void end_part() { current_part_ = 0; }

 private:
  struct Less {
    bool operator()(const Node* a, const Node* b) const { return *a < *b; }
  };
  std::deque<Node> nodes_;  // a deque, because its elements keep their addresses
  std::vector<int32_t> parts_;
  std::map<const Node*, uint32_t, Less> index_of_;
  int64_t parameters_ = 0;
  int32_t last_part_ = 0, current_part_ = 0;
};

inline const Node& Value::node() const { return graph_->node(index_); }

// A node of the operands' graph. For operations.h, like Graph::add().
Value make(Op op, TensorType type, const std::vector<Value>& operands,
           std::array<Dims, 4> attributes = {});

// Throws Error{kInternal} that names the operation and the types of its operands.
[[noreturn]] void fail(const std::string& operation, const std::string& problem,
                       const std::vector<Value>& operands);

}  // namespace berth::stablehlo
