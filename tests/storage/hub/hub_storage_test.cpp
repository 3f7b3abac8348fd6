#include "storage/hub/hub_storage.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "storage/base/text.h"
#include "storage/hub/content_hash.h"
#include "storage/open_storage.h"
#include "storage/whole_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/http_server.h"
#include "tests/support/remote_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

const std::string kFirst(40, 'a'), kSecond(40, 'b');  // commits
const std::string kToken = "hf_aVerySecretToken0123456789";

std::string hash_of(const std::string& content, bool is_large) {
  ContentHash hash(std::string(is_large ? 64 : 40, '0'), content.size());
  hash.update(as_bytes(content));
  return hash.finish();
}

// A hub with one model, whose large files lie on another host at signed addresses.
class HubStorageTest : public testing::Test {
 protected:
  HubStorageTest() {
    options_.hub = {.endpoint = hub_.url(), .cache_dir = cache_ / "hub"};
    clock_.attach_to(options_.retry);
  }

  std::unique_ptr<Storage> storage() { return open_storage(options_); }

  std::string get(Storage& storage, const std::string& uri) {
    return std::string(as_text(read_all(*storage.open(Uri::parse(uri)), 1 << 24, uri)));
  }

  std::string listing() {
    std::string files;
    for (const auto& [name, content] : files_) {
      const bool is_large = content.size() > 1000;
      const std::string hash = hash_of(content, is_large);
      files +=
          cat(files.empty() ? "" : ",", "{\"rfilename\":\"", name, "\",\"size\":", content.size(),
              ",\"blobId\":\"", is_large ? std::string(40, '7') : hash, "\"");
      if (is_large) {
        files += cat(",\"lfs\":{\"sha256\":\"", hash, "\",\"size\":", content.size(),
                     ",\"pointerSize\":135}");
      }
      files += "}";
    }
    return cat("{\"id\":\"org/name\",\"sha\":\"", commit_, "\",\"siblings\":[", files, "]}");
  }

  ServedAnswer answer_of_hub(const ServedRequest& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.path);
    if (is_down_) return {.status = 503};
    if (is_private_ && request.header("authorization") != "Bearer " + kToken) {
      return {.status = 401, .headers = {{"X-Error-Code", "RepoNotFound"}}};
    }
    if (request.path == "/api/models/old-name/revision/main") {
      return {.status = 307, .headers = {{"Location", "/api/models/org/name/revision/main"}}};
    }
    if (request.path == "/api/models/org/name/revision/main" ||
        request.path == "/api/models/org/name/revision/v1.0") {
      EXPECT_EQ(request.parameter("blobs"), "true");
      return {.body = listing_.empty() ? listing() : listing_};
    }
    if (request.path == "/api/models/org/gated/revision/main") {
      return {.status = 403, .headers = {{"X-Error-Code", "GatedRepo"}}};
    }
    if (request.path.starts_with("/api/models/org/name/")) {
      return {.status = 404, .headers = {{"X-Error-Code", "RevisionNotFound"}}};
    }
    for (const char* repository : {"/org/name/resolve/", "/old-name/resolve/"}) {
      const std::string prefix = cat(repository, commit_, "/");
      if (!request.path.starts_with(prefix)) continue;
      const std::string name = percent_decoded(request.path.substr(prefix.size()));
      const std::string& content = files_.at(name);
      if (content.size() <= 1000) return {.body = content};
      return {.status = 302,
              .headers = {{"Location", cat(bytes_.url(), "/", name, "?Signature=s3cr3t")}}};
    }
    return {.status = 404, .headers = {{"X-Error-Code", "RepoNotFound"}}};
  }

  ServedAnswer answer_of_bytes(const ServedRequest& request) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(request.header("authorization"), std::nullopt);
    EXPECT_EQ(request.parameter("Signature"), "s3cr3t");
    ranges_.push_back(request.header("range").value_or(""));
    std::string content = files_.at(request.path.substr(1));
    if (wrong_answers_ > 0) {
      --wrong_answers_;
      content[content.size() / 2] ^= 1;
    }
    ServedAnswer answer{.body = content};
    size_t begin = 0;
    if (!ignores_ranges_ && std::sscanf(ranges_.back().c_str(), "bytes=%zu-", &begin) == 1) {
      answer.status = 206;
      answer.headers.emplace_back(
          "Content-Range", cat("bytes ", begin, "-", content.size() - 1, "/", content.size()));
      answer.body = content.substr(begin);
    }
    answer.fault.cut_header = ranges_.size() == cut_request_;
    if (cuts_ > 0) {
      --cuts_;
      answer.fault.cut_after = 3000;
    }
    return answer;
  }

  size_t asked_for(std::string_view part) {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const std::string& path : asked_) count += path.find(part) != path.npos;
    return count;
  }

  std::map<std::string, std::string> files_ = {{"config.json", "{\"model_type\": \"bert\"}"},
                                               {"model.safetensors", noise(10000)},
                                               {"sub folder/a+b.txt", "text"}};
  ScratchDirectory cache_;
  SleepClock clock_;
  StorageOptions options_;
  std::mutex mutex_;  // guards what follows, which the servers' threads use
  std::string commit_ = kFirst, listing_;
  bool is_private_ = false, is_down_ = false, ignores_ranges_ = false;
  int wrong_answers_ = 0, cuts_ = 0;
  size_t cut_request_ = 0;  // the request for bytes, from 1, whose answer ends within its header
  std::vector<std::string> asked_, ranges_;
  HttpServer bytes_{[this](const ServedRequest& request) { return answer_of_bytes(request); }};
  HttpServer hub_{[this](const ServedRequest& request) { return answer_of_hub(request); }};
};

TEST_F(HubStorageTest, ReadsFilesByName) {
  const auto hub = storage();
  EXPECT_EQ(get(*hub, "hf://org/name/config.json"), files_["config.json"]);
  EXPECT_EQ(get(*hub, "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  EXPECT_EQ(get(*hub, "hf://org/name/sub folder/a+b.txt"), "text");
  EXPECT_EQ(asked_for("/revision/"), 1u) << "the files are looked up once";
}

TEST_F(HubStorageTest, FollowsARepositoryToItsNewName) {
  is_private_ = true;  // the token goes along, because the host is the same
  options_.hub.token = kToken;
  EXPECT_EQ(get(*storage(), "hf://old-name@main/config.json"), files_["config.json"]);
}

TEST_F(HubStorageTest, ListsAndDescribesFiles) {
  const auto hub = storage();
  const std::vector<Stat> files = hub->list(Uri::parse("hf://org/name"));
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[1].name, "hf://org/name/model.safetensors");
  EXPECT_EQ(files[1].size, 10000u);
  EXPECT_EQ(hub->list(Uri::parse("hf://org/name/sub folder")).size(), 1u);
  EXPECT_TRUE(hub->list(Uri::parse("hf://org/name/sub")).empty());
  EXPECT_EQ(hub->stat(Uri::parse("hf://org/name/vocab.txt")), std::nullopt);
  EXPECT_EQ(hub->stat(Uri::parse("hf://org/name")), std::nullopt);
  EXPECT_EQ(hub->stat(Uri::parse("hf://org/name/config.json"))->generation, files[0].generation);
  EXPECT_EQ(asked_for("/resolve/"), 0u);
  EXPECT_THAT([&] { get(*hub, "hf://org/name/vocab.txt"); }, ThrowsCode(Code::kNotFound));
  EXPECT_THAT([&] { hub->create(Uri::parse("hf://org/name/x")); }, ThrowsCode(Code::kUsage));
}

TEST_F(HubStorageTest, ReadsAPartOfAFileAndMapsIt) {
  const auto hub = storage();
  const auto part =
      hub->open(Uri::parse("hf://org/name/model.safetensors"), {.offset = 100, .length = 50});
  EXPECT_EQ(as_text(read_all(*part, 100, "part")), files_["model.safetensors"].substr(100, 50));
  const auto mapped = hub->open(Uri::parse("hf://org/name/model.safetensors"))->map();
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(mapped->size(), 10000u);
}

TEST_F(HubStorageTest, KeepsFilesAsHuggingfaceHubDoes) {
  get(*storage(), "hf://org/name@v1.0/model.safetensors");
  const fs::path root = fs::path(options_.hub.cache_dir) / "models--org--name";
  const std::string hash = hash_of(files_["model.safetensors"], true);
  EXPECT_EQ(read_text(root / "refs/v1.0"), kFirst);
  EXPECT_EQ(read_text(root / "blobs" / hash), files_["model.safetensors"]);
  EXPECT_EQ(fs::read_symlink(root / "snapshots" / kFirst / "model.safetensors"),
            fs::path("../../blobs") / hash);
  EXPECT_FALSE(fs::exists(root / "blobs" / (hash + ".incomplete")));
  get(*storage(), "hf://org/name/sub folder/a+b.txt");
  EXPECT_EQ(read_text(root / "snapshots" / kFirst / "sub folder/a+b.txt"), "text");
}

TEST_F(HubStorageTest, DoesNotFetchWhatTheCacheHolds) {
  get(*storage(), "hf://org/name/model.safetensors");
  get(*storage(), "hf://org/name/model.safetensors");
  EXPECT_EQ(asked_for("/resolve/"), 1u);
  commit_ = kSecond;  // a commit that changed another file
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  EXPECT_EQ(asked_for("/resolve/"), 1u) << "the content has the same hash";
}

TEST_F(HubStorageTest, IsReadWithoutANetworkFromTheCache) {
  get(*storage(), "hf://org/name/config.json");
  options_.hub.offline = true;
  const size_t asked = asked_.size();
  const auto offline = storage();
  EXPECT_EQ(get(*offline, "hf://org/name/config.json"), files_["config.json"]);
  EXPECT_EQ(get(*offline, "hf://org/name@" + kFirst + "/config.json"), files_["config.json"]);
  EXPECT_EQ(offline->list(Uri::parse("hf://org/name")).size(), 3u);
  EXPECT_THAT([&] { get(*offline, "hf://org/name/model.safetensors"); },
              ThrowsCode(Code::kNotFound, "hf download org/name"));
  EXPECT_THAT([&] { get(*offline, "hf://org/other/config.json"); },
              ThrowsCode(Code::kNotFound, "hf download org/other"));
  EXPECT_EQ(asked_.size(), asked);
}

TEST_F(HubStorageTest, ANamedPipeInTheCacheStopsNothing) {
  get(*storage(), "hf://org/name/config.json");
  const fs::path pipe = fs::path(options_.hub.cache_dir) / "models--org--name/refs/waits";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  options_.hub.offline = true;
  EXPECT_THAT([&] { get(*storage(), "hf://org/name@waits/config.json"); },
              ThrowsCode(Code::kNotFound, "hf download org/name"));
}

TEST_F(HubStorageTest, FallsBackToTheCacheIfTheHubIsDown) {
  get(*storage(), "hf://org/name/config.json");
  is_down_ = true;
  const CapturedLog log;
  EXPECT_EQ(get(*storage(), "hf://org/name/config.json"), files_["config.json"]);
  EXPECT_THAT(log.warnings(), testing::HasSubstr("using commit aaaaaaaa from the cache"));
  EXPECT_THAT([&] { get(*storage(), "hf://org/name@v1.0/config.json"); },
              ThrowsCode(Code::kUnavailable, "hf download org/name --revision v1.0"));
}

TEST_F(HubStorageTest, APartInTheCacheIsNotTheRepositoryIfTheHubIsDown) {
  get(*storage(), "hf://org/name/config.json");
  is_down_ = true;
  const auto later = storage();
  EXPECT_EQ(later->list(Uri::parse("hf://org/name")).size(), 3u);
  EXPECT_THAT([&] { get(*later, "hf://org/name/model.safetensors"); },
              ThrowsCode(Code::kUnavailable, "HTTP 503"));
  is_down_ = false;
  EXPECT_EQ(get(*later, "hf://org/name/model.safetensors"), files_["model.safetensors"]);
}

TEST_F(HubStorageTest, WarnsOfACacheWithoutAListOfItsFiles) {
  get(*storage(), "hf://org/name/config.json");
  const fs::path hub = options_.hub.cache_dir;
  fs::remove_all(hub / "models--org--name/.berth");
  fs::copy(hub / "models--org--name", hub / "datasets--org--name",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  options_.hub.offline = true;
  const CapturedLog log;
  EXPECT_EQ(storage()->list(Uri::parse("hf://org/name")).size(), 1u);
  EXPECT_EQ(storage()->list(Uri::parse("hf://datasets/org/name")).size(), 1u);
  EXPECT_THAT(log.warnings(), testing::HasSubstr("files that are not there count as absent"));
  std::ofstream(hub / "datasets--org--name/blobs" / cat(kSecond, ".incomplete")) << "begin";
  EXPECT_THAT([&] { storage()->list(Uri::parse("hf://datasets/org/name")); },
              ThrowsCode(Code::kNotFound, "hf download --repo-type dataset org/name"));
}

TEST_F(HubStorageTest, SendsTheTokenToTheHubAlone) {
  is_private_ = true;
  EXPECT_THAT([&] { get(*storage(), "hf://org/name/config.json"); },
              ThrowsCode(Code::kNotFound, "HF_TOKEN"));
  options_.hub.token_file = cache_ / "token";
  write_text(fs::path(options_.hub.token_file), kToken + "\n");
  // answer_of_bytes() fails the test if it gets the token.
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  options_.hub.token = "hf_another";
  EXPECT_THAT([&] { get(*storage(), "hf://org/name@v1.0/config.json"); },
              ThrowsCode(Code::kNotPermitted, "refuses the token"));
}

TEST_F(HubStorageTest, SaysWhyARepositoryCannotBeRead) {
  const auto hub = storage();
  EXPECT_THAT([&] { get(*hub, "hf://org/gated/config.json"); },
              ThrowsCode(Code::kNotPermitted, "accept its terms"));
  EXPECT_THAT([&] { get(*hub, "hf://org/name@v9/config.json"); },
              ThrowsCode(Code::kNotFound, "no such revision"));
  EXPECT_THAT([&] { get(*hub, "hf://org/none/config.json"); },
              ThrowsCode(Code::kNotFound, "no such model"));
}

TEST_F(HubStorageTest, GoesOnAfterAnInterruption) {
  cuts_ = 2;
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  EXPECT_EQ(ranges_, (std::vector<std::string>{"", "bytes=3000-", "bytes=6000-"}));
}

TEST_F(HubStorageTest, BeginningAnewIsNoProgress) {
  cuts_ = 1000;
  ignores_ranges_ = true;
  EXPECT_THAT([&] { get(*storage(), "hf://org/name/model.safetensors"); },
              ThrowsCode(Code::kUnavailable, "without progress"));
  EXPECT_LT(ranges_.size(), 100u);
}

TEST_F(HubStorageTest, GoesOnInAnotherProcess) {
  const fs::path blobs = fs::path(options_.hub.cache_dir) / "models--org--name/blobs";
  const std::string hash = hash_of(files_["model.safetensors"], true);
  fs::create_directories(blobs);
  write_text(blobs / (hash + ".incomplete"), files_["model.safetensors"].substr(0, 4321));
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  EXPECT_EQ(ranges_, std::vector<std::string>{"bytes=4321-"});
}

TEST_F(HubStorageTest, StartsAgainAfterAWrongBeginning) {
  const fs::path blobs = fs::path(options_.hub.cache_dir) / "models--org--name/blobs";
  const std::string hash = hash_of(files_["model.safetensors"], true);
  fs::create_directories(blobs);
  write_text(blobs / (hash + ".incomplete"), std::string(4321, 'x'));
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  EXPECT_EQ(ranges_, (std::vector<std::string>{"bytes=4321-", ""}));
}

TEST_F(HubStorageTest, ComparesTheContentWithItsHash) {
  wrong_answers_ = 1;
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  fs::remove_all(options_.hub.cache_dir);
  wrong_answers_ = 100;
  EXPECT_THAT([&] { get(*storage(), "hf://org/name/model.safetensors"); },
              ThrowsCode(Code::kUnavailable, "checksum"));
  EXPECT_EQ(wrong_answers_, 98) << "two attempts";
  EXPECT_FALSE(fs::exists(fs::path(options_.hub.cache_dir) / "models--org--name/snapshots"));
}

TEST_F(HubStorageTest, ALostConnectionAfterAWrongDownloadIsRetried) {
  wrong_answers_ = 1;
  cut_request_ = 2;
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  EXPECT_EQ(ranges_, (std::vector<std::string>{"", "", ""}));
}

TEST_F(HubStorageTest, LeavesOutNamesThatLeadElsewhere) {
  files_ = {{"../../escape", "x"}, {"/etc/x", "x"}, {"a/../b", "x"}, {"good.txt", "good"}};
  const auto hub = storage();
  ASSERT_EQ(hub->list(Uri::parse("hf://org/name")).size(), 1u);
  EXPECT_EQ(get(*hub, "hf://org/name/good.txt"), "good");
}

TEST_F(HubStorageTest, RefusesAnswersThatAreNotAHubs) {
  for (const char* body :
       {"", "no", "[]", "{}", "{\"sha\":\"../x\",\"siblings\":[]}",
        "{\"sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
        "{\"sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"siblings\":[7]}",
        "{\"sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"siblings\":[{\"rfilename\":\"a\"}]"
        "}",
        "{\"sha\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"siblings\":[{\"rfilename\":\"a\","
        "\"size\":-1,\"blobId\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}]}"}) {
    listing_ = *body == '\0' ? " " : body;
    EXPECT_THAT([&] { storage()->list(Uri::parse("hf://org/name")); }, ThrowsCode(Code::kBadData))
        << body;
  }
}

TEST_F(HubStorageTest, RefusesAListWithoutEnd) {
  listing_ = std::string((64 << 20) + 1, ' ');
  EXPECT_THAT([&] { storage()->list(Uri::parse("hf://org/name")); }, ThrowsCode(Code::kBadData));
}

TEST_F(HubStorageTest, WorksWithoutACacheThatCanBeWritten) {
  write_text(cache_.path() / "file", "");
  options_.hub.cache_dir = cache_ / "file/hub";  // no directory can be made there
  const CapturedLog log;
  EXPECT_EQ(get(*storage(), "hf://org/name/model.safetensors"), files_["model.safetensors"]);
  EXPECT_THAT(log.lines(), testing::HasSubstr("are not cached"));
}

TEST_F(HubStorageTest, DoesNotWriteThroughALink) {
  const fs::path blobs = fs::path(options_.hub.cache_dir) / "models--org--name/blobs";
  const std::string hash = hash_of(files_["model.safetensors"], true);
  fs::create_directories(blobs);
  write_text(cache_.path() / "victim", "precious");
  fs::create_symlink(cache_.path() / "victim", blobs / (hash + ".incomplete"));
  EXPECT_ANY_THROW(get(*storage(), "hf://org/name/model.safetensors"));
  EXPECT_EQ(read_text(cache_.path() / "victim"), "precious");
}

}  // namespace
}  // namespace berth
