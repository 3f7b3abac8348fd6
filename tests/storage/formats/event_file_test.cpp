#include "storage/formats/event_file.h"

#include <gtest/gtest.h>

#include <limits>

#include "storage/base/protobuf_wire.h"
#include "storage/formats/tfrecord.h"
#include "tests/support/every_damage.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

// The bytes of each record of tests/testdata/small.tfevents, which tensorboard's own writer made.
class EventFileTest : public testing::Test {
 protected:
  void expect_next(const std::vector<std::byte>& record) {
    ASSERT_LE(at_ + record.size(), golden_.size());
    EXPECT_EQ(as_text(record), golden_.substr(at_, record.size()));
    at_ += record.size();
  }

  const std::string golden_ = read_text(BERTH_TESTDATA "/small.tfevents");
  size_t at_ = 0;
};

TEST_F(EventFileTest, MatchesTensorboardsWriterByteForByte) {
  expect_next(event_file_header(1700000000.5));
  const Scalar zero[] = {{"loss", 0.0f}};
  expect_next(scalar_event(1700000001.25, 0, zero));
  const Scalar two[] = {{"loss", 0.5f}, {"learning_rate", 5e-5f}};
  expect_next(scalar_event(1700000002.0, 300, two));
  expect_next(text_event(1700000003.0, -1, "settings", "| a | b |\n|---|---|\n| \xC3\xA9 | 2 |"));
  EXPECT_EQ(at_, golden_.size());
}

std::vector<Event> events_of(Bytes file) {
  TfRecordReader records(std::make_unique<MemorySource>(file));
  std::vector<Event> events;
  for (std::vector<std::byte> record; records.next(record);) events.push_back(parse_event(record));
  return events;
}

TEST(EventReader, ReadsWhatTensorboardWrote) {
  const std::string file = read_text(BERTH_TESTDATA "/small.tfevents");
  const std::vector<Event> events = events_of(as_bytes(file));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time_s, 1700000000.5);
  ASSERT_EQ(events[1].values.size(), 1u);
  EXPECT_EQ(events[1].values[0].tag, "loss");
  EXPECT_EQ(events[1].values[0].scalar, 0.0);
  EXPECT_EQ(events[2].step, 300);
  EXPECT_EQ(events[2].values[1].tag, "learning_rate");
  EXPECT_EQ(events[2].values[1].scalar, static_cast<double>(5e-5f));
  EXPECT_EQ(events[3].step, -1);
  EXPECT_FALSE(events[3].values[0].scalar) << "a text";
}

// tf.summary.scalar of TensorFlow 2 writes a tensor of one float without dimensions.
TEST(EventReader, ATensorOfOneNumberIsAScalar) {
  const float number = 2.5f;
  for (const bool in_content : {false, true}) {
    ProtoWriter tensor, value, summary, event, shape;
    tensor.varint(1, 1);
    tensor.message(2, shape);
    if (in_content) {
      tensor.bytes(4, std::as_bytes(std::span(&number, 1)));
    } else {
      tensor.float32(5, number);
    }
    value.text(1, "loss");
    value.message(8, tensor);
    summary.message(1, value);
    event.int64(2, 9);
    event.message(5, summary);
    const Event parsed = parse_event(event.written());
    EXPECT_EQ(parsed.step, 9);
    EXPECT_EQ(parsed.values.at(0).scalar, 2.5);
  }
}

TEST(EventReader, ATensorOfSeveralNumbersIsNoScalar) {
  ProtoWriter dimension, shape, tensor, value, summary, event;
  dimension.varint(1, 2);
  shape.message(2, dimension);
  tensor.varint(1, 1);
  tensor.message(2, shape);
  tensor.float32(5, 1.0f);
  value.message(8, tensor);
  summary.message(1, value);
  event.message(5, summary);
  EXPECT_FALSE(parse_event(event.written()).values.at(0).scalar);
}

TEST(EventReader, SurvivesEveryDamage) {
  const Scalar scalars[] = {{"loss", 0.5f}, {"rate", 5e-5f}};
  const std::vector<std::byte> file = scalar_event(1700000002.0, 300, scalars);
  const Bytes record = Bytes(file).subspan(12, file.size() - 16);  // without its framing
  accepted_flips(record, [](Bytes bytes) { parse_event(bytes); });
  accepted_prefixes(record, [](Bytes bytes) { parse_event(bytes); });
}

// The records of tests/testdata/plugins.tfevents, which tensorboard's own messages made
// (tests/record/record_plugin_events.py).
TEST(PluginEvents, AreThoseOfTensorboardByteForByte) {
  const std::string golden = read_text(BERTH_TESTDATA "/plugins.tfevents");
  const HParam hparams[] = {
      {"batch-size", 16.0}, {"lr-scheduler-type", std::string("linear")}, {"recompute", true}};
  const HistogramBucket buckets[] = {{-1, 0, 3}, {0, 1, 5}};
  const float curve[] = {3, 1, 2, 0, 0, 2, 0, 2, 0.6f, 1, 1, 0.25f};
  const std::string png("\x89PNG\0", 5);
  const ImageSummary image = {
      .width = 12, .height = 7, .png = as_bytes(png), .description = "rows are *true* classes"};
  std::string written;
  for (const auto& record : {hparams_event(1700000001.25, hparams), hparams_end_event(1700000002.5),
                             histogram_event(1700000003.0, 300, "encoder.layer.0/bias", buckets),
                             pr_curve_event(1700000004.0, 301, "pr_curves/spam", curve),
                             image_event(1700000005.0, 302, "confusion_matrix", image)}) {
    written += as_text(record);
  }
  EXPECT_EQ(written, golden);
}

std::vector<HistogramBucket> buckets_of(const std::vector<float>& values, size_t count) {
  ValueHistogram histogram(count);
  histogram.widen(values);
  histogram.count(values);
  return histogram.buckets();
}

TEST(ValueHistogram, CountsEveryFiniteValueOnce) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto buckets = buckets_of({-2, -1, 0, 1, 2, infinity, NAN}, 2);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].left, -2);
  EXPECT_EQ(buckets[0].right, 0);
  EXPECT_EQ(buckets[0].count, 2);
  EXPECT_EQ(buckets[1].right, 2);
  EXPECT_EQ(buckets[1].count, 3);
}

TEST(ValueHistogram, HasOneBucketForEqualValuesAndNoneForNone) {
  const auto equal = buckets_of({3, 3}, 5);
  ASSERT_EQ(equal.size(), 1U);
  EXPECT_EQ(equal[0].left, 2.5);
  EXPECT_EQ(equal[0].count, 2);
  EXPECT_TRUE(buckets_of({}, 5).empty());
  EXPECT_TRUE(buckets_of({NAN}, 5).empty());
}

}  // namespace
}  // namespace berth
