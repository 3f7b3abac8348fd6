#include <gtest/gtest.h>

#include <thread>

#include "storage/base/crc32c.h"
#include "storage/store_object.h"
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

}  // namespace
}  // namespace berth
