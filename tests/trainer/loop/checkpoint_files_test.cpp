#include "trainer/loop/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::Each;
using testing::Ge;

const TrainingState kState{.step = 12,
                           .cursor = {.epoch = 1, .block = 2, .index = 3},
                           .examples = 96,
                           .tokens = 4001,
                           .loss_sum = 0.1 + 0.2,
                           .loss_weight = 95.5,
                           .evaluated_step = 10,
                           .best = Best{.step = 5, .metric = "accuracy", .value = 2.0 / 3},
                           .kernels = "cpu-fp32-avx2, 2 threads",
                           .job = "0badf00d"};
const std::vector<ManifestEntry> kEntries = {
    {.name = "model.safetensors", .checksum = {.size = 5'000'000'000, .crc = 0xdeadbeef}},
    {.name = "state.json", .checksum = {.size = 0, .crc = 7}}};

void read_state(Bytes bytes) { parse_training_state(as_text(bytes)); }
void read_manifest(Bytes bytes) { parse_manifest(as_text(bytes)); }

TEST(StateJson, SurvivesWritingAndReading) {
  const TrainingState state = parse_training_state(to_json(kState));
  EXPECT_EQ(state.step, 12);
  EXPECT_EQ(state.cursor, kState.cursor);
  EXPECT_EQ(state.examples, 96);
  EXPECT_EQ(state.tokens, 4001);
  EXPECT_EQ(state.loss_sum, 0.1 + 0.2);  // to the bit, because a resumed run adds to this sum
  EXPECT_EQ(state.loss_weight, 95.5);
  EXPECT_EQ(state.evaluated_step, 10);
  ASSERT_TRUE(state.best);
  EXPECT_EQ(state.best->step, 5);
  EXPECT_EQ(state.best->metric, "accuracy");
  EXPECT_EQ(state.best->value, 2.0 / 3);
  EXPECT_EQ(state.kernels, kState.kernels);
  EXPECT_EQ(state.job, "0badf00d");
}

TEST(StateJson, KeepsWhatWasSkipped) {
  TrainingState state = kState;
  state.skipped = {{.from = {.index = 8}, .to = {.index = 12}},
                   {.from = {.epoch = 1, .block = 2}, .to = {.epoch = 2}}};
  EXPECT_EQ(parse_training_state(to_json(state)).skipped, state.skipped);
  EXPECT_EQ(to_json(kState).find("skipped"), std::string::npos);
}

TEST(StateJson, MayHaveNoBest) {
  EXPECT_EQ(parse_training_state(to_json(TrainingState{.step = 1})).best, std::nullopt);
}

TEST(StateJson, TruncatedIsCorrupt) {
  const std::string json = to_json(kState);
  // Of all prefixes, only the one without the final newline is accepted.
  EXPECT_THAT(accepted_prefixes(as_bytes(json), read_state), Each(Ge(json.size() - 1)));
}

TEST(StateJson, AFlippedBitIsAnErrorOrAnotherState) {
  const std::string json = to_json(kState);
  accepted_flips(as_bytes(json), read_state);
}

TEST(StateJson, OfANewerFormatIsIncompatible) {
  std::string json = to_json(TrainingState{.step = 1});
  const size_t place = json.find("\"format\": 1");
  ASSERT_NE(place, std::string::npos);
  json.replace(place, 11, "\"format\": 2");
  EXPECT_THAT([&] { parse_training_state(json); },
              ThrowsCode(Code::kIncompatible, "newer version of berth"));
}

TEST(StateJson, OtherJsonIsCorrupt) {
  for (const char* json : {"", "[]", "{}", "null", "{\"step\": \"x\"}", "{\"step\": 1}"}) {
    EXPECT_THAT([&] { parse_training_state(json); }, ThrowsCode(Code::kCorrupt)) << json;
  }
}

TEST(ManifestJson, SurvivesWritingAndReading) {
  const std::vector<ManifestEntry> entries = parse_manifest(manifest_json(kEntries));
  ASSERT_EQ(entries.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(entries[i].name, kEntries[i].name);
    EXPECT_EQ(entries[i].checksum, kEntries[i].checksum);
  }
}

TEST(ManifestJson, SpellsTheCrcInHexadecimal) {
  EXPECT_THAT(manifest_json(kEntries), testing::HasSubstr("\"crc32c\": \"deadbeef\""));
  EXPECT_THAT(manifest_json(kEntries), testing::HasSubstr("\"crc32c\": \"00000007\""));
}

TEST(ManifestJson, TruncatedIsCorrupt) {
  const std::string json = manifest_json(kEntries);
  EXPECT_THAT(accepted_prefixes(as_bytes(json), read_manifest), Each(Ge(json.size() - 1)));
}

TEST(ManifestJson, AFlippedBitIsAnErrorOrAnotherManifest) {
  const std::string json = manifest_json(kEntries);
  accepted_flips(as_bytes(json), read_manifest);
}

TEST(ManifestJson, OtherJsonIsCorrupt) {
  for (const char* json :
       {"", "[]", "{}", "null", R"({"files": 1})", R"({"files": [1]})", R"({"files": [{}]})",
        R"({"files": [{"name": "a", "size": 1, "crc32c": "0000000g"}]})",
        R"({"files": [{"name": "a", "size": 1, "crc32c": 7}]})",
        R"({"files": [{"name": "a", "size": "1", "crc32c": "00000000"}]})"}) {
    EXPECT_THAT([&] { parse_manifest(json); }, ThrowsCode(Code::kCorrupt)) << json;
  }
}

}  // namespace
}  // namespace berth
