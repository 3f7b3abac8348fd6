#include "storage/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "storage/base/bytes.h"
#include "tests/support/every_damage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

std::string file_of(const std::string& header, const std::string& data) {
  uint64_t size = header.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof size);
  return file + header + data;
}

void read_safetensors(Bytes file) { const SafetensorsReader reader(file); }

void read_safetensors(const std::string& header, const std::string& data) {
  const std::string file = file_of(header, data);
  read_safetensors(as_bytes(file));
}

constexpr const char* kTwoBytes = R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";

class GoldenSafetensors : public testing::Test {
 protected:
  const std::string file_ = read_text(BERTH_TESTDATA "/small.safetensors");
};

TEST_F(GoldenSafetensors, ReadsWhatThePythonPackageWrote) {
  const SafetensorsReader reader(as_bytes(file_));
  EXPECT_EQ(reader.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(reader.tensors().size(), 7u);
  const NamedTensor* weight = reader.find("weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->dtype, DType::kF32);
  EXPECT_THAT(weight->shape, ElementsAre(2, 3));
  float last;
  std::memcpy(&last, weight->data.data() + 5 * sizeof last, sizeof last);
  EXPECT_EQ(last, 1.25f);
  EXPECT_EQ(reader.find("half")->dtype, DType::kF16);
  EXPECT_EQ(reader.find("mask")->dtype, DType::kBool);
  EXPECT_EQ(reader.find("ids")->data.size(), 16u);
  EXPECT_TRUE(reader.find("scalar")->shape.empty());
  EXPECT_EQ(reader.find("scalar")->elements(), 1);
  EXPECT_THAT(reader.find("empty")->shape, ElementsAre(0, 4));
  EXPECT_EQ(reader.find("na\"me\xC3\xA9")->data.size(), 1u);
  EXPECT_EQ(reader.find("absent"), nullptr);
}

TEST_F(GoldenSafetensors, AStreamGivesTheSameHeader) {
  const SafetensorsReader reader(as_bytes(file_));
  MemorySource source(as_bytes(file_));
  const std::vector<NamedTensor> tensors = read_safetensors_header(source, file_.size());
  ASSERT_EQ(tensors.size(), reader.tensors().size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].name, reader.tensors()[i].name);
    EXPECT_EQ(tensors[i].dtype, reader.tensors()[i].dtype);
    EXPECT_EQ(tensors[i].shape, reader.tensors()[i].shape);
  }
  std::string data(file_.size(), '\0');
  const size_t left = read_fully(source, std::as_writable_bytes(std::span(data)));
  EXPECT_EQ(data.substr(0, left), file_.substr(file_.size() - left));
  EXPECT_EQ(as_text(reader.tensors()[0].data), data.substr(0, reader.tensors()[0].data.size()));
}

TEST_F(GoldenSafetensors, AStreamThatEndsWithinItsHeaderIsCorrupt) {
  for (const size_t size : {size_t{0}, size_t{7}, size_t{8}, size_t{50}}) {
    for (const size_t said : {size, file_.size()}) {
      MemorySource source(as_bytes(file_).first(size));
      EXPECT_THAT([&] { read_safetensors_header(source, said); }, ThrowsCode(Code::kCorrupt));
    }
  }
  MemorySource source(as_bytes(file_));
  EXPECT_THAT([&] { read_safetensors_header(source, file_.size() - 1); },
              ThrowsCode(Code::kCorrupt));
}

TEST_F(GoldenSafetensors, WritesTheSameBytes) {
  const SafetensorsReader reader(as_bytes(file_));
  MemorySink sink;
  write_safetensors(sink, reader.tensors(), reader.metadata());
  EXPECT_EQ(as_text(sink.written), file_);
}

TEST_F(GoldenSafetensors, EveryPrefixIsRefused) {
  EXPECT_THAT(accepted_prefixes(as_bytes(file_), [](Bytes b) { read_safetensors(b); }),
              testing::IsEmpty());
}

TEST_F(GoldenSafetensors, AFlippedBitIsRefusedOrHarmless) {
  accepted_flips(as_bytes(file_), [](Bytes b) { read_safetensors(b); });
}

TEST(Safetensors, KeepsFileOrderWhateverTheHeadersOrder) {
  const std::string file = file_of(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                                   R"("a":{"shape":[2],"data_offsets":[0,2],"dtype":"U8"}}  )",
                                   "xyz");
  const SafetensorsReader reader(as_bytes(file));
  EXPECT_EQ(reader.tensors()[0].name, "a");
  EXPECT_EQ(as_text(reader.tensors()[1].data), "z");
}

TEST(Safetensors, HasNoTensorsInAnEmptyHeader) { EXPECT_NO_THROW(read_safetensors("{}", "")); }

TEST(Safetensors, RefusesDataThatTheTensorsDoNotTile) {
  EXPECT_NO_THROW(read_safetensors(kTwoBytes, "xx"));
  EXPECT_THAT([] { read_safetensors(kTwoBytes, "xxx"); },
              ThrowsCode(Code::kCorrupt, "end at byte 2"));
  EXPECT_THAT([] { read_safetensors(kTwoBytes, "x"); }, ThrowsCode(Code::kCorrupt, "\"w\""));
  EXPECT_THAT(
      [] { read_safetensors(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xx"); },
      ThrowsCode(Code::kCorrupt, "begins at byte 1"));
  EXPECT_THAT(
      [] {
        read_safetensors(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                         R"("w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                         "xxx");
      },
      ThrowsCode(Code::kCorrupt, "\"w\": begins at byte 1"));
}

TEST(Safetensors, RefusesASizeThatDoesNotFitTheShape) {
  EXPECT_THAT(
      [] { read_safetensors(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "xxxx"); },
      ThrowsCode(Code::kCorrupt, "needs 8"));
}

TEST(Safetensors, RefusesShapesThatOverflow) {
  for (const char* shape : {"4294967296,4294967296", "9223372036854775807", "9223372036854775808",
                            "4611686018427387904,4611686018427387904,0", "-1", "1.5", "1e3"}) {
    const std::string header =
        R"({"w":{"dtype":"F32","shape":[)" + std::string(shape) + R"(],"data_offsets":[0,0]}})";
    EXPECT_THAT([&] { read_safetensors(header, ""); }, ThrowsCode(Code::kCorrupt, "\"w\""))
        << shape;
  }
}

TEST(Safetensors, RefusesShapesOfManyDimensions) {
  const auto tensor_of = [](size_t dimensions) {
    std::string shape = "1";
    for (size_t i = 1; i < dimensions; ++i) shape += ",1";
    return R"({"a":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[0,4]}})";
  };
  EXPECT_NO_THROW(read_safetensors(tensor_of(64), "1234"));
  EXPECT_THAT([&] { read_safetensors(tensor_of(65), "1234"); },
              ThrowsCode(Code::kCorrupt, "more than 64 dimensions"));
}

TEST(Safetensors, RefusesOffsetsThatRunBackwards) {
  EXPECT_THAT(
      [] {
        read_safetensors(
            R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,18446744073709551615]}})", "");
      },
      ThrowsCode(Code::kCorrupt));
  EXPECT_THAT(
      [] { read_safetensors(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "xx"); },
      ThrowsCode(Code::kCorrupt));
}

TEST(Safetensors, RefusesHeadersThatAreNotTables) {
  for (const std::string& header : std::vector<std::string>{
           "",
           " {}",
           "[]",
           "1",
           "{",
           "{}}",
           "{\"w\":1}",
           "{\"w\":{}}",
           "{\"w\":[]}",
           R"({"w":{"dtype":"U8","shape":[0]}})",
           R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0]}})",
           R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})",
           R"({"w":{"dtype":"U8","shape":[[0]],"data_offsets":[0,0]}})",
           R"({"w":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})",
           R"({"w":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
           R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":{}}})",
           R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":"x"}})",
           R"({"__metadata__":{"a":1}})",
           R"({"__metadata__":{"a":"1","a":"2"}})",
           R"({"__metadata__":{"a":{}}})",
           R"({"__metadata__":{},"__metadata__":{}})",
           std::string("{}\0", 3)}) {
    EXPECT_THAT([&] { read_safetensors(header, ""); }, ThrowsCode(Code::kCorrupt)) << header;
  }
}

TEST(Safetensors, RefusesADuplicateName) {
  EXPECT_THAT(
      [] {
        read_safetensors(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                         R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                         "");
      },
      ThrowsCode(Code::kCorrupt, "\"w\": appears twice"));
}

TEST(Safetensors, StopsAtTheFirstBracketOfANestingBomb) {
  for (const std::string opening : {R"({"w":)", R"({"w":{"shape":)", R"({"w":{"x":)"}) {
    const std::string bomb(1'000'000, '[');
    EXPECT_THAT([&] { read_safetensors(opening + bomb, ""); }, ThrowsCode(Code::kCorrupt));
  }
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT([&] { read_safetensors(objects, ""); }, ThrowsCode(Code::kCorrupt));
}

TEST(Safetensors, RefusesAHugeHeaderBeforeReadingIt) {
  std::string file = file_of("{}", "");
  const uint64_t size = 100'000'001;
  std::memcpy(file.data(), &size, sizeof size);
  EXPECT_THAT([&] { read_safetensors(as_bytes(file)); }, ThrowsCode(Code::kCorrupt, "100000001"));
}

TEST(Safetensors, NamesAnUnsupportedElementType) {
  EXPECT_THAT(
      [] {
        read_safetensors(R"({"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x");
      },
      ThrowsCode(Code::kBadData, "F8_E4M3"));
}

TEST(Safetensors, PadsTheHeaderToEightBytes) {
  const std::string data = "12345678";
  const NamedTensor tensor{.name = "w", .dtype = DType::kI64, .shape = {1}, .data = as_bytes(data)};
  for (const char* value : {"", "1", "12", "123"}) {
    MemorySink sink;
    write_safetensors(sink, std::span(&tensor, 1), {{"format", value}});
    const SafetensorsReader reader(sink.written);
    EXPECT_EQ((sink.written.size() - data.size()) % 8, 0u);
    EXPECT_EQ(as_text(reader.tensors()[0].data), data);
    EXPECT_EQ(reader.metadata().at("format"), value);
  }
}

TEST(Safetensors, RefusesToWriteWhatItCouldNotRead) {
  const std::string data = "xxxxx";
  const NamedTensor short_one{
      .name = "w", .dtype = DType::kF32, .shape = {2}, .data = as_bytes(data).first(4)};
  const NamedTensor unaligned[] = {
      {.name = "a", .dtype = DType::kU8, .shape = {1}, .data = as_bytes(data).first(1)},
      {.name = "b", .dtype = DType::kF32, .shape = {1}, .data = as_bytes(data).first(4)}};
  MemorySink sink;
  EXPECT_THAT([&] { write_safetensors(sink, std::span(&short_one, 1), {}); },
              ThrowsCode(Code::kInternal));
  EXPECT_THAT([&] { write_safetensors(sink, unaligned, {}); }, ThrowsCode(Code::kInternal));
  EXPECT_TRUE(sink.written.empty());
}

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
