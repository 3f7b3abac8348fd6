#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "storage/formats/tensor_bundle/bundle_entry.h"
#include "tests/support/bundle_files.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::IsEmpty;

void read_with(Bytes index, Bytes data) {
  const TensorBundleReader reader(TensorBundleIndex(index), [&](int32_t) { return data; });
  for (const BundleEntry& entry : reader.index().tensors()) reader.strings(entry.name);
}

class DamagedBundle : public testing::TestWithParam<const char*> {
 protected:
  const BundleFiles files_ = recorded_bundle(GetParam());

  void read_index(Bytes index) const { read_with(index, as_bytes(files_.data)); }
  void read_data(Bytes data) const { read_with(as_bytes(files_.index), data); }
};

TEST_P(DamagedBundle, IsReadableBefore) { read_index(as_bytes(files_.index)); }

TEST_P(DamagedBundle, EveryTruncatedIndexIsRefused) {
  EXPECT_THAT(accepted_prefixes(as_bytes(files_.index), [&](Bytes b) { read_index(b); }),
              IsEmpty());
}

TEST_P(DamagedBundle, ATruncatedShardIsRefused) {
  const size_t size = files_.data.size();
  for (size_t i = 0; i < 200; ++i) {
    const std::string prefix = files_.data.substr(0, i < 100 ? size * i / 100 : size - (i - 99));
    EXPECT_FALSE(accepts([&](Bytes b) { read_data(b); }, as_bytes(prefix))) << prefix.size();
  }
}

TEST_P(DamagedBundle, AFlippedBitIsRefused) {
  std::mt19937 random(5);
  for (int i = 0; i < 1000; ++i) {
    for (const std::string* file : {&files_.index, &files_.data}) {
      std::string flipped = *file;
      const size_t bit = random() % (8 * flipped.size());
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(accepts([&](Bytes b) { file == &files_.index ? read_index(b) : read_data(b); },
                           as_bytes(flipped)))
          << "bit " << bit << (file == &files_.index ? " of the index" : " of the data");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, DamagedBundle,
                         testing::Values("types", "partitioned", "tf1", "tf2_other"),
                         [](const auto& each) { return std::string(each.param); });

TEST(DamagedStringTensor, OfTooManyElementsIsCorrupt) {
  const std::vector<std::byte> zeros(size_t{2} << 20);
  EXPECT_THAT([&] { string_tensor_elements(zeros, (1 << 20) + 1); },
              ThrowsCode(Code::kCorrupt, "1048577 strings"));
}

}  // namespace
}  // namespace berth
