#include "entrypoint/flags/probe_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "storage/base/text.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "name task file" of each entry.
std::vector<std::string> shown(std::string_view text) {
  std::vector<std::string> entries;
  for (const ProbeFile& probe : parse_probes(text)) {
    entries.push_back(cat(probe.name, " ", probe.task, " ", probe.file));
  }
  return entries;
}

void refuses(std::string_view text, const std::string& says) {
  EXPECT_THAT([&] { parse_probes(text); }, ThrowsCode(Code::kUsage, says));
}

TEST(ProbeListTest, AnEntryIsAFileWithATaskAndAName) {
  EXPECT_THAT(shown("ag.csv"), ElementsAre("ag  ag.csv"));
  EXPECT_THAT(shown("classification=data/ag.csv, ner=conll.txt"),
              ElementsAre("ag classification data/ag.csv", "conll ner conll.txt"));
  EXPECT_THAT(shown("topics:ag.csv,mine:sst2=glue/SST-2/train.tsv"),
              ElementsAre("topics  ag.csv", "mine sst2 glue/SST-2/train.tsv"));
}

TEST(ProbeListTest, APathMayHoldColonsAndEqualsSigns) {
  EXPECT_THAT(shown("gs://b/date=2020/train-*.jsonl.gz"),
              ElementsAre("train  gs://b/date=2020/train-*.jsonl.gz"));
  EXPECT_THAT(shown("ner=gs://b/a.conll"), ElementsAre("a ner gs://b/a.conll"));
  EXPECT_THAT(shown("words:ner=gs://b/a.conll"), ElementsAre("words ner gs://b/a.conll"));
  EXPECT_THAT(shown("words:https://h/a.csv?x=1"), ElementsAre("words  https://h/a.csv?x=1"));
  EXPECT_THAT(shown("./a:b.csv"), ElementsAre("a-b  ./a:b.csv"));
}

TEST(ProbeListTest, ACommaInAPathHasABackslash) {
  EXPECT_THAT(shown("a\\,b.csv,c.csv"), ElementsAre("a-b  a,b.csv", "c  c.csv"));
  EXPECT_THAT(shown("t:ner=x\\,/\\,.conll"), ElementsAre("t ner x,/,.conll"));
  EXPECT_THAT(shown("a\\b.csv"), ElementsAre("a-b  a\\b.csv"));
  refuses("a.csv\\,,", "an entry names no file");
}

TEST(ProbeListTest, TheNameIsThatOfTheFileAndHoldsNoOddCharacters) {
  EXPECT_THAT(shown("some/dir/"), ElementsAre("dir  some/dir/"));
  EXPECT_THAT(shown("a b (1).csv"), ElementsAre("a-b--1  a b (1).csv"));
  EXPECT_THAT(shown("*.csv"), ElementsAre("probe  *.csv"));
}

TEST(ProbeListTest, UnknownTasksAndThoseWithoutLabelsAreRefused) {
  refuses("topics=a.csv", "\"topics\" is not a task");
  refuses("mlm=a.txt", "rows of masked_lm have no labels");
}

TEST(ProbeListTest, EveryEntryNamesAFileAndHasItsOwnName) {
  refuses("ner=", "an entry names no file");
  refuses("a.csv,", "an entry names no file");
  refuses("x/train.csv,y/train.csv", "two probes are called \"train\"");
  EXPECT_THAT(shown("a:x/train.csv,b:x/train.csv"),
              ElementsAre("a  x/train.csv", "b  x/train.csv"));
}

CommandLine parse_job(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--train-data-file", "a.txt", "--job-dir=out"});
  return parse_flags(arguments, Platform());
}

TEST(ProbeFlagsTest, ProbesAreForPreTraining) {
  EXPECT_EQ(parse_job({"--task=mlm", "--probe=b.csv"}).settings.probes.files, "b.csv");
  EXPECT_EQ(parse_job({"--task=mlm", "--teacher=t", "--probe=b.csv"}).settings.probes.samples,
            1000);
  for (const char* task : {"--task=ner", "--threads=1", "--task=mlm --mode=prepare"}) {
    std::vector<std::string> flags = parted(task, " ");
    std::vector<const char*> arguments = {"--probe=b.csv"};
    for (const std::string& flag : flags) arguments.push_back(flag.c_str());
    arguments.push_back("--export-dir=out");
    EXPECT_THAT([&] { parse_job(arguments); },
                ThrowsCode(Code::kUsage, "this job does not pre-train"));
  }
  EXPECT_THAT(
      [] {
        parse_job({"--task=mlm", "--probe=mlm=b.csv"});
      },
      ThrowsCode(Code::kUsage, "--probe: rows of masked_lm have no labels"));
  EXPECT_THAT(
      [] {
        parse_job({"--task=mlm", "--probe-steps=5"});
      },
      ThrowsCode(Code::kUsage, "--probe-steps: there is no probe without --probe"));
}

TEST(ArgumentsTest, AskForTheSameSettings) {
  const std::vector<const char*> given = {"--mode=train",           "--model=m o d e l",
                                          "--text-column=a=b",      "--learning-rate=5e-5",
                                          "--validation-split=0.2", "--anonymous",
                                          "--device=cpu",           "--memory-limit=5000000000",
                                          "--log-format=json",      "--reuse-job-dir=false"};
  const CommandLine asked = parse_job(given);
  const std::vector<std::string> arguments = to_arguments(asked);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  const CommandLine again = parse_flags(pointers, Platform());
  EXPECT_EQ(settings_table(again.settings), settings_table(asked.settings));
  EXPECT_TRUE(again.storage.anonymous);
  EXPECT_EQ(again.memory_limit, 5'000'000'000);
  EXPECT_EQ(to_arguments(again), arguments);
  EXPECT_THAT(to_arguments(CommandLine{}), IsEmpty());
}

}  // namespace
}  // namespace berth
