#include "storage/formats/parquet/schema_tree.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"

namespace berth::parquet {
namespace {

constexpr int kDeepestColumn = 64;

class Builder {
 public:
  explicit Builder(std::span<const SchemaElement> schema) : schema_(schema) {}

  std::vector<SchemaNode> columns() {
    const SchemaElement& root = take();
    std::vector<SchemaNode> columns = children(root.children, /*definition=*/0, /*repetition=*/0);
    if (next_ != schema_.size()) fail();
    return columns;
  }

 private:
  [[noreturn]] static void fail() {
    throw Error(Code::kCorrupt, "the schema is not a tree of columns", "", kFetchAgain);
  }

  const SchemaElement& take() {
    if (next_ == schema_.size()) fail();
    return schema_[next_++];
  }

  std::vector<SchemaNode> children(int32_t count, int32_t definition, int32_t repetition) {
    if (++depth_ > kDeepestColumn) {
      throw Error(Code::kBadData, cat("a column nests deeper than ", kDeepestColumn, " levels"));
    }
    std::vector<SchemaNode> nodes;
    for (int32_t i = 0; i < count; ++i) nodes.push_back(node(definition, repetition));
    --depth_;
    return nodes;
  }

  SchemaNode node(int32_t definition, int32_t repetition) {
    SchemaNode node;
    node.element = take();
    if (node.is_leaf() && node.element.children > 0) fail();
    node.definition = definition + (node.element.repetition != Repetition::kRequired);
    node.repetition = repetition + (node.element.repetition == Repetition::kRepeated);
    node.first_leaf = leaves_;
    if (node.is_leaf()) {
      ++leaves_;
    } else {
      node.children = children(node.element.children, node.definition, node.repetition);
    }
    node.leaves = leaves_ - node.first_leaf;
    return node;
  }

  const std::span<const SchemaElement> schema_;
  size_t next_ = 0, leaves_ = 0;
  int depth_ = 0;
};

void append_leaves(std::span<const SchemaNode> nodes, std::vector<const SchemaNode*>& leaves) {
  for (const SchemaNode& node : nodes) {
    if (node.is_leaf()) {
      leaves.push_back(&node);
    } else {
      append_leaves(node.children, leaves);
    }
  }
}

}  // namespace

std::vector<SchemaNode> make_columns(std::span<const SchemaElement> schema) {
  return Builder(schema).columns();
}

std::vector<const SchemaNode*> leaves_of(std::span<const SchemaNode> columns) {
  std::vector<const SchemaNode*> leaves;
  append_leaves(columns, leaves);
  return leaves;
}

}  // namespace berth::parquet
