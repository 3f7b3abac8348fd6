#include "storage/formats/tf_example.h"

#include <gtest/gtest.h>

#include "storage/base/protobuf_wire.h"
#include "tests/support/every_damage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using Int64s = std::vector<int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

ProtoWriter entry(std::string_view name, uint32_t kind, const ProtoWriter& list) {
  ProtoWriter feature, made;
  feature.message(kind, list);
  made.text(1, name);
  made.message(2, feature);
  return made;
}

std::vector<std::byte> example(const std::vector<ProtoWriter>& entries) {
  ProtoWriter features, made;
  for (const ProtoWriter& each : entries) features.message(1, each);
  made.message(1, features);
  return made.take();
}

ProtoWriter packed_ids() {
  ProtoWriter list;
  const uint8_t bytes[] = {101, 0xD3, 0x0F, 102};  // 101, 2003, 102
  list.bytes(1, std::as_bytes(std::span(bytes)));
  return list;
}

ProtoWriter one_float(float value) {
  ProtoWriter list;
  list.bytes(1, std::as_bytes(std::span(&value, 1)));
  return list;
}

TEST(TfExample, FeaturesComeSortedByName) {
  ProtoWriter texts;
  texts.text(1, "a");
  texts.text(1, "");
  const auto features =
      parse_tf_example(example({entry("weight", 2, one_float(0.5f)),
                                entry("input_ids", 3, packed_ids()), entry("text", 1, texts)}));
  ASSERT_EQ(features.size(), 3u);
  EXPECT_EQ(features[0].name, "input_ids");
  EXPECT_EQ(std::get<Int64s>(features[0].values), (Int64s{101, 2003, 102}));
  EXPECT_EQ(std::get<Texts>(features[1].values), (Texts{"a", ""}));
  EXPECT_EQ(std::get<Floats>(features[2].values), (Floats{0.5f}));
}

TEST(TfExample, NumbersNeedNotBePacked) {
  ProtoWriter list;
  list.int64(1, -7);
  const uint8_t more[] = {1, 2};
  list.bytes(1, std::as_bytes(std::span(more)));
  ProtoWriter floats;
  floats.float32(1, 1.5f);
  const auto features = parse_tf_example(example({entry("a", 3, list), entry("b", 2, floats)}));
  EXPECT_EQ(std::get<Int64s>(features[0].values), (Int64s{-7, 1, 2}));
  EXPECT_EQ(std::get<Floats>(features[1].values), (Floats{1.5f}));
}

TEST(TfExample, TheLastOfANameWins) {
  const auto features =
      parse_tf_example(example({entry("a", 2, one_float(1)), entry("a", 2, one_float(2))}));
  ASSERT_EQ(features.size(), 1u);
  EXPECT_EQ(std::get<Floats>(features[0].values), (Floats{2}));
}

TEST(TfExample, AFeatureMayHaveNoKind) {
  ProtoWriter nameless, features, made;
  nameless.text(1, "a");
  features.message(1, nameless);
  made.message(1, features);
  const auto parsed = parse_tf_example(made.written());
  ASSERT_EQ(parsed.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(parsed[0].values));
  EXPECT_TRUE(parse_tf_example({}).empty());
}

TEST(TfExample, NamesTheFeatureThatIsBroken) {
  ProtoWriter list;
  const uint8_t cut[] = {0, 0, 0};
  list.bytes(1, std::as_bytes(std::span(cut)));
  EXPECT_THAT([&] { parse_tf_example(example({entry("weight", 2, list)})); },
              ThrowsCode(Code::kCorrupt, "weight"));
}

TEST(TfExample, SurvivesEveryDamage) {
  const auto read = [](Bytes bytes) { parse_tf_example(bytes); };
  const auto record = example({entry("weight", 2, one_float(0.5f)), entry("ids", 3, packed_ids())});
  accepted_flips(record, read);  // most flips give other valid examples
  // A prefix is accepted only if it ends between two fields. This message has only one field.
  EXPECT_EQ(accepted_prefixes(record, read), std::vector<size_t>{0});
}

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
