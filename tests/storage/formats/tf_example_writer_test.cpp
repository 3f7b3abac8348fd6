#include "storage/formats/tf_example_writer.h"

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

using Int64s = std::vector<int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

// The features that tests/record/record_tensorflow.py recorded.
const std::vector<TfFeature> kFeatures = {
    {.name = "input_ids", .values = Int64s{101, 30521, int64_t{1} << 40, -1, 0}},
    {.name = "input_mask", .values = Int64s{1, 1, 1, 1, 0}},
    {.name = "label_ids", .values = Floats{0.1f, -2.5f}},
    {.name = "none", .values = {}},
    {.name = "segment_ids", .values = Int64s{}},
    {.name = "text", .values = Texts{"", "a\xFF"}}};

TEST(TfExampleWriter, WritesTheBytesThatTensorFlowWrites) {
  const std::string recorded = read_text(BERTH_TESTDATA "/tensorflow/example.pb");
  ASSERT_FALSE(recorded.empty());
  EXPECT_EQ(as_text(serialize_tf_example(kFeatures)), recorded);
}

TEST(TfExampleWriter, WritesWhatIsReadBack) {
  const std::vector<TfFeature> read = parse_tf_example(serialize_tf_example(kFeatures));
  ASSERT_EQ(read.size(), kFeatures.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].name, kFeatures[i].name);
    EXPECT_EQ(read[i].values, kFeatures[i].values) << read[i].name;
  }
}

TEST(TfExampleWriter, NoFeaturesAreAnExample) {
  EXPECT_TRUE(parse_tf_example(serialize_tf_example({})).empty());
}

}  // namespace
}  // namespace berth
