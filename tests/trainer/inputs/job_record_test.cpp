#include "trainer/inputs/job_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"
#include "trainer/data/label_form.h"

namespace berth {
namespace {

JobRecord record() {
  return {.settings = {{"batch-size", "8"},
                       {"learning-rate", "5e-05"},
                       {"train-data-file", "data/df.pickle", Effect::kPlace},
                       {"job-dir", "runs/a", Effect::kFree, kOwnToWorker},
                       {"threads", "0", Effect::kFree, kOwnToWorker}},
          .sources = {{.role = "train", .uri = "data/df.pickle", .checksum = {100, 0xabc}},
                      {.role = "model", .uri = "m/config.json", .checksum = {20, 7}}},
          .labels = {"neg", "pos"},
          .version = "0.1.0",
          .machine = "x86",
          .kernels = "cpu-fp32"};
}

void set(JobRecord& job, const std::string& name, const std::string& value) {
  for (Setting& setting : job.settings) {
    if (setting.name == name) setting.value = value;
  }
}

TEST(JobRecord, SaysWhatWasAskedReadAndUsed) {
  const Json object = parse_json(to_json(record()));
  EXPECT_EQ(object["settings"]["batch-size"], "8");
  EXPECT_EQ(
      object["sources"][0],
      (Json{{"role", "train"}, {"uri", "data/df.pickle"}, {"size", 100}, {"crc32c", "00000abc"}}));
  EXPECT_EQ(object["labels"], (Json{"neg", "pos"}));
  EXPECT_EQ(object["version"], "0.1.0");
  EXPECT_EQ(object["machine"], "x86");
  EXPECT_EQ(object["kernels"], "cpu-fp32");
}

TEST(JobRecord, KeepsTheNumbersOfConllsColumns) {
  JobRecord job = record();
  EXPECT_FALSE(parse_json(to_json(job)).contains("reading"));
  LoadedTable loaded{.table = std::make_unique<ExampleTable>(),
                     .task = Task::kTokenClassification,
                     .columns = {.text = "2", .label = "3"},
                     .name = "x.conll",
                     .sources = {}};
  add_table(job, loaded);
  loaded.columns = {.text = "4", .label = "5"};
  add_table(job, loaded);
  EXPECT_EQ(parse_json(to_json(job))["reading"]["columns"], (Json{{"words", "2"}, {"tags", "3"}}));
}

TEST(JobRecord, MatchesItself) {
  EXPECT_NO_THROW(check_settings_match(to_json(record()), record()));
  EXPECT_NO_THROW(check_sources_match(to_json(record()), record()));
}

TEST(JobRecord, FilesOfOneTableKeepTheirOrder) {
  JobRecord before = record();
  before.sources.push_back({.role = "train", .uri = "data/b.csv", .checksum = {5, 6}});
  JobRecord moved = before;
  moved.sources.back().uri = "elsewhere/b.csv";
  std::rotate(moved.sources.begin(), moved.sources.begin() + 1, moved.sources.end() - 1);
  EXPECT_NO_THROW(check_sources_match(to_json(before), moved));
  JobRecord swapped = before;
  std::swap(swapped.sources.front(), swapped.sources.back());
  EXPECT_THAT([&] { check_sources_match(to_json(before), swapped); },
              ThrowsCode(Code::kIncompatible, "other contents"));
}

TEST(JobRecord, EveryDifferenceIsNamed) {
  JobRecord now = record();
  set(now, "batch-size", "16");
  set(now, "learning-rate", "1e-4");
  EXPECT_THAT([&] { check_settings_match(to_json(record()), now); },
              ThrowsCode(Code::kIncompatible, R"(--batch-size was "8" and is now "16")"));
  EXPECT_THAT([&] { check_settings_match(to_json(record()), now); },
              ThrowsCode(Code::kIncompatible, R"(--learning-rate was "5e-05" and is now "1e-4")"));
}

TEST(JobRecord, AnotherFormatOfTheModelIsLeftToExportOnly) {
  JobRecord before = record();
  before.settings.push_back({"export-format", "safetensors"});
  JobRecord now = before;
  set(now, "export-format", "onnx");
  EXPECT_THAT([&] { check_settings_match(to_json(before), now); },
              ThrowsCode(Code::kIncompatible, "--mode export_only"));
  set(now, "batch-size", "16");
  EXPECT_THAT([&] { check_settings_match(to_json(before), now); },
              ThrowsCode(Code::kIncompatible, "in another --job-dir"));
}

TEST(JobRecord, SettingsThatDoNotAffectTheWeightsMayChange) {
  JobRecord before = record(), now = record();
  before.settings.push_back({"save-steps", "1", Effect::kFree});
  now.settings.push_back({"save-steps", "2", Effect::kFree});
  set(now, "job-dir", "elsewhere");
  set(now, "threads", "4");
  EXPECT_NO_THROW(check_settings_match(to_json(before), now));
  EXPECT_EQ(job_identity(before), job_identity(now));
}

TEST(JobRecord, InputsMayMoveWhereTheirBytesAreCompared) {
  const JobRecord before = record();
  JobRecord now = before;
  set(now, "train-data-file", "./data/df.pickle");
  EXPECT_NO_THROW(check_settings_match(to_json(before), now));
  EXPECT_THAT([&] { check_settings_match(to_json(before), now, InputPlaces::kMustMatch); },
              ThrowsCode(Code::kIncompatible, R"(and is now "./data/df.pickle")"));
  set(now, "train-data-file", "");
  EXPECT_THAT([&] { check_settings_match(to_json(before), now); },
              ThrowsCode(Code::kIncompatible, "--train-data-file"));
}

TEST(JobRecord, TheNumberOfUpdatesMayChange) {
  JobRecord before = record();
  before.settings.push_back({"epochs", "1", Effect::kLength});
  before.settings.push_back({"max-steps", "0", Effect::kLength});
  JobRecord now = before;
  set(now, "epochs", "5");
  EXPECT_NO_THROW(check_settings_match(to_json(before), now));
  EXPECT_EQ(job_identity(before), job_identity(now));
  EXPECT_TRUE(has_length_of(to_json(before), before));
  EXPECT_FALSE(has_length_of(to_json(before), now));
  EXPECT_EQ(with_length_of(to_json(before), now).settings, before.settings);
  set(now, "max-steps", "9");
  EXPECT_FALSE(has_length_of(to_json(before), now));
}

// Checkpoints of earlier versions name a job of one length.
TEST(JobRecord, AnIdentityMayDependOnTheNumberOfUpdates) {
  JobRecord before = record();
  before.settings.push_back({"epochs", "1", Effect::kLength});
  JobRecord now = before;
  set(now, "epochs", "5");
  const auto identity = [](const JobRecord& job) {
    return job_identity(job, IdentityOf::kOneLength);
  };
  EXPECT_NE(identity(before), identity(now));
  EXPECT_EQ(identity(before), identity(with_length_of(to_json(before), now)));
}

// A newer version of the program has more flags. A job that was begun without them goes on where
// they have their defaults.
TEST(JobRecord, FlagsThatTheJobDidNotKnowCountWhereTheyAreNotTheirDefaults) {
  const JobRecord before = record();
  JobRecord now = before;
  now.settings.insert(now.settings.begin() + 1, Setting{"max-similarity", "1"});
  const SettingsTable defaults = {{"max-similarity", "1"}, {"epochs", "9"}};
  EXPECT_NE(job_identity(now), job_identity(before));
  const JobRecord known = as_known_to(to_json(before), now, defaults);
  EXPECT_EQ(known.settings, before.settings);
  EXPECT_NO_THROW(check_settings_match(to_json(before), known));
  EXPECT_EQ(job_identity(known), job_identity(before));

  now.settings[1].value = "5";
  EXPECT_THAT(
      [&] { check_settings_match(to_json(before), as_known_to(to_json(before), now, defaults)); },
      ThrowsCode(Code::kIncompatible, "--max-similarity was \"\" and is now \"5\""));
  EXPECT_THAT([&] { as_known_to("[]", now, defaults); }, ThrowsCode(Code::kIncompatible, ""));
}

TEST(JobRecord, HoldsHowLabelsAreWritten) {
  JobRecord written = record();
  written.reading.labels = LabelForm{.lists = LabelLists::kNames,
                                     .separators = ";",
                                     .numbers = {.decimal = ',', .thousands = '.', .unit = "%"},
                                     .blank_is_zero = true,
                                     .is_settled = true};
  const Json json = parse_json(to_json(written));
  EXPECT_EQ(label_form_of(json["reading"]["labels"]), written.reading.labels);
  written.reading.labels = LabelForm{.lists = LabelLists::kMultiHot,
                                     .positions = 3,
                                     .minus_one_is_missing = true,
                                     .is_settled = true};
  EXPECT_EQ(label_form_of(parse_json(to_json(written))["reading"]["labels"]),
            written.reading.labels);
  EXPECT_EQ(label_form_of(Json(5)), std::nullopt);
  EXPECT_FALSE(json["reading"].contains("scores"));
  written.reading.scores = ScoreRange{.largest = 5, .upper_third = 3.5};
  EXPECT_EQ(parse_json(to_json(written))["reading"]["scores"],
            (Json{{"largest", 5.0}, {"upper_third", 3.5}}));
}

// Rules of reading that an earlier version did not have.
TEST(JobRecord, AJobKeepsTheReadingOfItsRows) {
  const JobRecord before = record();  // of a version that recorded no reading
  JobRecord now = before;
  now.reading.rows = "0a1b2c3d";
  EXPECT_EQ(job_identity(now), job_identity(before));
  EXPECT_NO_THROW(check_reading_matches(to_json(before), now.reading, "job"));
  now.reading.rules = {"multi-hot lists"};
  EXPECT_NE(job_identity(now), job_identity(before));
  EXPECT_THAT([&] { check_reading_matches(to_json(before), now.reading, "job"); },
              ThrowsCode(Code::kIncompatible,
                         "job: 0.1.0, which began the job, read its rows in another way than this "
                         "version: multi-hot lists"));

  EXPECT_NO_THROW(check_reading_matches(to_json(now), now.reading, "job"));
  RecordedReading later = now.reading;
  later.rows = "0a1b2c3e";
  EXPECT_THAT([&] { check_reading_matches(to_json(now), later, "job"); },
              ThrowsCode(Code::kIncompatible, "read its rows in another way"));
  later.tokenizer = {"truncation_side counts"};
  EXPECT_THAT(
      [&] { check_reading_matches(to_json(now), later, "job"); },
      ThrowsCode(Code::kIncompatible,
                 "read its rows and tokenizer or model in another way than this version: multi-hot "
                 "lists, truncation_side counts"));
}

// Versions of 2026-11 wrote the rules of the tokenizer beside the reading of the rows.
TEST(JobRecord, AnEarlierOneMayHaveTheRulesOfTheTokenizerApart) {
  const std::string with_rows =
      R"({"settings": {}, "sources": [], "reading": {"rules": ["multi-hot lists"], "rows": "0a1b2c3d"},
          "tokenizer_rules": ["truncation_side counts"]})";
  const std::string without_rows =
      R"({"settings": {}, "sources": [], "tokenizer_rules": ["truncation_side counts"]})";
  RecordedReading now{
      .rules = {"multi-hot lists"}, .rows = "0a1b2c3d", .tokenizer = {"truncation_side counts"}};
  EXPECT_NO_THROW(check_reading_matches(with_rows, now, "job"));
  now.rules.clear();
  EXPECT_NO_THROW(check_reading_matches(without_rows, now, "job"));
  for (const auto& rules : {std::vector<std::string>(), {"model_input_names count"}}) {
    now.tokenizer = rules;
    for (const std::string& before : {with_rows, without_rows}) {
      EXPECT_THAT([&] { check_reading_matches(before, now, "job"); },
                  ThrowsCode(Code::kIncompatible, "read its tokenizer or model in another way"));
    }
  }
}

TEST(JobRecord, JobsWithDifferentUsedLengthsDiffer) {
  JobRecord one = record(), other = record();
  one.settings.push_back({"max-seq-length", "128"});
  other.settings.push_back({"max-seq-length", "128"});
  one.max_seq_length = 128;
  EXPECT_EQ(job_identity(one), job_identity(other));  // an older version wrote no length
  other.max_seq_length = 384;
  EXPECT_NE(job_identity(one), job_identity(other));
}

TEST(JobRecord, ItsIdentityCoversWhatChangesTheResult) {
  const std::string identity = job_identity(record());
  JobRecord moved = record();
  set(moved, "job-dir", "runs/b");
  set(moved, "train-data-file", "elsewhere/df.pickle");
  moved.sources[0].uri = "elsewhere/df.pickle";
  std::swap(moved.sources[0], moved.sources[1]);
  moved.machine = "another";
  EXPECT_EQ(job_identity(moved), identity);
  JobRecord seeded = record(), fed = record();
  set(seeded, "learning-rate", "1e-4");
  fed.sources[0].checksum.crc ^= 1;
  EXPECT_NE(job_identity(seeded), identity);
  EXPECT_NE(job_identity(fed), identity);
}

TEST(JobRecord, WorkersMayDifferInPlacesAndThreadsAlone) {
  JobRecord other = record();
  set(other, "job-dir", "runs/b");
  set(other, "train-data-file", "elsewhere/df.pickle");
  set(other, "threads", "3");
  EXPECT_EQ(common_settings(other.settings), common_settings(record().settings));
  // It decides which batches an evaluation has, although it changes no training.
  JobRecord larger = record();
  larger.settings.push_back({"eval-batch-size", "64", Effect::kFree});
  EXPECT_NE(common_settings(larger.settings), common_settings(record().settings));
}

TEST(JobRecord, ASettingOfANewerVersionIsADifference) {
  JobRecord now = record();
  now.settings.push_back({"seed", "42"});
  EXPECT_THAT([&] { check_settings_match(to_json(record()), now); },
              ThrowsCode(Code::kIncompatible, R"(--seed was "" and is now "42")"));
}

TEST(JobRecord, SourcesMayMoveButNotChange) {
  JobRecord now = record();
  now.sources[0].uri = "gs://bucket/df.pickle";
  std::swap(now.sources[0], now.sources[1]);
  EXPECT_NO_THROW(check_sources_match(to_json(record()), now));
  now.sources[1].checksum.crc ^= 1;
  EXPECT_THAT([&] { check_sources_match(to_json(record()), now); },
              ThrowsCode(Code::kIncompatible, "other contents"));
}

TEST(JobRecord, AMissingSourceIsIncompatible) {
  JobRecord now = record();
  now.sources.pop_back();
  EXPECT_THAT([&] { check_sources_match(to_json(record()), now); },
              ThrowsCode(Code::kIncompatible));
}

TEST(JobRecord, ANewerFormatIsIncompatible) {
  for (const char* format : {"2", "\"1\"", "null"}) {
    const std::string json =
        std::string(R"({"settings": {}, "sources": [], "format": )") + format + "}";
    EXPECT_THAT([&] { check_settings_match(json, record()); },
                ThrowsCode(Code::kIncompatible, "newer version of berth"));
  }
}

TEST(JobRecord, ADamagedOneIsIncompatible) {
  for (const char* json :
       {"", "[]", "{", R"({"settings": {}})", R"({"settings": 1, "sources": []})",
        R"({"settings": {}, "sources": {}})"}) {
    EXPECT_THAT([&] { check_settings_match(json, record()); },
                ThrowsCode(Code::kIncompatible, "is not a job.json of berth"))
        << json;
  }
  for (const char* json :
       {R"({"settings": {}, "sources": [1]})", R"({"settings": {}, "sources": [{"role": 1}]})",
        R"({"settings": {}, "sources": [{"role": "a", "size": "x", "crc32c": ""}]})"}) {
    EXPECT_THAT([&] { check_sources_match(json, record()); }, ThrowsCode(Code::kIncompatible))
        << json;
  }
}

TEST(JobRecord, AnyFlippedBitIsAnErrorOrHarmless) {
  const std::string json = to_json(record());
  const auto read = [](Bytes bytes) {
    check_settings_match(as_text(bytes), record());
    check_sources_match(as_text(bytes), record());
  };
  accepted_flips(as_bytes(json), read);
  EXPECT_TRUE(accepted_prefixes(as_bytes(json), read).size() <= 1);
}

TEST(JobRecord, AnotherReadingOfTheTokenizerEndsTheJob) {
  const auto source = [](const std::string& name, uint32_t crc) {
    return Source{.role = "model", .uri = "m/" + name, .checksum = {.size = 9, .crc = crc}};
  };
  const JobRecord before{.sources = {source("config.json", 1), source("vocab.txt", 0xabcdef01)}};
  JobRecord now{.sources = {source("config.json", 1), source("tokenizer.json", 3)}};
  // A version that reads other files of one tokenizer goes on.
  const JobRecord known = with_tokenizer_files_of(to_json(before), now);
  EXPECT_EQ(job_identity(known), job_identity(before));
  EXPECT_NO_THROW(check_reading_matches(to_json(before), known.reading, "job"));
  EXPECT_NO_THROW(check_sources_match(to_json(before), known));
  now.reading.tokenizer = {"truncation_side counts"};
  EXPECT_THAT(
      [&] { check_reading_matches(to_json(before), now.reading, "job"); },
      ThrowsCode(Code::kIncompatible,
                 "read its tokenizer or model in another way than this version: truncation_side"));
  EXPECT_NO_THROW(check_reading_matches(to_json(now), now.reading, "job"));
  EXPECT_NE(job_identity(now), job_identity(before));
}

}  // namespace
}  // namespace berth
