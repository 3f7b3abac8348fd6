#include "entrypoint/modes/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "storage/archived_storage.h"
#include "storage/base/error.h"
#include "storage/local_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

class FilesToFetch : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"data/a.csv", "data/parts/b.csv", "data/parts/c.json"}) {
      std::filesystem::create_directories((scratch_.path() / name).parent_path());
      write_text(scratch_.path() / name, name);
    }
    write_text(scratch_.path() / "x.tar", TarBytes().file("in/d.csv", "d").end());
  }
  std::vector<std::string> names(std::vector<std::string> places) {
    for (std::string& place : places) place = scratch_ / place;
    std::vector<std::string> names;
    for (const FileToFetch& file : files_to_fetch(*storage_, places)) names.push_back(file.name);
    return names;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_archived_storage(make_local_storage());
};

TEST_F(FilesToFetch, KeepTheirNames) {
  EXPECT_THAT(names({"data/a.csv", "data/parts/c.json"}), ElementsAre("a.csv", "c.json"));
}

TEST_F(FilesToFetch, KeepTheirPathsBelowAFolderOrInAnArchive) {
  EXPECT_THAT(names({"data"}), ElementsAre("a.csv", "parts/b.csv", "parts/c.json"));
  EXPECT_THAT(names({"data/parts/", "x.tar"}), ElementsAre("b.csv", "c.json", "in/d.csv"));
}

TEST_F(FilesToFetch, KeepTheirPathsBelowTheFixedPartOfAPattern) {
  EXPECT_THAT(names({"data/**/*.csv"}), ElementsAre("a.csv", "parts/b.csv"));
  EXPECT_THAT(names({"data/parts/[bc].*"}), ElementsAre("b.csv", "c.json"));
}

TEST_F(FilesToFetch, NeverReplaceEachOther) {
  EXPECT_THAT([&] { names({"data/parts/b.csv", "data/parts"}); }, ThrowsCode(Code::kUsage));
}

TEST_F(FilesToFetch, StayInTheirDirectory) {
  const std::unique_ptr<Storage> files = make_local_storage();
  BucketOfFiles bucket(*files, scratch_.path().string());
  const std::vector<std::string> places = {"gs://data/parts/**", "gs://data/parts/.*/**"};
  for (const char* name : {"../a", ".x/../../a", "/a", "b//a", "b/"}) {
    bucket.describe = [&](Stat& stat) { stat.name = std::string("gs://data/parts/") + name; };
    const bool hidden = name[0] == '.';  // only a pattern that spells the dot finds it
    EXPECT_THAT([&] { files_to_fetch(bucket, std::span(places).subspan(hidden ? 1 : 0, 1)); },
                ThrowsCode(std::string_view(name) == "b/" ? Code::kNotFound : Code::kBadData))
        << name;
  }
}

constexpr const char* kTime = R"("time": "2025-06-15T15:06:40.000Z")";  // 1.75e9
constexpr const char* kHere = R"("process": "boot pid:[1] 12 34")";

std::string beat(const std::string& phase, const std::string& process = kHere) {
  return "{" + std::string(kTime) + ", " + process + R"(, "phase": ")" + phase +
         R"(", "step": 7, "max_steps": 9})";
}

std::string judge(const std::string& text, double age_s = 30) {
  return judge_heartbeat(
      text, {.now_s = 1.75e9 + age_s, .max_age_s = 60, .is_running = [](std::string_view process) {
               return process == "boot pid:[1] 12 34";
             }});
}

TEST(HeartbeatCheck, TellsWhatALivingJobDoes) {
  EXPECT_EQ(judge(beat("training")), "training, 7 of 9 updates, 30 s ago");
  EXPECT_EQ(judge(beat("finished", R"("process": "gone")"), 1e6), "finished, 7 of 9 updates");
}

TEST(HeartbeatCheck, ATrainingWithoutASignOfLifeHangs) {
  for (const char* phase : {"training", "evaluating"}) {
    EXPECT_THAT([&] { judge(beat(phase), 61); }, ThrowsCode(Code::kHung));
  }
  // These give none, however long they last.
  for (const char* phase : {"building", "teaching", "probing", "saving", "exporting"}) {
    EXPECT_NO_THROW(judge(beat(phase), 1e6)) << phase;
  }
}

// A restarted container finds the heartbeat of the process before.
TEST(HeartbeatCheck, AHeartbeatOfAnotherProcessIsNone) {
  EXPECT_THAT([&] { judge(beat("training", R"("process": "boot pid:[1] 12 35")")); },
              ThrowsCode(Code::kHung));
  EXPECT_THAT([&] { judge(beat("ended")); }, ThrowsCode(Code::kHung));
  EXPECT_NO_THROW(judge(beat("training", R"("pid": 1)")));  // where /proc tells no identity
}

TEST(HeartbeatCheck, ADamagedHeartbeatIsRefusedOrJudged) {
  for (const char* text : {"", "[]", "{}", R"({"phase": "training"})", R"({"time": 3, "phase": 4})",
                           R"({"time": "noon", "phase": "training"})"}) {
    EXPECT_THAT([&] { judge(text); }, ThrowsCode(Code::kCorrupt)) << text;
  }
}

}  // namespace
}  // namespace berth
