#include "entrypoint/report/probe_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/text.h"
#include "storage/formats/event_reader.h"
#include "storage/formats/tfrecord.h"
#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

using testing::ElementsAre;

class ProbeEventsTest : public testing::Test {
 protected:
  static ProbeReport report(int64_t step, const std::string& name, double accuracy) {
    return {.step = step,
            .name = name,
            .metric = "accuracy",
            .metrics = {{"accuracy", accuracy}},
            .loss = 0.5};
  }
  // "file: step tag=value ..." for every event with scalars.
  std::vector<std::string> contents() {
    std::vector<std::string> shown;
    for (const Stat& stat : storage_->list(directory_)) {
      const Uri file = Uri::parse(stat.name);
      TfRecordReader records(storage_->open(file));
      for (std::vector<std::byte> record; records.next(record);) {
        const Event event = parse_event(record);
        if (event.values.empty()) continue;
        std::string text = cat(file.file_name(), ": ", event.step);
        for (const SummaryValue& value : event.values) {
          text += cat(" ", value.tag, "=", value.scalar.value());
        }
        shown.push_back(text);
      }
    }
    return shown;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  const Uri directory_ = Uri::parse(scratch_ / "probe");
};

TEST_F(ProbeEventsTest, EachStepHasAFileWithTheScoresOfItsProbes) {
  ProbeEvents events(*storage_, directory_);
  events.add({report(0, "topics", 0.25), report(0, "ner", 0.5)}, 1.7e9);
  events.add({report(20, "topics", 0.75)}, 1.7e9);
  events.flush();
  EXPECT_THAT(contents(), ElementsAre("events.out.tfevents.0000000000.probe: 0 "
                                      "probe/topics/loss=0.5 probe/topics/accuracy=0.25 "
                                      "probe/ner/loss=0.5 probe/ner/accuracy=0.5",
                                      "events.out.tfevents.0000000020.probe: 20 "
                                      "probe/topics/loss=0.5 probe/topics/accuracy=0.75"));
}

TEST_F(ProbeEventsTest, ARepeatedProbeReplacesItsScores) {
  for (int process = 0; process < 2; ++process) {
    ProbeEvents events(*storage_, directory_);
    events.add({report(5, "topics", 0.5)}, 1.7e9 + process);
    events.flush();
  }
  EXPECT_THAT(contents(), ElementsAre("events.out.tfevents.0000000005.probe: 5 "
                                      "probe/topics/loss=0.5 probe/topics/accuracy=0.5"));
}

TEST_F(ProbeEventsTest, AResumedJobAddsWhatWasNotStored) {
  {
    ProbeEvents events(*storage_, directory_);
    events.add({report(0, "topics", 0.25)}, 1.7e9);
    events.flush();
  }
  ProbeEvents events(*storage_, directory_);
  events.restore({report(0, "topics", 0.125), report(5, "topics", 0.5)}, 1.7e9);
  events.flush();
  EXPECT_THAT(contents(),
              ElementsAre("events.out.tfevents.0000000000.probe: 0 probe/topics/loss=0.5 "
                          "probe/topics/accuracy=0.25",
                          "events.out.tfevents.0000000005.probe: 5 probe/topics/loss=0.5 "
                          "probe/topics/accuracy=0.5"));
}

}  // namespace
}  // namespace berth
