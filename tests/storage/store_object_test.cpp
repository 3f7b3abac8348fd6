#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/lossy_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class StoreObjectTest : public testing::Test {
 protected:
  Stat store(Storage& storage, const WriteOptions& options = {}) {
    return store_object(
        storage, uri_,
        [this](ByteSink& sink) {
          ++fills_;
          sink.write(as_bytes("some "));
          sink.write(as_bytes("bytes"));
        },
        options);
  }
  std::string content() { return read_text(*local_, uri_).value_or("absent"); }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> local_ = make_local_storage();
  const Uri uri_ = Uri::parse(scratch_ / "object");
  int fills_ = 0;
};

TEST_F(StoreObjectTest, PublishesWhatTheCallbackWrites) {
  EXPECT_EQ(store(*local_).size, 10u);
  EXPECT_EQ(content(), "some bytes");
  EXPECT_EQ(fills_, 1);
}

TEST_F(StoreObjectTest, ALostUploadIsWrittenAgainFromItsStart) {
  LossyStorage storage(*local_, 2);
  store(storage);
  EXPECT_EQ(content(), "some bytes");
  EXPECT_EQ(fills_, 3);
}

TEST_F(StoreObjectTest, AnUploadLostThreeTimesIsGivenUp) {
  LossyStorage storage(*local_, 3);
  EXPECT_THAT([&] { store(storage); }, ThrowsCode(Code::kUnavailable, uri_.to_string()));
  EXPECT_EQ(content(), "absent");
  EXPECT_EQ(fills_, 3);
}

TEST_F(StoreObjectTest, OtherFailuresAreFinal) {
  store(*local_);
  EXPECT_THAT([&] { store(*local_, {.if_generation = 0, .size_hint = {}}); },
              ThrowsCode(Code::kInUse));
  EXPECT_EQ(fills_, 1);
}

TEST_F(StoreObjectTest, ACallbackThatThrowsLeavesNothing) {
  const auto fill = [](ByteSink& sink) {
    sink.write(as_bytes("half"));
    throw Error(Code::kStopped, "stopped");
  };
  EXPECT_THAT([&] { store_object(*local_, uri_, fill); }, ThrowsCode(Code::kStopped));
  EXPECT_EQ(content(), "absent");
}

TEST_F(StoreObjectTest, WhatCanBeComputedOnlyOnceIsKeptForALostUpload) {
  LossyStorage storage(*local_, 2);
  const std::string large(size_t{3} << 20, 'x');  // more than is written at once
  const Stat stat = store_object_once(storage, uri_, [&](ByteSink& sink) {
    ++fills_;
    sink.write(as_bytes("some "));
    sink.write(as_bytes(large));
    sink.write(as_bytes("bytes"));
  });
  EXPECT_EQ(stat.size, large.size() + 10);
  EXPECT_EQ(content(), "some " + large + "bytes");
  EXPECT_EQ(fills_, 1);
}

class WholeFileTest : public StoreObjectTest {};

// A storage whose sources cannot be mapped.
class FarStorage final : public Storage {
 public:
  std::unique_ptr<ByteSource> open(const Uri&, const ReadOptions&) override {
    return std::make_unique<MemorySource>(as_bytes("far away"));
  }
  std::unique_ptr<ByteSink> create(const Uri&, const WriteOptions&) override { return nullptr; }
  std::optional<Stat> stat(const Uri&) override { return std::nullopt; }
  std::vector<Stat> list(const Uri&, size_t /*enough*/) override { return {}; }
  void remove(const Uri&, std::optional<Generation>) override {}
};

TEST_F(WholeFileTest, IsMappedOrRead) {
  store(*local_);
  EXPECT_EQ(as_text(WholeFile(*local_, uri_).bytes()), "some bytes");
  FarStorage far;
  EXPECT_EQ(as_text(WholeFile(far, Uri::parse("gs://bucket/object")).bytes()), "far away");
}

TEST_F(WholeFileTest, StaysValidWhenTheFileIsReplaced) {
  store(*local_);
  const WholeFile file(*local_, uri_);
  write_text(*local_, uri_, "others");
  EXPECT_EQ(as_text(file.bytes()), "some bytes");
}

TEST_F(WholeFileTest, OfADirectoryOrNothingIsAnError) {
  EXPECT_THAT([&] { WholeFile(*local_, uri_); }, ThrowsCode(Code::kNotFound));
  EXPECT_THAT([&] { WholeFile(*local_, Uri::parse(scratch_.path().string())); },
              ThrowsCode(Code::kBadData, "is a directory"));
}

}  // namespace
}  // namespace berth
