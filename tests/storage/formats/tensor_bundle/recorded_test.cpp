#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "storage/formats/tensorflow_checkpoint.h"
#include "tests/support/bundle_files.h"
#include "tests/support/throws_code.h"

// Files that TensorFlow wrote. tests/record/record_tensorflow.py recorded them.
namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <typename T>
std::vector<T> values_of(const NamedTensor* tensor) {
  std::vector<T> values(tensor->data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor->data.data(), tensor->data.size());
  return values;
}

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

class RecordedTypes : public testing::Test {
 protected:
  const BundleFiles files_ = recorded_bundle("types");
  const TensorBundleReader reader_ = files_.read();
};

TEST_F(RecordedTypes, HaveTheirShapesAndValues) {
  EXPECT_THAT(reader_.find("float")->shape, ElementsAre(2, 3));
  EXPECT_THAT(values_of<float>(reader_.find("float")), ElementsAre(0, 0.25, 0.5, 0.75, 1, 1.25));
  EXPECT_THAT(values_of<double>(reader_.find("double")), ElementsAre(1.5, -2.5));
  EXPECT_THAT(values_of<int64_t>(reader_.find("int64")), ElementsAre(1, -1));
  EXPECT_THAT(values_of<int32_t>(reader_.find("int32")), ElementsAre(7));
  EXPECT_THAT(values_of<int16_t>(reader_.find("int16")), ElementsAre(-300));
  EXPECT_THAT(values_of<uint8_t>(reader_.find("uint8")), ElementsAre(255));
  EXPECT_THAT(values_of<uint8_t>(reader_.find("bool")), ElementsAre(1, 0, 1));
  EXPECT_THAT(values_of<uint16_t>(reader_.find("half")), ElementsAre(0x3C00, 0xC000, 0x3800));
  EXPECT_EQ(reader_.find("half")->dtype, DType::kF16);
  EXPECT_THAT(values_of<uint16_t>(reader_.find("bfloat16")),
              ElementsAre(0x3F80, 0xC000, 0x3F00, 0x4040));
  EXPECT_EQ(reader_.find("bfloat16")->dtype, DType::kBF16);
}

TEST_F(RecordedTypes, MayHaveNoDimensionOrNoElement) {
  EXPECT_THAT(reader_.find("scalar")->shape, IsEmpty());
  EXPECT_THAT(values_of<float>(reader_.find("scalar")), ElementsAre(2.5));
  EXPECT_THAT(reader_.find("empty")->shape, ElementsAre(0, 4));
  EXPECT_THAT(reader_.find("empty")->data, IsEmpty());
}

TEST_F(RecordedTypes, StringsAreReadApart) {
  EXPECT_EQ(reader_.find("strings"), nullptr);
  EXPECT_THAT(reader_.strings("strings"),
              ElementsAre("", "a", "caf\xC3\xA9", std::string(200, 'b')));
  EXPECT_THAT(reader_.strings("text"), ElementsAre("one"));
  EXPECT_THAT(reader_.strings("float"), IsEmpty());
}

TEST_F(RecordedTypes, AnUnsupportedTypeIsOnlyInTheIndex) {
  EXPECT_EQ(reader_.find("complex"), nullptr);
  const BundleEntry* entry = reader_.index().find("complex");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->type_name(), "complex64");
  EXPECT_EQ(reader_.tensors().size(), reader_.index().tensors().size() - 3);
}

TEST_F(RecordedTypes, DataIsBorrowed) {
  for (const NamedTensor& tensor : reader_.tensors()) {
    if (tensor.data.empty()) continue;
    const Bytes file = as_bytes(files_.data);
    EXPECT_GE(tensor.data.data(), file.data()) << tensor.name;
    EXPECT_LE(tensor.data.data() + tensor.data.size(), file.data() + file.size()) << tensor.name;
  }
}

TEST(RecordedPartitions, AreJoinedIntoWholeTensors) {
  const BundleFiles files = recorded_bundle("partitioned");
  const TensorBundleReader reader = files.read();
  ASSERT_EQ(reader.tensors().size(), 3u);
  EXPECT_THAT(reader.find("table")->shape, ElementsAre(10, 3));
  EXPECT_EQ(values_of<float>(reader.find("table")), counting(30));
  EXPECT_THAT(reader.find("wide")->shape, ElementsAre(2, 70));
  EXPECT_EQ(values_of<float>(reader.find("wide")), counting(140));
  EXPECT_THAT(values_of<float>(reader.find("whole")), ElementsAre(5));
}

TEST(RecordedBlocks, AreReadOneAfterTheOther) {
  const BundleFiles files = recorded_blocks();
  const TensorBundleReader reader = files.read();
  ASSERT_EQ(reader.tensors().size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    const NamedTensor& tensor = reader.tensors()[i];
    EXPECT_EQ(tensor.name.size(), 15002u);
    EXPECT_EQ(values_of<float>(&tensor), std::vector<float>(i, static_cast<float>(i)));
  }
}

TEST(RecordedGraph, GivesFullNames) {
  const BundleFiles files = recorded_bundle("tf2_layers");
  const TensorBundleReader reader = files.read();
  const auto graph = reader.strings(kObjectGraphKey);
  ASSERT_EQ(graph.size(), 1u);
  const auto names = full_names(as_bytes(graph[0]));
  const std::string layer = "model/layer_with_weights-4/_attention_layer/_query_dense/kernel";
  EXPECT_EQ(names.at(layer + std::string(kVariableValue)),
            "transformer/layer_0/self_attention/query/kernel");
  for (const NamedTensor& tensor : reader.tensors()) EXPECT_EQ(names.count(tensor.name), 1u);
}

TEST(RecordedIndex, IsReadWithoutItsData) {
  const std::string bytes = read_text(BERTH_TESTDATA "/tensorflow/tf1.ckpt.index");
  const TensorBundleIndex index(as_bytes(bytes));
  EXPECT_EQ(index.num_shards(), 1);
  EXPECT_NE(index.find("bert/embeddings/word_embeddings"), nullptr);
  const auto absent = [](int32_t shard) -> Bytes {
    throw Error(Code::kNotFound, "absent", shard_name("tf1.ckpt", shard, 1));
  };
  EXPECT_THAT([&] { TensorBundleReader(index, absent); },
              ThrowsCode(Code::kNotFound, "tf1.ckpt.data-00000-of-00001"));
}

}  // namespace
}  // namespace berth
