#include "storage/formats/event_reader.h"

#include <gtest/gtest.h>

#include "storage/base/protobuf_wire.h"
#include "storage/formats/event_file.h"
#include "storage/formats/tfrecord.h"
#include "tests/support/every_damage.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
