#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/tensor_bundle/bundle_entry.h"
#include "storage/formats/tensor_bundle/table.h"
#include "tests/support/bundle_files.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WrittenBundle, EqualsTensorFlowsFileByteForByte) {
  // TensorFlow wrote this file. It has no strings, and its tensors are in the order of their names.
  const BundleFiles recorded = recorded_bundle("tf1");
  const BundleFiles written = written_bundle(recorded.read().tensors());
  EXPECT_TRUE(written.data == recorded.data);
  EXPECT_TRUE(written.index == recorded.index);
}

TEST(WrittenBundle, WithSeveralBlocksEqualsTensorFlowsFileByteForByte) {
  const BundleFiles recorded = recorded_blocks();
  EXPECT_GT(recorded.index.size(), 262144u);
  const BundleFiles written = written_bundle(recorded.read().tensors());
  EXPECT_TRUE(written.data == recorded.data);
  EXPECT_TRUE(written.index == recorded.index);
}

TEST(WrittenBundle, SortsByName) {
  const std::string data = "ab";
  const NamedTensor tensors[] = {
      {.name = "b", .dtype = DType::kU8, .shape = {1}, .data = as_bytes(data).last(1)},
      {.name = "a", .dtype = DType::kU8, .shape = {1}, .data = as_bytes(data).first(1)}};
  const BundleFiles files = written_bundle(tensors);
  EXPECT_EQ(files.data, "ab");
  EXPECT_EQ(files.read().tensors()[0].name, "a");
  EXPECT_EQ(as_text(files.read().find("b")->data), "b");
}

TEST(WrittenBundle, KeepsEveryTypeAndShape) {
  const BundleFiles recorded = recorded_bundle("types");
  const TensorBundleReader before = recorded.read();
  const BundleFiles files = written_bundle(before.tensors());
  const TensorBundleReader after = files.read();
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (const NamedTensor& tensor : before.tensors()) {
    const NamedTensor* found = after.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype) << tensor.name;
    EXPECT_EQ(found->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(as_text(found->data), as_text(tensor.data)) << tensor.name;
  }
}

TEST(WrittenBundle, CutsItsIndexIntoBlocks) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 6000; ++i) {
    tensors.push_back(
        {.name = "tensor " + std::to_string(i * 7919) + std::string(100, 'x'), .shape = {0, i}});
  }
  const BundleFiles files = written_bundle(tensors);
  EXPECT_GT(files.index.size(), size_t{2 * 262144});
  const TensorBundleIndex index = files.parsed();
  EXPECT_EQ(index.tensors().size(), 6000u);
  for (const NamedTensor& tensor : tensors) {
    ASSERT_NE(index.find(tensor.name), nullptr);
    EXPECT_EQ(index.find(tensor.name)->shape, tensor.shape);
  }
}

TEST(WrittenBundle, MayBeEmpty) { EXPECT_THAT(written_bundle({}).read().tensors(), IsEmpty()); }

TEST(WrittenBundle, RefusesWhatItCouldNotRead) {
  const NamedTensor twice[] = {{.name = "w", .shape = {0}}, {.name = "w", .shape = {0}}};
  const NamedTensor nameless[] = {{.name = "", .shape = {0}}};
  const NamedTensor dataless[] = {{.name = "w", .shape = {1}}};
  EXPECT_THAT([&] { written_bundle(twice); }, ThrowsCode(Code::kInternal));
  EXPECT_THAT([&] { written_bundle(nameless); }, ThrowsCode(Code::kInternal));
  EXPECT_THAT([&] { written_bundle(dataless); }, ThrowsCode(Code::kInternal));
}

TEST(BundleNames, TellThePrefixFromTheFiles) {
  EXPECT_EQ(shard_name("a/model.ckpt", 3, 12), "a/model.ckpt.data-00003-of-00012");
  EXPECT_EQ(bundle_prefix("a/model.ckpt.index"), "a/model.ckpt");
  EXPECT_EQ(bundle_prefix("a/model.ckpt.meta"), "a/model.ckpt");
  EXPECT_EQ(bundle_prefix("a/model.ckpt.data-00003-of-00012"), "a/model.ckpt");
  EXPECT_EQ(bundle_prefix("a/model.ckpt"), "a/model.ckpt");
  EXPECT_EQ(bundle_prefix("a/my.data-set-of-mine"), "a/my.data-set-of-mine");
  EXPECT_EQ(bundle_prefix(""), "");
}

TEST(SliceKey, IsOrderedCode) {
  EXPECT_EQ(slice_key("w", {{.start = 0, .length = 4}, {}}),
            bytes({0, 'w', 0, 1, 1, 2, 0x80, 0x84, 0x80, 0x7F}));
  EXPECT_EQ(slice_key(bytes({0, 0xFF}), {}), bytes({0, 0, 0xFF, 0xFF, 0, 0, 1, 0}));
}

TEST(SliceKey, GrowsWithItsNumbers) {
  const auto start = [](int64_t value) {
    const std::string key = slice_key("", {{.start = value, .length = 0}});
    return key.substr(5, key.size() - 6);  // without the front and the one byte of the length
  };
  EXPECT_EQ(start(63), bytes({0xBF}));
  EXPECT_EQ(start(64), bytes({0xC0, 0x40}));
  EXPECT_EQ(start(70), bytes({0xC0, 0x46}));
  EXPECT_EQ(start(-64), bytes({0x40}));
  EXPECT_EQ(start(-65), bytes({0x3F, 0xBF}));
  EXPECT_EQ(start(8191), bytes({0xDF, 0xFF}));
  EXPECT_EQ(start(8192), bytes({0xE0, 0x20, 0x00}));
  EXPECT_EQ(start(INT64_MAX), bytes({0xFF, 0xC0, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(start(INT64_MIN), bytes({0x00, 0x3F, 0x80, 0, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace berth
