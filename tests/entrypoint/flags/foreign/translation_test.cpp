#include "entrypoint/flags/foreign/translation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "storage/base/text.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Translation translated(const std::vector<std::string>& arguments, int64_t processes = 1) {
  return translate(TypedCommand(arguments, processes));
}

std::vector<std::string> tokens(const Translation& translation) {
  std::vector<std::string> all;
  for (const TypedArgument& argument : translation.command.arguments()) {
    all.insert(all.end(), argument.tokens.begin(), argument.tokens.end());
  }
  return all;
}

// "--x=1 --y", of a command line of which nothing needs to be said.
std::string plain(const std::vector<std::string>& arguments) {
  const Translation translation = translated(arguments);
  for (const Remark& remark : translation.remarks)
    ADD_FAILURE() << remark.flag << " " << remark.text;
  std::string joined;
  for (const std::string& token : tokens(translation))
    joined += (joined.empty() ? "" : " ") + token;
  return joined;
}

// What is said of the flags, "! " before what is refused.
std::vector<std::string> remarks(const std::vector<std::string>& arguments) {
  std::vector<std::string> lines;
  for (const Remark& remark : translated(arguments).remarks) {
    lines.push_back(cat(remark.refused ? "! " : "", remark.flag, " ", remark.text));
  }
  return lines;
}

TEST(Translation, OwnFlagsStayAsTheyAre) {
  EXPECT_EQ(plain({"--train-file", "a", "--epochs=3", "--do_lower_case", "false", "x"}),
            "--train-file a --epochs=3 --do_lower_case false x");
  EXPECT_EQ(plain({"--text=--do_train", "--nonsense", "3", "--epochs"}),
            "--text=--do_train --nonsense 3 --epochs");
  EXPECT_EQ(plain({"--learning-rate", "-1e-5"}), "--learning-rate -1e-5");
  EXPECT_EQ(plain({}), "");
}

TEST(Translation, SwitchesHaveEverySpellingOfArgparseAndAbsl) {
  for (const char* on : {"--bf16", "--bf16=True", "--bf16=1"}) {
    EXPECT_EQ(plain({on}), "--precision=bf16") << on;
  }
  EXPECT_EQ(plain({"--bf16", "true"}), "--precision=bf16");
  EXPECT_EQ(plain({"--bf16", "x"}), "--precision=bf16 x");
  for (const char* off : {"--bf16=False", "--no_bf16", "--nobf16", "--no-bf16"}) {
    EXPECT_EQ(plain({off}), "") << off;
  }
  EXPECT_EQ(plain({"--bf16", "False"}), "");
  EXPECT_EQ(plain({"--use-cpu"}), "--device=cpu");
}

TEST(Translation, DoTrainDoEvalAndDoPredictChooseTheMode) {
  EXPECT_EQ(plain({"--do_train", "--do_eval"}), "--mode=train_and_eval");
  EXPECT_EQ(plain({"--do_train"}), "--mode=train");
  EXPECT_EQ(plain({"--do_train=False", "--do_eval=true"}), "--mode=eval");
  EXPECT_EQ(plain({"--do_predict", "--nodo_train"}), "--mode=predict");
  EXPECT_EQ(plain({"--do_train", "--eval_strategy=epoch"}), "--mode=train_and_eval");
  EXPECT_EQ(plain({"--do_train", "--eval_strategy", "no"}), "--mode=train");
  EXPECT_EQ(plain({"--do_train", "false"}), "");
  EXPECT_THAT(remarks({"--do_train", "--do_predict"}),
              ElementsAre("--do_predict is a second run here: --mode predict with the same "
                          "--job-dir"));
  EXPECT_TRUE(translated({"--do_predict", "--do_train"}).predicts_afterwards);
  EXPECT_THAT(tokens(translated({"--do_predict", "--do_train"})), ElementsAre("--mode=train"));
}

TEST(Translation, TheBatchIsThatOfAnUpdate) {
  EXPECT_EQ(plain({"--per_device_train_batch_size", "32"}), "--batch-size=32");
  const std::vector<std::string> accumulated = {"--per_device_train_batch_size=4",
                                                "--gradient_accumulation_steps", "8"};
  EXPECT_THAT(tokens(translated(accumulated)),
              ElementsAre("--batch-size=32", "--gradient_accumulation_steps", "8"));
  EXPECT_THAT(tokens(translated(accumulated, 2))[0], "--batch-size=64");
  EXPECT_THAT(remarks(accumulated), ElementsAre(HasSubstr("4 x 8 x 1 = --batch-size 32")));
  EXPECT_EQ(plain({"--gradient_accumulation_steps=2"}), "--gradient_accumulation_steps=2");
  EXPECT_EQ(plain({"--per_gpu_eval_batch_size=7"}), "--eval-batch-size=7");
}

TEST(Translation, StrategiesSayWhenToEvaluateAndSave) {
  EXPECT_EQ(plain({"--eval_strategy=steps", "--eval_steps=50"}), "--eval_steps=50");
  EXPECT_EQ(plain({"--evaluation_strategy", "steps"}), "--eval-steps=500");
  EXPECT_EQ(plain({"--eval_strategy=steps", "--logging_steps=20"}),
            "--eval-steps=20 --logging_steps=20");
  EXPECT_EQ(plain({"--eval_steps=50", "--eval_strategy=epoch"}), "");
  EXPECT_EQ(plain({"--save_strategy=no", "--save_steps=3"}), "--save-steps=0");
  EXPECT_EQ(plain({"--max_steps=-1.0"}), "--max_steps=0");
  EXPECT_EQ(plain({"--save_strategy=steps", "--save_steps=3"}), "--save_steps=3");
  EXPECT_THAT(remarks({"--save_strategy=epoch"}), ElementsAre(HasSubstr("has no effect")));
  EXPECT_THAT(remarks({"--eval_strategy=no"}), ElementsAre(HasSubstr("--mode train never")));
  EXPECT_THAT(remarks({"--logging_strategy=epoch"}), ElementsAre(HasSubstr("--logging-steps")));
  EXPECT_THAT(
      remarks({"--eval_strategy=often"}),
      ElementsAre(HasSubstr(R"(! --eval_strategy "often" is not one of no, steps, epoch)")));
}

TEST(Translation, ValuesOfOwnFlagsMayBeOtherPrograms) {
  EXPECT_EQ(plain({"--max_steps", "-1"}), "--max_steps=0");
  EXPECT_EQ(plain({"--save_steps=-1"}), "--save_steps=0");
  EXPECT_EQ(plain({"--optim", "adamw_torch_fused"}), "--optim=adamw");
  EXPECT_EQ(plain({"--metric_for_best_model=eval_f1"}), "--metric_for_best_model=f1");
  EXPECT_EQ(plain({"--warmup_steps=0.06"}), "--warmup-ratio=0.06");
  EXPECT_EQ(plain({"--warmup_steps=600"}), "--warmup_steps=600");
  EXPECT_EQ(plain({"--warmup_steps=0", "--warmup_ratio=0.1"}), "--warmup_ratio=0.1");
  EXPECT_EQ(plain({"--warmup_steps=0", "--warmup_ratio=0.0"}),
            "--warmup_steps=0 --warmup_ratio=0.0");
  EXPECT_EQ(plain({"--warmup_steps=0"}), "--warmup_steps=0");
  EXPECT_THAT(remarks({"--warmup_steps=9", "--warmup_ratio=0.1"}),
              ElementsAre(HasSubstr("--warmup-ratio does not")));
  EXPECT_THAT(tokens(translated({"--mode=train_and_predict"})), ElementsAre("--mode=train"));
}

TEST(Translation, WhatIsOffIsNotRefused) {
  EXPECT_EQ(plain({"--fp16=False", "--push_to_hub", "false", "--nofp16"}), "");
  EXPECT_EQ(plain({"--report_to", "none"}), "");
  EXPECT_EQ(plain({"--report_to", "tensorboard"}), "");
  EXPECT_EQ(plain({"--max_query_length=64"}), "");
  EXPECT_THAT(remarks({"--fp16"}), ElementsAre(HasSubstr("--fp16 counts as --precision auto")));
  EXPECT_THAT(remarks({"--report_to", "tensorboard", "wandb"}),
              ElementsAre(HasSubstr("`wandb sync`")));
  EXPECT_THAT(remarks({"--report_to=all,wandb"}), ElementsAre(HasSubstr("! --report_to")));
  EXPECT_THAT(remarks({"--max_query_length", "32"}), ElementsAre(HasSubstr("64 tokens")));
  EXPECT_THAT(remarks({"--dataset_name"}), ElementsAre(HasSubstr("--train-data-file")));
}

TEST(Translation, AListEndsAtTheNextFlag) {
  const Translation translation = translated(
      {"--include_for_metrics", "a", "b", "--epochs=1", "--fsdp", "full_shard", "auto_wrap"});
  EXPECT_THAT(tokens(translation), ElementsAre("--epochs=1"));
  EXPECT_EQ(translation.remarks.size(), 2u);
}

// Trainer's flag of that name lists the keys of its batches, and berth's the classes.
TEST(Translation, LabelNamesThatAreKeysAreNoClasses) {
  const Translation keys = translated({"--label_names=labels", "--epochs=1"});
  EXPECT_THAT(tokens(keys), ElementsAre("--epochs=1"));
  EXPECT_EQ(keys.remarks.size(), 1u);
  EXPECT_THAT(tokens(translated({"--label_names", "bad,good"})),
              ElementsAre("--label_names", "bad,good"));
}

TEST(Translation, RulesLookAtOtherFlags) {
  EXPECT_THAT(remarks({"--resume_from_checkpoint=out/checkpoint-500", "--output_dir=out"}),
              ElementsAre(HasSubstr("has no effect")));
  EXPECT_THAT(remarks({"--resume_from_checkpoint", "elsewhere", "--output_dir=out"}),
              ElementsAre(HasSubstr("! --resume_from_checkpoint")));
  EXPECT_THAT(remarks({"--tokenizer_name=m", "--model_name_or_path=m"}),
              ElementsAre(HasSubstr("has no effect")));
  EXPECT_THAT(remarks({"--tokenizer_name=t", "--model_name_or_path=m"}),
              ElementsAre(HasSubstr("! --tokenizer_name")));
  EXPECT_THAT(remarks({"--model_type=bert", "--model=m"}), ElementsAre(HasSubstr("no effect")));
  EXPECT_THAT(remarks({"--model_type=bert"}), ElementsAre(HasSubstr("--init random")));
  EXPECT_EQ(plain({"--model_revision=main", "--model_name_or_path", "a/b"}),
            "--model_name_or_path a/b");
  EXPECT_EQ(plain({"--model_revision=v1", "--model_name_or_path", "a/b"}),
            "--model_name_or_path=a/b@v1");
  EXPECT_EQ(plain({"--model_revision=v1", "--model_name_or_path=./b"}), "--model_name_or_path=./b");
  EXPECT_EQ(plain({"--text_column_names=a,b"}), "--text-column=a --text-pair-column=b");
  EXPECT_THAT(remarks({"--text_column_names=a,b,c"}), ElementsAre(HasSubstr("join the columns")));
  EXPECT_EQ(plain({"--validation_split_percentage=5"}), "--validation-split=0.05");
  EXPECT_EQ(plain({"--checkpointing_steps=100"}), "--save-steps=100");
}

TEST(Translation, ACommandOfRunGlueMakesTheSettingsOfBerths) {
  const std::vector<const char*> arguments = {"--model_name_or_path",
                                              "bert",
                                              "--task_name",
                                              "mrpc",
                                              "--data_dir",
                                              "glue/MRPC",
                                              "--do_train",
                                              "--do_eval",
                                              "True",
                                              "--max_seq_length",
                                              "128",
                                              "--per_device_train_batch_size",
                                              "16",
                                              "--gradient_accumulation_steps",
                                              "2",
                                              "--learning_rate",
                                              "2e-5",
                                              "--num_train_epochs",
                                              "3.0",
                                              "--output_dir",
                                              "out",
                                              "--overwrite_output_dir",
                                              "--bf16",
                                              "--seed=7",
                                              "--load_best_model_at_end",
                                              "--metric_for_best_model",
                                              "eval_f1",
                                              "--optim=adamw_torch",
                                              "--lr_scheduler_type=cosine",
                                              "--eval-strategy=steps",
                                              "--eval-steps=100"};
  const CommandLine line = parse_flags(arguments, Platform());
  EXPECT_EQ(line.settings.mode, Mode::kTrainAndEval);
  EXPECT_EQ(line.settings.data.task, "mrpc");
  EXPECT_EQ(line.settings.training.batch_size, 32);
  EXPECT_EQ(line.settings.training.gradient_accumulation_steps, 2);
  EXPECT_EQ(line.settings.training.eval_steps, 100);
  EXPECT_EQ(line.settings.training.metric_for_best_model, "f1");
  EXPECT_EQ(line.settings.precision, Precision::kBf16);
  EXPECT_EQ(line.settings.output.job_dir, "out");
  EXPECT_THAT(line.notes, ElementsAre(HasSubstr("--per_device_train_batch_size counts"),
                                      HasSubstr("--overwrite_output_dir has no effect")));
}

TEST(Translation, ARefusedFlagEndsTheJob) {
  const auto parse = [](const std::vector<const char*>& arguments) {
    return [=] { parse_flags(arguments, Platform()); };
  };
  EXPECT_THAT(parse({"--adafactor"}), ThrowsCode(Code::kUsage, "--adafactor: the optimizers"));
  EXPECT_THAT(parse({"--push_to_hub"}), ThrowsCode(Code::kUsage, "--push_to_hub: berth uploads"));
  EXPECT_THAT(
      parse({"--task=mrpc", "--job-dir=o"}),
      ThrowsCode(Code::kUsage, "the files of mrpc are missing; name GLUE's own by --data-dir"));
}

}  // namespace
}  // namespace berth
