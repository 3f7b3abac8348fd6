#include "trainer/loop/snapshot.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_model.h"

namespace berth {
namespace {

// Collects what is written. A test may set a function that is called before each write.
class CollectingSink final : public ByteSink {
 public:
  void write(Bytes bytes) override {
    if (before_write) before_write(writes);
    ++writes;
    written += as_text(bytes);
  }
  Stat close() override { return {}; }

  int writes = 0;
  std::string written;
  std::function<void(int writes)> before_write;
};

class SnapshotTest : public testing::Test {
 protected:
  explicit SnapshotTest(const ModelConfig& config = tiny_config()) : config_(config) { renew(); }

  // A model before an update, whose moments are not zeros.
  void renew() {
    tiny_ = std::make_unique<TinyModel>(3, config_, 1, lora_);
    for (const ParameterSpec& spec : tiny_->values().specs()) {
      if (!spec.trains) continue;
      tiny_->set(StateTensors::kFirstMoments, spec.name, 0.25f);
      tiny_->set(StateTensors::kSecondMoments, spec.name, 0.5f);
    }
  }
  // What an update does: it changes everything that trains, after it has said so.
  void update() {
    snapshot_.before_change();
    for (const ParameterSpec& spec : tiny_->values().specs()) {
      if (!spec.trains) continue;
      for (const auto which :
           {StateTensors::kValues, StateTensors::kFirstMoments, StateTensors::kSecondMoments}) {
        tiny_->set(which, spec.name, 7);
      }
    }
  }
  void begin(const CopyLimits& limits = {}) {
    snapshot_.begin({.step = 1}, *tiny_->engine, limits);
  }
  void write() {
    snapshot_.write_parameters(sink_);
    snapshot_.write_moments(sink_);
    snapshot_.end();
  }
  // The bytes of a snapshot during which nothing changes.
  std::string undisturbed() {
    begin();
    write();
    return std::exchange(sink_, {}).written;
  }
  // Updates before the write of each number, one after the other, and expects the same bytes.
  void expect_same_bytes_whenever_an_update_comes(int first, int end) {
    const std::string expected = undisturbed();
    for (int when = first; when < end; ++when) {
      begin();
      sink_.before_write = [&](int writes) {
        if (writes == when) update();
      };
      write();
      ASSERT_EQ(sink_.written, expected) << "an update before write " << when;
      ASSERT_GT(sink_.writes, when);
      sink_ = {};
      renew();
    }
  }

  ModelConfig config_;
  LoraOptions lora_{};
  std::unique_ptr<TinyModel> tiny_;
  Snapshot snapshot_;
  CollectingSink sink_;
};

TEST_F(SnapshotTest, HoldsTheStateOfItsBeginningWheneverAnUpdateComes) {
  const int writes = static_cast<int>(4 + 3 * tiny_->values().specs().size());
  expect_same_bytes_whenever_an_update_comes(0, writes);
}

// The parameters that do not train are read from the engine even after an update.
TEST_F(SnapshotTest, HoldsAdaptersWheneverAnUpdateComes) {
  lora_ = {.rank = 2, .alpha = 8};
  renew();
  const int writes = static_cast<int>(4 + tiny_->values().specs().size());
  expect_same_bytes_whenever_an_update_comes(0, writes);
}

// The word embeddings of this model take several writes.
class SnapshotOfALargeTensor : public SnapshotTest {
 protected:
  SnapshotOfALargeTensor() : SnapshotTest(config_with_many_words()) {}
  static ModelConfig config_with_many_words() {
    ModelConfig config = tiny_config();
    config.vocab_size = 70000;
    return config;
  }
};

TEST_F(SnapshotOfALargeTensor, CopiesTheRestOfATensorThatIsPartlyWritten) {
  expect_same_bytes_whenever_an_update_comes(2, 6);
}

TEST_F(SnapshotTest, MayBeWrittenAgainUntilAnUpdateComes) {
  begin();
  snapshot_.write_parameters(sink_);
  const std::string expected = std::exchange(sink_, {}).written;
  snapshot_.write_parameters(sink_);
  EXPECT_EQ(sink_.written, expected);
  update();
  EXPECT_THAT([&] { snapshot_.write_parameters(sink_); }, ThrowsCode(Code::kUnavailable));
  snapshot_.end();
}

TEST_F(SnapshotTest, AnUpdateWaitsForTheWriterIfItMayNotCopy) {
  const std::string expected = undisturbed();
  begin({.most_bytes = 0});
  std::jthread writer([this] { write(); });
  update();
  writer.join();
  EXPECT_EQ(sink_.written, expected);
}

TEST_F(SnapshotTest, AnUpdateDoesNotWaitForAWriterThatFailed) {
  begin({.most_bytes = 0});
  std::jthread writer([this] { snapshot_.end(); });
  update();
}

TEST_F(SnapshotTest, AnUpdateWaitsInVainNoLongerThanItsPatience) {
  const std::string expected = undisturbed();
  begin({.patience_s = 0.001});
  update();  // nobody writes
  write();
  EXPECT_EQ(sink_.written, expected);
}

}  // namespace
}  // namespace berth
