#include <gtest/gtest.h>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/flags/flags.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class PathsAndModesTest : public testing::Test {
 protected:
  CommandLine parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"--train-data-file", "a.csv", "--job-dir=out"});
    return parse_alone(arguments);
  }
  CommandLine parse_alone(const std::vector<const char*>& arguments) {
    return parse_flags(arguments, platform_);
  }
  void refuses(const std::vector<const char*>& arguments, const std::string& says) {
    EXPECT_THAT([&] { parse(arguments); }, ThrowsCode(Code::kUsage, says));
  }

  void refuses_alone(const std::vector<const char*>& arguments, const std::string& says) {
    EXPECT_THAT([&] { parse_alone(arguments); }, ThrowsCode(Code::kUsage, says));
  }

  Platform platform_;
};

TEST_F(PathsAndModesTest, PathsBeginAtTheHomeDirectoryAsInAShell) {
  platform_.home = "/home/ida";
  const Settings settings =
      parse({"--job-dir=~/x", "--model", "~", "--eval-data-file=a~/b", "--mode=train_and_eval"})
          .settings;
  EXPECT_EQ(settings.output.job_dir, "/home/ida/x");
  EXPECT_EQ(settings.model.model, "/home/ida");
  EXPECT_EQ(settings.data.eval_data_file, "a~/b");
  EXPECT_EQ(parse({"--task=mlm", "--probe=one:sst2=~/a.csv,~/b.csv"}).settings.probes.files,
            "one:sst2=/home/ida/a.csv,/home/ida/b.csv");
  EXPECT_EQ(parse_alone({"--mode=inspect", "~/a", "~/b"}).tool.further_inputs,
            std::vector<std::string>{"/home/ida/b"});
  refuses({"--job-dir=~ida/x"}, "home directory of another user");
  platform_.home = "";
  refuses({"--job-dir=~/x"}, "needs the variable HOME");
}

TEST_F(PathsAndModesTest, APathWithAVariableThatNothingReplacedIsRefused) {
  for (const char* path :
       {"$(AIP_MODEL_DIR)/x", "${OUT}/x", "$OUT", "gs://b/$(NAME)/x", "/mnt/$RUN/x",
        "/mnt/run-$USER", "/mnt/$(date +%Y)", "${OUT:-x}/y", "{{workflow.name}}/x",
        "a/{{ .Values.out }}", "%OUT_DIR%/x", "gs://<your-bucket>/x"}) {
    for (const char* flag : {"--job-dir", "--model", "--eval-data-file", "--cache-dir"}) {
      refuses({flag, path}, "a variable that nothing has replaced");
    }
  }
  for (const char* path :
       {"a$", "a$1", "$()", "./$a$b", "a{b}", "{{}}", "%AB%CD", "100%_OF%", "a<b", "<1>"}) {
    EXPECT_EQ(parse({"--job-dir", path}).settings.output.job_dir, path);
  }
  EXPECT_EQ(parse({"--job-dir=./$b"}).settings.output.job_dir, "./$b");
}

TEST_F(PathsAndModesTest, AFlagThatTheModeDoesNotUseIsNamed) {
  const auto unused = [this](const std::vector<const char*>& flags) {
    return unused_flags(parse(flags));
  };
  EXPECT_EQ(unused({"--epochs=2", "--learning-rate=1e-3"}), "");
  EXPECT_EQ(unused({"--predict-data-file=b.csv"}),
            "--mode train_and_eval does not use --predict-data-file");
  EXPECT_EQ(unused({"--mode=train", "--eval-data-file=b.csv"}),
            "--mode train does not use --eval-data-file");
  EXPECT_EQ(unused({"--mode=predict", "--predict-data-file=b.csv", "--epochs=2"}),
            "--mode predict does not use --train-data-file, --epochs");
  EXPECT_EQ(unused({"--mode=embed", "--predict-data-file=b.csv", "--matryoshka-dims=64",
                    "--max-similarity=5"}),
            "--mode embed does not use --train-data-file, --matryoshka-dims, --max-similarity");
  EXPECT_EQ(unused({"--mode=eval", "--eval-data-file=b.csv", "--weight-column=w"}),
            "--mode eval does not use --train-data-file");
}

TEST_F(PathsAndModesTest, JoiningAndItsOppositeExcludeEachOther) {
  refuses({"--task=mlm", "--line-by-line", "--attend-across-documents"}, "holds one document");
  refuses({"--task=question_answering", "--doc-step=9", "--doc-stride=9"}, "have one distance");
}

TEST_F(PathsAndModesTest, AModeIsAWordBeforeAllFlags) {
  EXPECT_EQ(
      parse_alone({"predict", "--predict-data-file", "a.csv", "--job-dir", "j"}).settings.mode,
      Mode::kPredict);
  EXPECT_EQ(parse_alone({"train", "--train-data-file", "a.csv", "--job-dir", "j"}).settings.mode,
            Mode::kTrain);
  EXPECT_EQ(parse_alone({"embed", "--predict-data-file", "a.csv", "--job-dir", "j"}).settings.mode,
            Mode::kEmbed);
  EXPECT_EQ(parse_alone({"eval", "--eval-data-file", "a.csv", "--job-dir", "j"}).settings.mode,
            Mode::kEval);
  const CommandLine inspect = parse_alone({"inspect", "a.csv", "train"});
  EXPECT_EQ(inspect.settings.mode, Mode::kInspect);
  EXPECT_EQ(inspect.tool.input, "a.csv");
  EXPECT_THAT(inspect.tool.further_inputs, testing::ElementsAre("train"));
  EXPECT_EQ(parse_alone({"inspect", "--mode", "inspect", "a.csv"}).tool.input, "a.csv");
  EXPECT_EQ(
      parse_alone({"train-and-eval", "--train-data-file", "a.csv", "--job-dir", "j"}).settings.mode,
      Mode::kTrainAndEval);
  refuses_alone({"predict", "--mode", "eval"}, R"(--mode: the word "predict" names another mode)");
  refuses_alone({"eval", "--mode=predict"}, "leave one of them out");
  refuses_alone({"no_mode", "--job-dir", "j"}, R"(unexpected argument "no_mode")");
}

TEST_F(PathsAndModesTest, TheWordTrainSaysThatNothingIsEvaluated) {
  const CommandLine line = parse_alone({"train", "--train-data-file", "a.csv", "--job-dir", "j"});
  EXPECT_THAT(line.notes, testing::ElementsAre(testing::HasSubstr("evaluates nothing")));
}

}  // namespace
}  // namespace berth
