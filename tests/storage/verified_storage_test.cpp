#include "storage/verified_storage.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/whole_file.h"
#include "tests/support/remote_storage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class ParallelSinkTest : public testing::Test {
 protected:
  Stat store(const std::string& name, const std::string& bytes) {
    return store_object(
        *remote_.storage, remote_.at(name), [&](ByteSink& sink) { sink.write(as_bytes(bytes)); },
        RemoteStorage::about(bytes.size()));
  }
  void fail(const GcsFault& fault, GcsCall call, int skip = 0) {
    remote_.gcs.faults().add({.fault = fault, .call = call, .skip = skip});
  }
  std::vector<std::string> names() const { return remote_.gcs.names(); }

  RemoteStorage remote_;
};

TEST_F(ParallelSinkTest, PartsBecomeOneObjectAndAreRemoved) {
  const std::string bytes = noise(10 * kPart + 7);
  const Stat stat = store("a", bytes);
  EXPECT_EQ(remote_.gcs.get("a"), bytes);
  EXPECT_EQ(stat.size, bytes.size());
  EXPECT_EQ(stat.crc32c, crc32c(as_bytes(bytes)));
  EXPECT_EQ(remote_.gcs.count(GcsCall::kUpload), 11u);
  EXPECT_EQ(remote_.gcs.count(GcsCall::kJoin), 1u);
  EXPECT_EQ(remote_.gcs.count(GcsCall::kDelete), 0u);
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
  EXPECT_EQ(remote_.get("a"), bytes);
}

// Some pieces are lent and some are copied, and they cross the ends of parts. One part fails and is
// sent again.
TEST_F(ParallelSinkTest, LentBytesAreSentAsCopiedOnes) {
  fail(GcsFault::answers(503), GcsCall::kUpload, 4);
  const std::string bytes = noise(10 * kPart + 7);
  store_object(
      *remote_.storage, remote_.at("a"),
      [&](ByteSink& sink) {
        Bytes rest = as_bytes(bytes);
        for (size_t i = 0; !rest.empty(); ++i) {
          const Bytes piece = rest.first(std::min<size_t>(rest.size(), kPart / 3 + 1000 * i));
          if (i % 3 == 0) {
            sink.write(as_bytes(std::string(as_text(piece))));
          } else {
            sink.lend(piece);
          }
          rest = rest.subspan(piece.size());
        }
      },
      RemoteStorage::about(bytes.size()));
  EXPECT_EQ(remote_.gcs.get("a"), bytes);
}

TEST_F(ParallelSinkTest, ManyPartsAreJoinedInGroups) {
  const std::string bytes = noise(70 * kPart);
  store("a", bytes);
  EXPECT_EQ(remote_.gcs.count(GcsCall::kJoin), 4u);  // 32, 32 and 6 parts; then three groups
  EXPECT_EQ(remote_.get("a"), bytes);
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(ParallelSinkTest, AHintThatIsTooLargeDoesNoHarm) {
  for (const size_t size : {size_t{0}, size_t{5}, size_t{kPart}}) {
    const std::string bytes = noise(size);
    store_object(
        *remote_.storage, remote_.at("a"), [&](ByteSink& sink) { sink.write(as_bytes(bytes)); },
        RemoteStorage::about(100 * kPart));
    EXPECT_EQ(remote_.gcs.get("a"), bytes);
  }
}

TEST_F(ParallelSinkTest, SmallObjectsAreOneRequest) {
  store("a", noise(8 * kPart - 1));
  EXPECT_EQ(remote_.gcs.count(GcsCall::kUpload), 1u);
  EXPECT_EQ(remote_.gcs.count(GcsCall::kJoin), 0u);
}

TEST_F(ParallelSinkTest, EachPartIsTriedAgainByItself) {
  for (const int part : {0, 3, 8}) fail(GcsFault::answers(503), GcsCall::kUpload, part);
  fail(GcsFault::damages_upload_at(3), GcsCall::kUpload, 5);
  const std::string bytes = noise(9 * kPart);
  store("a", bytes);
  EXPECT_EQ(remote_.gcs.get("a"), bytes);
}

TEST_F(ParallelSinkTest, ALostAnswerToTheJoinIsFoundByItsMark) {
  fail(GcsFault::loses_answer(), GcsCall::kJoin);
  const std::string bytes = noise(9 * kPart);
  store("a", bytes);
  const uint64_t generation = *remote_.gcs.generation("a");
  EXPECT_EQ(remote_.storage->stat(remote_.at("a"))->generation, generation);
  EXPECT_EQ(remote_.gcs.get("a"), bytes);
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(ParallelSinkTest, ALostAnswerToTheJoinOfAGroupIsFoundToo) {
  fail(GcsFault::loses_answer(), GcsCall::kJoin, 1);
  const std::string bytes = noise(40 * kPart);
  store("a", bytes);
  EXPECT_EQ(remote_.gcs.get("a"), bytes);
}

TEST_F(ParallelSinkTest, PartsThatSomebodyRemovedAreWrittenAgain) {
  const std::string bytes = noise(9 * kPart);
  int fills = 0;
  store_object(
      *remote_.storage, remote_.at("a"),
      [&](ByteSink& sink) {
        sink.write(as_bytes(bytes));
        if (++fills > 1) return;
        while (names().size() < 9) std::this_thread::yield();
        remote_.gcs.erase(names().front());
      },
      RemoteStorage::about(bytes.size()));
  EXPECT_EQ(fills, 2);
  EXPECT_EQ(remote_.gcs.get("a"), bytes);
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(ParallelSinkTest, AnotherWritersVersionStays) {
  remote_.gcs.put("a", "old");
  const std::string bytes = noise(9 * kPart);
  const auto sink = remote_.storage->create(remote_.at("a"), RemoteStorage::about(bytes.size()));
  sink->write(as_bytes(bytes));
  remote_.gcs.put("a", "theirs");
  EXPECT_THAT([&] { sink->close(); }, ThrowsCode(Code::kInUse, "gs://bucket/a"));
  EXPECT_EQ(remote_.gcs.get("a"), "theirs");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(ParallelSinkTest, PartsOfAKilledUploadAreRemovedByTheNextUpload) {
  remote_.gcs.put("a.parts/killed-3", "left");
  store("a", noise(9 * kPart));
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(ParallelSinkTest, OldPartsThatCannotBeListedAreIgnored) {
  remote_.gcs.deny("storage.objects.list");
  const std::string bytes = noise(9 * kPart);
  store("a", bytes);
  EXPECT_EQ(remote_.gcs.get("a"), bytes);
}

TEST_F(ParallelSinkTest, ARefusalEndsTheUpload) {
  remote_.gcs.deny("storage.objects.create");
  EXPECT_THAT([&] { store("a", noise(20 * kPart)); },
              ThrowsCode(Code::kNotPermitted, "storage.objects.create"));
  EXPECT_TRUE(names().empty());
}

TEST_F(ParallelSinkTest, WithoutCloseNothingIsPublished) {
  const auto bytes = noise(20 * kPart);
  remote_.storage->create(remote_.at("a"), RemoteStorage::about(bytes.size()))
      ->write(as_bytes(bytes));
  EXPECT_FALSE(remote_.gcs.get("a"));
}

class TransferMeterTest : public testing::Test {
 protected:
  TransferMeterTest() {
    meter_.emplace(tell_, about_, [this] { return now_s_; });
  }

  void move(double at_s, uint64_t bytes) {
    now_s_ = at_s;
    meter_->add(bytes);
  }

  const TransferProgress about_{.uri = "gs://b/o", .total = 100};
  std::vector<TransferProgress> told_;
  const TellProgress tell_ = [this](const TransferProgress& progress) {
    told_.push_back(progress);
  };
  double now_s_ = 0;
  std::optional<TransferMeter> meter_;
};

TEST_F(TransferMeterTest, AShortTransferIsNotReported) {
  move(1.9, 100);
  meter_->finish();
  EXPECT_TRUE(told_.empty());
}

TEST_F(TransferMeterTest, ALongTransferIsReportedAfterTwoSecondsThenEveryFiveAndAtItsEnd) {
  for (int tenth = 0; tenth <= 100; ++tenth) move(tenth / 10.0, 1);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[0].bytes, 21u);
  EXPECT_DOUBLE_EQ(told_[0].seconds, 2);
  EXPECT_EQ(told_[1].bytes, 71u);
  meter_->finish();
  meter_->finish();
  move(20, 1);
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_TRUE(told_[2].finished);
  EXPECT_EQ(told_[2].bytes, 101u);
}

TEST_F(TransferMeterTest, AFailedTransferIsNotReportedAsFinished) {
  move(3, 50);
  meter_.reset();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_FALSE(told_[0].finished);
}

TEST_F(TransferMeterTest, NobodyNeedsToListen) {
  const TellProgress nobody;
  TransferMeter meter(nobody, about_);
  meter.add(1);
}

}  // namespace
}  // namespace berth
