#include "storage/formats/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

constexpr const char* kIndex =
    R"({"metadata":{"total_size":8,"more":[{"a":null}]},)"
    R"("weight_map":{"b":"2.safetensors","a":"1.safetensors","c":"2.safetensors"}})";

TEST(ShardIndex, SaysWhichFileHoldsATensor) {
  const ShardIndex index = parse_shard_index(kIndex);
  EXPECT_THAT(index.files(), ElementsAre("1.safetensors", "2.safetensors"));
  EXPECT_EQ(index.file_of.at("c"), "2.safetensors");
}

TEST(ShardIndex, EveryPrefixIsRefused) {
  EXPECT_THAT(accepted_prefixes(as_bytes(kIndex), [](Bytes b) { parse_shard_index(as_text(b)); }),
              testing::IsEmpty());
}

TEST(ShardIndex, AFlippedBitIsRefusedOrHarmless) {
  accepted_flips(as_bytes(kIndex), [](Bytes b) { parse_shard_index(as_text(b)); });
}

TEST(ShardIndex, AFileLiesBesideTheIndex) {
  for (const std::string file : {"", ".", "..", "../x", "/etc/passwd", "a/b", "a\\\\b", "a\\nb"}) {
    const std::string json = R"({"weight_map":{"w":")" + file + R"("}})";
    EXPECT_THAT([&] { parse_shard_index(json); }, ThrowsCode(Code::kCorrupt, "tensor \"w\""))
        << file;
  }
}

TEST(ShardIndex, RefusesFilesThatAreNoIndex) {
  for (const std::string& json : std::vector<std::string>{
           "", "1", "[]", "{}", R"({"weight_map":{}})", R"({"weight_map":["a"]})",
           R"({"weight_map":1})", R"({"weight_map":{"w":1}})", R"({"weight_map":{"w":{}}})",
           R"({"weight_map":{"w":["f"]}})", R"({"weight_map":{"w":"f","w":"f"}})",
           R"({"weight_map":{"w":"f"},"weight_map":{"v":"f"}})",
           R"({"metadata":{"weight_map":{"w":"f"}}})", std::string("{}\0", 3)}) {
    EXPECT_THAT([&] { parse_shard_index(json); }, ThrowsCode(Code::kCorrupt)) << json;
  }
}

TEST(ShardIndex, ANestingBombCostsNothing) {
  EXPECT_THAT([] { parse_shard_index(R"({"metadata":)" + std::string(5'000'000, '[')); },
              ThrowsCode(Code::kCorrupt, "not JSON"));
}

// Tensors that have names and no data.
class NamesOnly final : public TensorReader {
 public:
  explicit NamesOnly(const std::vector<std::string>& names) {
    for (const std::string& name : names) tensors_.push_back({.name = name});
  }
  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
};

JoinedTensors join(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::vector<JoinedTensors::Shard> shards;
  shards.push_back({"1.safetensors", std::make_unique<NamesOnly>(first)});
  shards.push_back({"2.safetensors", std::make_unique<NamesOnly>(second)});
  return {parse_shard_index(kIndex), std::move(shards)};
}

TEST(JoinedTensors, AreThoseOfAllShards) {
  const JoinedTensors joined = join({"a"}, {"b", "c", "unlisted"});
  EXPECT_EQ(joined.tensors().size(), 4u);
  EXPECT_NE(joined.find("c"), nullptr);
}

TEST(JoinedTensors, NameTheShardThatLacksATensor) {
  EXPECT_THAT([] { join({"a"}, {"b"}); },
              ThrowsCode(Code::kCorrupt, "tensor \"c\": is not in \"2.safetensors\""));
  EXPECT_THAT(
      [] {
        join({"a", "c"}, {"b"});
      },
      ThrowsCode(Code::kCorrupt,
                 "\"2.safetensors\", where the index places it, but in "
                 "\"1.safetensors\""));
}

TEST(JoinedTensors, NameBothShardsThatHaveATensor) {
  EXPECT_THAT(
      [] {
        join({"a", "b"}, {"b", "c"});
      },
      ThrowsCode(Code::kCorrupt, "tensor \"b\": is in \"1.safetensors\" and in \"2.safetensors\""));
}

}  // namespace
}  // namespace berth
