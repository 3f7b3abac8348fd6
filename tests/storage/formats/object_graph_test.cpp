#include "storage/formats/object_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/protobuf_wire.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// A node with one child. If `key` is not empty, the node also has one attribute.
ProtoWriter node(uint64_t child, const std::string& full_name = "", const std::string& key = "") {
  ProtoWriter node, edge, attribute;
  edge.varint(1, child);
  edge.text(2, "child");
  node.message(1, edge);
  attribute.text(1, "VARIABLE_VALUE");
  attribute.text(2, full_name);
  attribute.text(3, key);
  if (!key.empty()) node.message(2, attribute);
  return node;
}

std::vector<std::byte> graph(const std::vector<ProtoWriter>& nodes) {
  ProtoWriter graph;
  for (const ProtoWriter& node : nodes) graph.message(1, node);
  return graph.take();
}

TEST(ObjectGraph, NamesEachKey) {
  EXPECT_THAT(full_names(graph({node(1), node(0, "dense/kernel", "a/k"), node(0, "b", "a/b")})),
              UnorderedElementsAre(Pair("a/k", "dense/kernel"), Pair("a/b", "b")));
}

TEST(ObjectGraph, CyclesAndMissingNodesDoNoHarm) {
  EXPECT_THAT(full_names(graph({node(0, "x", "k"), node(1), node(UINT64_MAX)})),
              UnorderedElementsAre(Pair("k", "x")));
}

TEST(ObjectGraph, MayHaveNoNames) {
  EXPECT_THAT(full_names({}), IsEmpty());
  EXPECT_THAT(full_names(graph({node(0, "", "k")})), IsEmpty());
}

TEST(ObjectGraph, NamesItselfWhenDamaged) {
  const auto bytes = graph({node(1, "x", "k")});
  EXPECT_THAT([&] { full_names(Bytes(bytes).first(bytes.size() - 1)); },
              ThrowsCode(Code::kCorrupt, "_CHECKPOINTABLE_OBJECT_GRAPH"));
  accepted_flips(bytes, [](Bytes b) { full_names(b); });
}

TEST(ObjectGraph, IsBoundedHoweverManyNames) {
  std::vector<ProtoWriter> nodes;
  const std::string name(10000, 'n');
  for (int i = 0; i < 2000; ++i) nodes.push_back(node(0, name, name + std::to_string(i)));
  const auto bytes = graph(nodes);
  EXPECT_THAT([&] { full_names(bytes); }, ThrowsCode(Code::kCorrupt, "32.0 MiB of names"));
}

}  // namespace
}  // namespace berth
