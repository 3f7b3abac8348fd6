#include "storage/formats/tensorflow_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/protobuf_wire.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::vector<std::string> prefixes(const std::string& path) {
  return latest_checkpoint_prefixes("model_checkpoint_path: \"" + path + "\"\n");
}

TEST(CheckpointState, NamesTheLatest) {
  EXPECT_THAT(latest_checkpoint_prefixes("model_checkpoint_path: \"model.ckpt-20\"\n"
                                         "all_model_checkpoint_paths: \"model.ckpt-10\"\n"
                                         "all_model_checkpoint_paths: \"model.ckpt-20\"\n"
                                         "all_model_checkpoint_timestamps: 1700000000.5\n"
                                         "last_preserved_timestamp: 1.6e9\n"),
              ElementsAre("model.ckpt-20"));
}

TEST(CheckpointState, MayNameNone) {
  EXPECT_THAT(latest_checkpoint_prefixes(""), IsEmpty());
  EXPECT_THAT(latest_checkpoint_prefixes("# nothing\n\n"), IsEmpty());
  EXPECT_THAT(prefixes(""), IsEmpty());
}

TEST(CheckpointState, AnAbsolutePathMayHaveMoved) {
  EXPECT_THAT(prefixes("/home/me/run/model.ckpt-7"),
              ElementsAre("/home/me/run/model.ckpt-7", "model.ckpt-7"));
  EXPECT_THAT(prefixes("gs://bucket/run/model.ckpt-7"),
              ElementsAre("gs://bucket/run/model.ckpt-7", "model.ckpt-7"));
}

TEST(CheckpointState, ARelativePathStaysInside) {
  EXPECT_THAT(prefixes("sub/model.ckpt"), ElementsAre("sub/model.ckpt"));
  EXPECT_THAT(prefixes("../other/model.ckpt"), ElementsAre("model.ckpt"));
  EXPECT_THAT(prefixes("a/../../model.ckpt"), ElementsAre("model.ckpt"));
  EXPECT_THAT(prefixes("a/.."), IsEmpty());
  EXPECT_THAT(prefixes("a..b/..c"), ElementsAre("a..b/..c"));
}

TEST(CheckpointState, UnderstandsEscapes) {
  EXPECT_THAT(prefixes(R"(a\"b\\c\303\xa9\x64)"), ElementsAre("a\"b\\c\xC3\xA9"
                                                              "d"));
  EXPECT_THAT(latest_checkpoint_prefixes("  model_checkpoint_path :'x'\r\n"), ElementsAre("x"));
}

TEST(CheckpointState, NamesAMalformedLine) {
  EXPECT_THAT([] { latest_checkpoint_prefixes("\nnonsense\n"); },
              ThrowsCode(Code::kCorrupt, "line 2"));
  EXPECT_THAT([] { latest_checkpoint_prefixes("model_checkpoint_path: model"); },
              ThrowsCode(Code::kCorrupt, "quoted path"));
  EXPECT_THAT([] { prefixes("a\" b"); }, ThrowsCode(Code::kCorrupt, "after the closing quote"));
  EXPECT_THAT([] { prefixes("a\\"); }, ThrowsCode(Code::kCorrupt));
  EXPECT_THAT([] { prefixes("a\\q"); }, ThrowsCode(Code::kCorrupt, "\\q"));
}

TEST(CheckpointState, SurvivesEveryDamage) {
  const std::string text = "model_checkpoint_path: \"/a\\\"\\101/model.ckpt-20\"\n# x\n";
  const auto read = [](Bytes b) { latest_checkpoint_prefixes(as_text(b)); };
  accepted_prefixes(as_bytes(text), read);
  accepted_flips(as_bytes(text), read);
}

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
