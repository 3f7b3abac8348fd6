#include "storage/google/gcs_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "storage/base/checksum.h"
#include "storage/google/gcs_requests.h"
#include "tests/support/remote_storage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Tests the transport alone. It makes one attempt for each request.
class GcsStorageTest : public testing::Test {
 protected:
  Uri at(const std::string& name) const { return Uri::parse("gs://bucket/" + name); }

  std::string get(const std::string& name, const ReadOptions& options = {}) {
    return std::string(as_text(read_all(*storage_->open(at(name), options), 1 << 30, name)));
  }

  Stat put(const std::string& name, std::string_view text, const WriteOptions& options = {}) {
    const auto sink = storage_->create(at(name), options);
    sink->write(as_bytes(text));
    return sink->close();
  }

  std::vector<std::string> names(const std::string& prefix) {
    std::vector<std::string> found;
    for (const Stat& stat : storage_->list(Uri::parse(prefix))) found.push_back(stat.name);
    return found;
  }

  void fail_once(const GcsFault& fault, std::optional<GcsCall> call = {}) {
    gcs_.faults().add({.fault = fault, .call = call});
  }

  FakeGcs gcs_{{.page_size = 2, .empty_middle_page = true}};
  std::unique_ptr<HttpClient> http_ = make_http_client({.stall_timeout_s = 2});
  std::unique_ptr<Credentials> nobody_ = anonymous_credentials();
  std::unique_ptr<Storage> storage_ = make_gcs_storage(gcs_.url(), *http_, *nobody_);
};

TEST_F(GcsStorageTest, ReadsWhatItWrote) {
  const Stat written = put("dir/a.txt", "hello");
  EXPECT_EQ(written.name, "gs://bucket/dir/a.txt");
  EXPECT_EQ(written.size, 5u);
  EXPECT_EQ(written.crc32c, crc32c(as_bytes("hello")));
  EXPECT_EQ(written.generation, gcs_.generation("dir/a.txt"));
  EXPECT_EQ(get("dir/a.txt"), "hello");
}

TEST_F(GcsStorageTest, NamesOfEveryKindArePercentEncoded) {
  for (const std::string name : {"a//b", "a b", "a+b", "a#b", "a?b=c&d", "a%25b", "\xc3\xa9",
                                 "a/b/", "..", "a/../b", "/x"}) {
    if (name.back() == '/') continue;
    put(name, name);
    EXPECT_EQ(gcs_.get(name), name);
    EXPECT_EQ(get(name), name);
    EXPECT_EQ(storage_->stat(at(name))->name, at(name).to_string());
  }
}

TEST_F(GcsStorageTest, EmptyObjectsAreWrittenAndRead) {
  put("empty", "");
  EXPECT_EQ(gcs_.get("empty"), "");
  EXPECT_EQ(get("empty"), "");
  EXPECT_EQ(get("empty", {.offset = 0, .length = 10}), "");
}

TEST_F(GcsStorageTest, ReadsRanges) {
  gcs_.put("digits", "0123456789");
  EXPECT_EQ(get("digits", {.offset = 3}), "3456789");
  EXPECT_EQ(get("digits", {.offset = 3, .length = 4}), "3456");
  EXPECT_EQ(get("digits", {.offset = 8, .length = 40}), "89");
  EXPECT_EQ(get("digits", {.offset = 10}), "");
  EXPECT_EQ(get("digits", {.offset = 2, .length = 0}), "");
}

TEST_F(GcsStorageTest, AWholeObjectInsteadOfARangeIsCutToIt) {
  gcs_.put("digits", "0123456789");
  fail_once(GcsFault::sends_whole_object(), GcsCall::kDownload);
  EXPECT_EQ(get("digits", {.offset = 3, .length = 4}), "3456");
}

TEST_F(GcsStorageTest, AnotherGenerationIsNotFound) {
  const uint64_t first = gcs_.put("a", "1");
  gcs_.put("a", "2");
  EXPECT_THAT([&] { get("a", {.generation = first}); }, ThrowsCode(Code::kNotFound, "replaced"));
}

TEST_F(GcsStorageTest, StatTellsWhatTheStoreKnows) {
  const uint64_t generation = gcs_.put("a", "12345", "gzip");
  const std::optional<Stat> stat = storage_->stat(at("a"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->size, 5u);
  EXPECT_EQ(stat->generation, generation);
  EXPECT_EQ(stat->crc32c, crc32c(as_bytes("12345")));
  EXPECT_EQ(stat->content_encoding, "gzip");
  EXPECT_FALSE(storage_->stat(at("b")));
}

TEST_F(GcsStorageTest, ListsAllPagesAnEmptyOneInTheMiddleToo) {
  for (const char* name : {"d/3", "d/1", "d/x/2", "dd", "d/4", "d/5", "c"}) gcs_.put(name, name);
  EXPECT_THAT(names("gs://bucket/d"),
              ElementsAre("gs://bucket/d/1", "gs://bucket/d/3", "gs://bucket/d/4",
                          "gs://bucket/d/5", "gs://bucket/d/x/2"));
  EXPECT_THAT(names("gs://bucket/none"), IsEmpty());
  EXPECT_EQ(names("gs://bucket").size(), 7u);
}

TEST_F(GcsStorageTest, ListsNoMorePagesThanIsEnough) {
  for (char name = 'a'; name <= 'z'; ++name) gcs_.put(std::string(1, name), "");
  EXPECT_EQ(storage_->list(Uri::parse("gs://bucket"), 26).size(), 26u);
  const size_t few = storage_->list(Uri::parse("gs://bucket"), 3).size();
  EXPECT_GE(few, 3u);
  EXPECT_LT(few, 26u);
}

TEST(GcsListing, OneWithoutEndIsAFailureOfTheServer) {
  using Endless = FakeGcsOptions::Endless;
  for (const auto& [endless, says] :
       {std::pair(Endless::kRepeated, "comes back to a page"),
        std::pair(Endless::kEmpty, "goes on with pages of few objects")}) {
    FakeGcs gcs({.endless = endless});
    gcs.put("a", "a");
    const auto http = make_http_client({.stall_timeout_s = 2});
    const auto nobody = anonymous_credentials();
    const auto storage = make_gcs_storage(gcs.url(), *http, *nobody);
    EXPECT_THAT([&] { storage->list(Uri::parse("gs://bucket")); },
                ThrowsCode(Code::kUnavailable, says));
  }
}

TEST(GcsListing, OneOfPagesWithOneObjectEachIsRefusedEarly) {
  const Uri prefix = Uri::parse("gs://bucket/data");
  PageGuard sparse, full;
  for (size_t page = 1; page <= 1000; ++page) sparse.check(std::to_string(page), page, prefix);
  EXPECT_THAT([&] { sparse.check("1001", 1001, prefix); },
              ThrowsCode(Code::kUnavailable, "goes on with pages of few objects"));
  for (size_t page = 1; page <= 2000; ++page) full.check(std::to_string(page), 1000 * page, prefix);
}

TEST(GcsListing, OneOfMillionsOfObjectsIsRefused) {
  const Uri prefix = Uri::parse("gs://bucket/data");
  PageGuard guard;
  guard.check("a", PageGuard::kMostObjects, prefix);
  EXPECT_THAT([&] { guard.check("b", PageGuard::kMostObjects + 1, prefix); },
              ThrowsCode(Code::kBadData, "more than 2000000 objects"));
}

TEST_F(GcsStorageTest, RemovesOneVersion) {
  const uint64_t first = gcs_.put("a", "1");
  gcs_.put("a", "2");
  EXPECT_THAT([&] { storage_->remove(at("a"), first); }, ThrowsCode(Code::kInUse));
  storage_->remove(at("a"));
  EXPECT_FALSE(gcs_.get("a"));
  storage_->remove(at("a"));  // is already absent, which is no error
}

TEST_F(GcsStorageTest, EveryWriteCarriesAPrecondition) {
  put("new", "1");
  put("new", "2");
  storage_->remove(at("new"));
  put("large", noise(9 * kMebibyte));
  for (const SeenRequest& request : gcs_.requests()) {
    const bool writes = request.call == GcsCall::kUpload ||
                        request.call == GcsCall::kSessionStart || request.call == GcsCall::kDelete;
    if (writes) {
      EXPECT_THAT(request.target, testing::HasSubstr("ifGenerationMatch="));
    }
  }
}

TEST_F(GcsStorageTest, CreateOnlyRefusesWhatIsThere) {
  put("a", "1", {.if_generation = 0});
  EXPECT_THAT([&] { put("a", "2", {.if_generation = 0}); },
              ThrowsCode(Code::kInUse, "gs://bucket/a"));
  EXPECT_EQ(gcs_.get("a"), "1");
}

TEST_F(GcsStorageTest, AVersionThatChangedBetweenLookAndWriteIsNotReplaced) {
  gcs_.put("a", "1");
  const auto sink = storage_->create(at("a"));
  sink->write(as_bytes("mine"));
  gcs_.put("a", "theirs");
  EXPECT_THAT([&] { sink->close(); }, ThrowsCode(Code::kInUse));
  EXPECT_EQ(gcs_.get("a"), "theirs");
}

TEST_F(GcsStorageTest, UpTo8MebibytesAreOneRequest) {
  put("a", noise(8 * kMebibyte));
  EXPECT_EQ(gcs_.count(GcsCall::kUpload), 1u);
  EXPECT_EQ(gcs_.count(GcsCall::kSessionStart), 0u);
}

TEST_F(GcsStorageTest, LargerObjectsGoInChunks) {
  const std::string bytes = noise(40 * kMebibyte);
  const auto sink = storage_->create(at("a"));
  for (size_t begin = 0; begin < bytes.size(); begin += 3000001) {
    sink->write(as_bytes(std::string_view(bytes).substr(begin, 3000001)));
  }
  EXPECT_EQ(sink->close().crc32c, crc32c(as_bytes(bytes)));
  EXPECT_EQ(gcs_.get("a"), bytes);
  EXPECT_EQ(gcs_.count(GcsCall::kSessionStart), 1u);
  EXPECT_EQ(gcs_.count(GcsCall::kChunk), 3u);
}

TEST_F(GcsStorageTest, AnUnclosedSinkPublishesNothing) {
  storage_->create(at("a"))->write(as_bytes(noise(20 * kMebibyte)));
  EXPECT_FALSE(gcs_.get("a"));
}

TEST_F(GcsStorageTest, ALostAnswerOfASmallUploadIsFoundByItsMark) {
  fail_once(GcsFault::loses_answer(), GcsCall::kUpload);
  const auto sink = storage_->create(at("a"));
  sink->write(as_bytes("hello"));
  try {
    sink->close();  // libcurl may have repeated the request on a new connection
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), Code::kUnavailable);
    sink->close();
  }
  EXPECT_EQ(gcs_.get("a"), "hello");
  const uint64_t generation = *gcs_.generation("a");
  EXPECT_EQ(storage_->stat(at("a"))->generation, generation);
}

TEST_F(GcsStorageTest, ALostFinalAnswerIsAskedOfTheSession) {
  const std::string bytes = noise(20 * kMebibyte);
  gcs_.faults().add({.fault = GcsFault::loses_answer(), .call = GcsCall::kChunk, .skip = 1});
  const auto sink = storage_->create(at("a"));
  sink->write(as_bytes(bytes));
  EXPECT_THAT([&] { sink->close(); }, ThrowsCode(Code::kUnavailable));
  EXPECT_EQ(sink->close().size, bytes.size());
  EXPECT_EQ(gcs_.count(GcsCall::kStatusQuery), 1u);
  EXPECT_EQ(gcs_.get("a"), bytes);
}

TEST_F(GcsStorageTest, LostBytesOfAChunkAreSentAgain) {
  const std::string bytes = noise(20 * kMebibyte);
  for (const uint64_t kept : {uint64_t{0}, uint64_t{1} << 18, uint64_t{8} << 20}) {
    fail_once(GcsFault::keeps_then_resets(kept), GcsCall::kChunk);
    const auto sink = storage_->create(at("a"));
    sink->write(as_bytes(bytes));
    EXPECT_THAT([&] { sink->close(); }, ThrowsCode(Code::kUnavailable));
    sink->close();
    EXPECT_EQ(gcs_.get("a"), bytes);
  }
}

TEST_F(GcsStorageTest, AFailedChunkIsReportedWithTheNextOne) {
  const std::string bytes = noise(40 * kMebibyte);
  fail_once(GcsFault::answers(503), GcsCall::kChunk);
  const auto sink = storage_->create(at("a"));
  sink->write(as_bytes(bytes).first(17 * kMebibyte));
  EXPECT_THAT([&] { sink->write(as_bytes(bytes).subspan(17 * kMebibyte)); },
              ThrowsCode(Code::kUnavailable));
  sink->write({});
  sink->close();
  EXPECT_EQ(gcs_.get("a"), bytes);
}

TEST_F(GcsStorageTest, ASessionGoneAtItsFirstChunkIsStartedAgain) {
  const std::string bytes = noise(20 * kMebibyte);
  fail_once(GcsFault::loses_session(410), GcsCall::kChunk);
  const auto sink = storage_->create(at("a"));
  sink->write(as_bytes(bytes));
  EXPECT_THAT([&] { sink->close(); }, ThrowsCode(Code::kUnavailable));
  sink->close();
  EXPECT_EQ(gcs_.get("a"), bytes);
}

TEST_F(GcsStorageTest, ASessionGoneLaterIsLost) {
  gcs_.faults().add({.fault = GcsFault::loses_session(404), .call = GcsCall::kChunk, .skip = 1});
  const auto sink = storage_->create(at("a"));
  sink->write(as_bytes(noise(20 * kMebibyte)));
  EXPECT_THROW(sink->close(), UploadLost);
  EXPECT_FALSE(gcs_.get("a"));
}

TEST_F(GcsStorageTest, DamageDuringAnUploadIsNeverPublished) {
  fail_once(GcsFault::damages_upload_at(3), GcsCall::kUpload);
  EXPECT_THROW(put("a", "hello"), Error);
  EXPECT_FALSE(gcs_.get("a"));
  fail_once(GcsFault::damages_upload_at(3), GcsCall::kChunk);
  EXPECT_THROW(put("b", noise(20 * kMebibyte)), Error);
  EXPECT_FALSE(gcs_.get("b"));
}

TEST_F(GcsStorageTest, EveryStatusHasItsCode) {
  gcs_.put("a", "1");
  const std::pair<int, Code> expected[] = {
      {400, Code::kBadData},     {401, Code::kNotPermitted}, {403, Code::kNotPermitted},
      {408, Code::kUnavailable}, {409, Code::kBadData},      {412, Code::kInUse},
      {429, Code::kUnavailable}, {500, Code::kUnavailable},  {501, Code::kBadData},
      {502, Code::kUnavailable}, {503, Code::kUnavailable},  {504, Code::kUnavailable}};
  for (const auto& [status, code] : expected) {
    fail_once(GcsFault::answers(status));
    EXPECT_THAT([&] { get("a"); }, ThrowsCode(code, "gs://bucket/a")) << status;
  }
}

TEST_F(GcsStorageTest, RetryAfterIsPassedOn) {
  fail_once(GcsFault::answers(429, 7));
  try {
    get("a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.pause_s(), 7);
  }
}

TEST_F(GcsStorageTest, AMissingPermissionIsNamed) {
  gcs_.deny("storage.objects.get");
  gcs_.deny("storage.objects.list");
  EXPECT_THAT([&] { storage_->stat(at("a")); },
              ThrowsCode(Code::kNotPermitted, "storage.objects.get is needed"));
  EXPECT_THAT([&] { storage_->list(at("a")); },
              ThrowsCode(Code::kNotPermitted, "storage.objects.list is needed"));
  gcs_.allow("storage.objects.get");
  gcs_.deny("storage.objects.create");
  EXPECT_THAT([&] { put("a", "1"); }, ThrowsCode(Code::kNotPermitted, "storage.objects.create"));
}

TEST_F(GcsStorageTest, AMissingBucketIsNotReportedAsAMissingObject) {
  const Uri uri = Uri::parse("gs://other/a");
  EXPECT_THAT([&] { storage_->stat(uri); }, ThrowsCode(Code::kNotFound, "no such bucket"));
  EXPECT_THAT([&] { storage_->open(uri); }, ThrowsCode(Code::kNotFound, "no such bucket"));
  EXPECT_THAT([&] { storage_->list(uri); }, ThrowsCode(Code::kNotFound, "no such bucket"));
  EXPECT_THAT([&] { storage_->create(uri); }, ThrowsCode(Code::kNotFound, "no such bucket"));
}

TEST_F(GcsStorageTest, SilenceIsAStall) {
  gcs_.put("a", "0123456789");
  fail_once(GcsFault::stalls_at(5, 5), GcsCall::kDownload);
  EXPECT_THAT([&] { get("a"); }, ThrowsCode(Code::kUnavailable, "stalled"));
}

TEST_F(GcsStorageTest, BytesBeforeACutAreReturned) {
  gcs_.put("a", "0123456789");
  fail_once(GcsFault::cuts_at(5), GcsCall::kDownload);
  const auto source = storage_->open(at("a"));
  std::array<std::byte, 100> buffer;
  EXPECT_EQ(source->read(buffer), 5u);
  EXPECT_THAT([&] { source->read(buffer); }, ThrowsCode(Code::kUnavailable));
}

TEST_F(GcsStorageTest, AStopTokenEndsAWait) {
  gcs_.put("a", "0123456789");
  fail_once(GcsFault::stalls(30), GcsCall::kDownload);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT([&] { get("a", {.stop = stop.get_token()}); }, ThrowsCode(Code::kStopped));
}

TEST_F(GcsStorageTest, ABucketAloneIsNoObject) {
  EXPECT_THAT([&] { storage_->open(Uri::parse("gs://bucket")); }, ThrowsCode(Code::kUsage));
  EXPECT_THAT([&] { storage_->create(Uri::parse("gs://bucket/")); }, ThrowsCode(Code::kUsage));
}

TEST(GcsCrc, IsBigEndianBase64) {
  EXPECT_EQ(gcs_crc(0xe3069283), "4waSgw==");
  EXPECT_EQ(parse_gcs_crc("4waSgw=="), 0xe3069283u);
  for (const char* bad : {"", "4waSgw=", "4waSg!==", "AAAAAAAA", "4waSgwAA"}) {
    EXPECT_FALSE(parse_gcs_crc(bad)) << bad;
  }
}

TEST(GcsObject, GarbageIsNoObject) {
  const Uri bucket = Uri::parse("gs://b");
  for (const char* bad :
       {"", "{", "[]", "null", "{\"name\":\"a\"}", "{\"name\":1,\"generation\":2}",
        "{\"name\":\"a\",\"generation\":\"x\"}"}) {
    EXPECT_THAT([&] { parse_gcs_object(bad, bucket); }, ThrowsCode(Code::kUnavailable)) << bad;
  }
}

}  // namespace
}  // namespace berth
