#include "storage/formats/checkpoint_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> prefixes(const std::string& path) {
  return latest_checkpoint_prefixes("model_checkpoint_path: \"" + path + "\"\n");
}

TEST(CheckpointState, NamesTheLatest) {
  EXPECT_THAT(latest_checkpoint_prefixes("model_checkpoint_path: \"model.ckpt-20\"\n"
                                         "all_model_checkpoint_paths: \"model.ckpt-10\"\n"
                                         "all_model_checkpoint_paths: \"model.ckpt-20\"\n"
                                         "all_model_checkpoint_timestamps: 1700000000.5\n"
                                         "last_preserved_timestamp: 1.6e9\n"),
              ElementsAre("model.ckpt-20"));
}

TEST(CheckpointState, MayNameNone) {
  EXPECT_THAT(latest_checkpoint_prefixes(""), IsEmpty());
  EXPECT_THAT(latest_checkpoint_prefixes("# nothing\n\n"), IsEmpty());
  EXPECT_THAT(prefixes(""), IsEmpty());
}

TEST(CheckpointState, AnAbsolutePathMayHaveMoved) {
  EXPECT_THAT(prefixes("/home/me/run/model.ckpt-7"),
              ElementsAre("/home/me/run/model.ckpt-7", "model.ckpt-7"));
  EXPECT_THAT(prefixes("gs://bucket/run/model.ckpt-7"),
              ElementsAre("gs://bucket/run/model.ckpt-7", "model.ckpt-7"));
}

TEST(CheckpointState, ARelativePathStaysInside) {
  EXPECT_THAT(prefixes("sub/model.ckpt"), ElementsAre("sub/model.ckpt"));
  EXPECT_THAT(prefixes("../other/model.ckpt"), ElementsAre("model.ckpt"));
  EXPECT_THAT(prefixes("a/../../model.ckpt"), ElementsAre("model.ckpt"));
  EXPECT_THAT(prefixes("a/.."), IsEmpty());
  EXPECT_THAT(prefixes("a..b/..c"), ElementsAre("a..b/..c"));
}

TEST(CheckpointState, UnderstandsEscapes) {
  EXPECT_THAT(prefixes(R"(a\"b\\c\303\xa9\x64)"), ElementsAre("a\"b\\c\xC3\xA9"
                                                              "d"));
  EXPECT_THAT(latest_checkpoint_prefixes("  model_checkpoint_path :'x'\r\n"), ElementsAre("x"));
}

TEST(CheckpointState, NamesAMalformedLine) {
  EXPECT_THAT([] { latest_checkpoint_prefixes("\nnonsense\n"); },
              ThrowsCode(Code::kCorrupt, "line 2"));
  EXPECT_THAT([] { latest_checkpoint_prefixes("model_checkpoint_path: model"); },
              ThrowsCode(Code::kCorrupt, "quoted path"));
  EXPECT_THAT([] { prefixes("a\" b"); }, ThrowsCode(Code::kCorrupt, "after the closing quote"));
  EXPECT_THAT([] { prefixes("a\\"); }, ThrowsCode(Code::kCorrupt));
  EXPECT_THAT([] { prefixes("a\\q"); }, ThrowsCode(Code::kCorrupt, "\\q"));
}

TEST(CheckpointState, SurvivesEveryDamage) {
  const std::string text = "model_checkpoint_path: \"/a\\\"\\101/model.ckpt-20\"\n# x\n";
  const auto read = [](Bytes b) { latest_checkpoint_prefixes(as_text(b)); };
  accepted_prefixes(as_bytes(text), read);
  accepted_flips(as_bytes(text), read);
}

}  // namespace
}  // namespace berth
