#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "entrypoint/job/model_choice.h"
#include "storage/local_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/support/tiny_config.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FittingLengthTest : public testing::Test {
 protected:
  FittingLengthTest() {
    ModelConfig config = tiny_config();
    config.max_position_embeddings = 512;
    write_text(scratch_ / "config.json", to_config_json(config));
    write_text(scratch_ / "model.safetensors", "");
    write_text(scratch_ / "vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  }
  void name_length(const std::string& length) {
    write_text(scratch_ / "tokenizer_config.json", R"({"model_max_length": )" + length + "}");
  }
  ModelDescription describe(std::vector<const char*> flags = {}, bool is_of_job = false) {
    flags.insert(flags.begin(), {"--train-data-file", "a.csv", "--job-dir", "job"});
    command_ = parse_flags(flags, {});
    ModelFolder folder(*storage_, {.model = scratch_.path().string()});
    return describe_fitting_model(folder, command_, command_.settings, is_of_job);
  }
  int32_t length() const { return command_.settings.data.max_seq_length; }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  CommandLine command_;
};

TEST_F(FittingLengthTest, TheTokenizersLengthLimitsTheDefaultAndIsTold) {
  EXPECT_THAT(describe().tokenizer_rules, IsEmpty());
  EXPECT_EQ(length(), 128);
  for (const char* none : {"1000000000000000019884624838656", "512", "null"}) {
    name_length(none);
    EXPECT_THAT(describe().tokenizer_rules, IsEmpty()) << none;
    EXPECT_EQ(length(), 128) << none;
  }
  name_length("32");
  CapturedLog log;
  EXPECT_THAT(describe().tokenizer_rules, ElementsAre("model_max_length counts"));
  EXPECT_EQ(length(), 32);
  EXPECT_THAT(log.lines(), HasSubstr("model_max_length"));
  describe({"--max-seq-length", "64"});
  EXPECT_EQ(length(), 64);
  describe({}, /*is_of_job=*/true);
  EXPECT_EQ(length(), 128);
}

TEST_F(FittingLengthTest, ALengthThatIsNoneIsRefused) {
  name_length("\"32\"");
  EXPECT_THAT([&] { describe(); }, ThrowsCode(Code::kUsage, "\"model_max_length\" is"));
}

TEST_F(FittingLengthTest, AFolderOfSentenceTransformersHasItsOwn) {
  name_length("32");
  ModelDescription model = describe();
  use_length_of({.max_seq_length = 8}, command_.settings, model);
  EXPECT_EQ(length(), 32);  // there are no such files
  use_length_of({.is_there = true, .max_seq_length = 8}, command_.settings, model);
  EXPECT_EQ(length(), 8);
  EXPECT_THAT(model.tokenizer_rules, ElementsAre("max_seq_length of the folder counts"));
  use_length_of({.is_there = true, .max_seq_length = 1000}, command_.settings, model);
  EXPECT_EQ(length(), 512);
  model.tokenizer_rules.clear();
  use_length_of({.is_there = true, .max_seq_length = 128}, command_.settings, model);
  EXPECT_THAT(model.tokenizer_rules, IsEmpty());
}

}  // namespace
}  // namespace berth
