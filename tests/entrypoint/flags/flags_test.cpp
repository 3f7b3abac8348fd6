#include "entrypoint/flags/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

class FlagFileTest : public testing::Test {
 protected:
  CommandLine parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--train-data-file=a.csv", "--job-dir=out"});
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    Platform platform;
    platform.home = testing::TempDir();
    return parse_flags(pointers, platform);
  }
  std::string write(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  ~FlagFileTest() override { std::filesystem::remove(file_); }

  const std::string file_ = testing::TempDir() + "flags.txt";
};

TEST_F(FlagFileTest, EachLineIsAFlag) {
  const std::string file = write(
      "# one point of a grid\n"
      "--batch-size=16\r\n"
      "\n"
      "  // as in a tutorial\n"
      "--learning_rate 3e-5\n"
      "--recompute\n"
      "--text-column a b = c");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--flagfile", file}, {"--flagfile=" + file}}) {
    const CommandLine line = parse(arguments);
    EXPECT_EQ(line.settings.training.batch_size, 16);
    EXPECT_EQ(line.settings.training.optimization.learning_rate, 3e-5);
    EXPECT_TRUE(line.settings.training.recompute);
    EXPECT_EQ(line.settings.data.text_column, "a b = c");
    EXPECT_THAT(line.notes, testing::ElementsAre("the flags in " + file +
                                                 ": --batch-size=16 --learning_rate 3e-5 "
                                                 "--recompute --text-column a b = c"));
  }
}

TEST_F(FlagFileTest, ItsFlagsStandInPlaceOfIt) {
  const std::string file = write("--batch-size=16\n--do_lower_case true");
  EXPECT_EQ(parse({"--batch-size=4", "--flagfile=" + file}).settings.training.batch_size, 16);
  EXPECT_EQ(parse({"--flagfile=" + file, "--batch-size=4"}).settings.training.batch_size, 4);
  write("");
  EXPECT_EQ(parse({"--batch-size=4", "--flagfile=" + file}).settings.training.batch_size, 4);
}

TEST_F(FlagFileTest, ItMayLieInTheHomeDirectory) {
  write("--batch-size=16");
  EXPECT_EQ(parse({"--flagfile=~/flags.txt"}).settings.training.batch_size, 16);
}

TEST_F(FlagFileTest, WhatIsNoFlagIsRefused) {
  const auto refuses = [&](const std::string& text, const std::string& says) {
    const std::string file = write(text);
    EXPECT_THAT([&] { parse({"--flagfile", file}); }, ThrowsCode(Code::kUsage, says)) << text;
  };
  refuses("--batch-size=2\nbatch-size=3\n", file_ + ": line 2: \"batch-size=3\" is not a flag");
  refuses("--flagfile=other", "cannot name another");
  refuses("--flagfile other", "cannot name another");
  refuses("--batch-sise=2", "--batch-sise");
  refuses("--batch-size=many", "many");
  EXPECT_THAT([&] { parse({"--flagfile"}); }, ThrowsCode(Code::kUsage, "needs a value"));
  EXPECT_THAT([&] { parse({"--flagfile="}); }, ThrowsCode(Code::kUsage, "needs a value"));
  EXPECT_THAT([&] { parse({"--flagfile=" + file_ + ".absent"}); },
              ThrowsCode(Code::kNotFound, "no such file"));
}

class FlagsTest : public testing::Test {
 protected:
  // Puts the flags that training needs in front, so that a case shows only its own flags.
  CommandLine parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"--train-data-file", "a.csv", "--job-dir=out"});
    return parse_alone(arguments);
  }
  CommandLine parse_alone(const std::vector<const char*>& arguments) {
    return parse_flags(arguments, platform_);
  }
  TrainingOptions training(const std::vector<const char*>& arguments) {
    return parse(arguments).settings.training;
  }
  void refuses(const std::vector<const char*>& arguments, const std::string& says) {
    EXPECT_THAT([&] { parse(arguments); }, ThrowsCode(Code::kUsage, says));
  }

  Platform platform_;
};

TEST_F(FlagsTest, DefaultsAreThoseOfTheTrainerAndTheTutorial) {
  const Settings settings = parse({}).settings;
  EXPECT_EQ(settings.mode, Mode::kTrainAndEval);
  EXPECT_EQ(settings.training.epochs, 3);
  EXPECT_EQ(settings.training.batch_size, 8);
  EXPECT_EQ(settings.training.optimization.learning_rate, std::nullopt);  // by the width
  EXPECT_EQ(settings.training.optimization.warmup_ratio, 0.1);
  EXPECT_EQ(settings.training.optimization.weight_decay, 0.01);
  EXPECT_EQ(settings.training.optimization.max_grad_norm, 1.0);
  EXPECT_EQ(settings.data.max_seq_length, 128);
  EXPECT_EQ(settings.data.validation_split, 0.1);
  EXPECT_TRUE(settings.output.reuse_job_dir);
}

TEST_F(FlagsTest, ValueFollowsAnEqualsSignOrIsTheNextArgument) {
  EXPECT_EQ(training({"--batch-size=32"}).batch_size, 32);
  EXPECT_EQ(training({"--batch-size", "32"}).batch_size, 32);
  EXPECT_EQ(parse({"--text-column=a=b"}).settings.data.text_column, "a=b");
  EXPECT_EQ(parse({"--text-column", "a b"}).settings.data.text_column, "a b");
}

TEST_F(FlagsTest, ATokenBudgetReplacesTheDefaultBatchSize) {
  EXPECT_EQ(training({}).token_budget, 0);
  EXPECT_EQ(training({"--token-budget=4096"}).token_budget, 4096);
  EXPECT_EQ(training({"--token-budget=4096"}).batch_size, 4096);
  EXPECT_EQ(training({"--token-budget=4096", "--batch-size=8"}).batch_size, 8);
  EXPECT_EQ(training({"--token-budget=0"}).batch_size, 8);
}

TEST_F(FlagsTest, BenchIsAMode) {
  const CommandLine bench = parse_alone({"bench", "--price-per-hour", "0.19"});
  EXPECT_EQ(bench.settings.mode, Mode::kBench);
  EXPECT_EQ(bench.settings.precision, Precision::kAuto);
  EXPECT_EQ(bench.price_per_hour, 0.19);
  EXPECT_EQ(parse_alone({"--mode=bench", "--precision=fp32"}).settings.precision, Precision::kFp32);
  refuses({"--price-per-hour", "-1"}, "a price");
}

TEST_F(FlagsTest, UnderscoreIsHyphen) {
  EXPECT_EQ(training({"--batch_size=32"}).batch_size, 32);
  EXPECT_EQ(training({"--gradient-accumulation_steps", "2"}).gradient_accumulation_steps, 2);
  EXPECT_EQ(parse({"--text_column=a_b-c"}).settings.data.text_column, "a_b-c");
}

TEST_F(FlagsTest, SwitchHasEverySpelling) {
  const auto lower = [&](const std::vector<const char*>& arguments) {
    return parse(arguments).settings.model.do_lower_case;
  };
  EXPECT_EQ(lower({}), std::nullopt);
  for (const char* on : {"--do_lower_case", "--do-lower-case=true", "--do-lower-case=1"}) {
    EXPECT_EQ(lower({on}), true) << on;
  }
  for (const char* off : {"--no-do-lower-case", "--nodo_lower_case", "--do_lower_case=False"}) {
    EXPECT_EQ(lower({off}), false) << off;
  }
  EXPECT_EQ(lower({"--do_lower_case", "False"}), false);
  EXPECT_EQ(lower({"--do_lower_case", "--epochs=1"}), true);
  refuses({"--export-format=saved_model"}, "berth writes no TensorFlow SavedModel; use onnx");
  refuses({"--do-lower-case=maybe"}, R"(--do-lower-case: "maybe" is not true or false)");
  refuses({"--no-do-lower-case=true"}, "takes no value");
  EXPECT_FALSE(parse({"--reuse-job-dir=false"}).settings.output.reuse_job_dir);
}

TEST_F(FlagsTest, LastOneWinsAcrossAliases) {
  EXPECT_EQ(training({"--lr=1", "--learning_rate", "2e-5"}).optimization.learning_rate, 2e-5);
  EXPECT_EQ(training({"--batch-size=0", "--train_batch_size=4"}).batch_size, 4);
}

TEST_F(FlagsTest, IntegralFloatIsInteger) {
  EXPECT_EQ(training({"--batch-size", "32.0"}).batch_size, 32);
  EXPECT_EQ(training({"--max-steps=1e3"}).max_steps, 1000);
  EXPECT_EQ(training({"--seed=9223372036854775807"}).seed, 9223372036854775807u);
  refuses({"--batch-size=32.5"}, R"(--batch-size: "32.5" is not an integer from 1 to 1000000)");
}

TEST_F(FlagsTest, TutorialSpellingsAreAliases) {
  const Settings settings =
      parse_alone({"--train_data_path=t", "--eval_data_path=e", "--model_dir=j",
                   "--num_train_epochs=2", "--train_batch_size=16", "--learning_rate=3e-5",
                   "--init_checkpoint=m", "--bert_config_file=c", "--vocab_file=v",
                   "--max_seq_length=64", "--warmup_proportion=0.2", "--dtype=fp32",
                   "--mode=train-and-eval", "--log_steps=7"})
          .settings;
  EXPECT_EQ(settings.data.train_data_file, "t");
  EXPECT_EQ(settings.data.eval_data_file, "e");
  EXPECT_EQ(settings.output.job_dir, "j");
  EXPECT_EQ(settings.training.epochs, 2);
  EXPECT_EQ(settings.training.batch_size, 16);
  EXPECT_EQ(settings.training.optimization.learning_rate, 3e-5);
  EXPECT_EQ(settings.training.optimization.warmup_ratio, 0.2);
  EXPECT_EQ(settings.model.model, "m");
  EXPECT_EQ(settings.model.model_config, "c");
  EXPECT_EQ(settings.model.vocab_file, "v");
  EXPECT_EQ(settings.data.max_seq_length, 64);
  EXPECT_EQ(settings.training.logging_steps, 7);
}

TEST_F(FlagsTest, HuggingFaceSpellingsAreAliases) {
  const Settings settings =
      parse_alone({"--train_file=t", "--validation_file=e", "--output_dir=j",
                   "--model_name_or_path=m", "--config_name=c", "--lr=1e-3", "--max_length=32"})
          .settings;
  EXPECT_EQ(settings.data.train_data_file, "t");
  EXPECT_EQ(settings.data.eval_data_file, "e");
  EXPECT_EQ(settings.output.job_dir, "j");
  EXPECT_EQ(settings.model.model, "m");
  EXPECT_EQ(settings.model.model_config, "c");
  EXPECT_EQ(settings.data.max_seq_length, 32);
}

TEST_F(FlagsTest, UnknownFlagNamesTheNearest) {
  refuses({"--epoch=3"}, R"(unknown flag "--epoch"; the nearest is --epochs)");
  refuses({"--bach_size", "3"}, "the nearest is --batch-size");
  refuses({"--no-epochs"}, "give --epochs a value");
  refuses({"--per-device-train-batchsize=3"}, "the nearest is --per-device-train-batch-size");
  refuses({"--upload_to_s3"}, R"(unknown flag "--upload_to_s3"; --help lists all flags)");
  refuses({"--"}, "unknown flag");
}

TEST_F(FlagsTest, OptimizationFlagsHaveTheNamesOfTheTrainer) {
  const OptimizationOptions given =
      training({"--lr_scheduler_type=cosine", "--warmup_steps=100", "--optim=lamb",
                "--adam_beta2=0.98", "--layerwise-lr-decay=0.8", "--freeze-encoder-layers=2",
                "--freeze-embeddings"})
          .optimization;
  EXPECT_EQ(given.lr_scheduler_type, ScheduleType::kCosine);
  EXPECT_EQ(given.warmup_steps, 100);
  EXPECT_EQ(given.optimizer, OptimizerType::kLamb);
  EXPECT_EQ(given.adam_beta2, 0.98);
  EXPECT_EQ(given.layerwise_lr_decay, 0.8);
  EXPECT_EQ(given.freeze_encoder_layers, 2);
  EXPECT_TRUE(given.freeze_embeddings);
  EXPECT_EQ(training({"--optim=adamw_torch"}).optimization.optimizer, OptimizerType::kAdamW);
  EXPECT_EQ(training({}).optimization.warmup_steps, std::nullopt);
  refuses({"--adam-beta1=1"}, "is not a number from 0 to less than 1");
}

TEST_F(FlagsTest, StrayArgumentIsRefused) {
  refuses({"data.csv"}, R"(unexpected argument "data.csv"; name every input with a flag)");
  refuses({"--do-lower-case", "data.csv"}, R"(unexpected argument "data.csv")");
  refuses({"-epochs", "3"}, R"(unexpected argument "-epochs"; write flags with two dashes)");
  refuses({"--job-dir=a", "predict"},
          R"(unexpected argument "predict"; a mode stands before all flags, as in berth predict)");
  refuses({"help"}, R"(unexpected argument "help"; --help lists all flags)");
  refuses({"-"}, "unexpected argument");
  refuses({""}, "unexpected argument");
}

TEST_F(FlagsTest, FlagWithoutValueIsRefused) {
  refuses({"--epochs"}, "--epochs: the flag needs a value");
  refuses({"--epochs", "--batch-size=3"}, "--epochs: the flag needs a value");
  EXPECT_EQ(parse({"--mode=tokenize", "--model=m", "--text=--x"}).tool.text, "--x");
  refuses({"--text-column="}, "--text-column: the value is empty; leave the flag out");
}

TEST_F(FlagsTest, ValueOutOfRangeNamesFlagValueAndRange) {
  refuses({"--epochs=0"}, R"(--epochs: "0" is not a number above 0, at most 1000000)");
  refuses({"--num_train_epochs", "0"}, R"(--num_train_epochs (--epochs): "0" is not a number)");
  refuses({"--learning-rate", "-1e-5"}, R"(--learning-rate: "-1e-5" is not a number above 0)");
  refuses({"--batch-size=0"}, R"(--batch-size: "0" is not an integer from 1 to 1000000)");
  refuses({"--validation-split=1"},
          R"(--validation-split: "1" is not a number from 0 to less than 1)");
  refuses({"--validation-split=-0.1"}, "--validation-split");
  refuses({"--max-seq-length=3"}, R"("3" is not an integer from 4 to 1000000)");
  refuses({"--data-fraction=0"}, R"(--data-fraction: "0" is not a number above 0, at most 1)");
  refuses({"--logging-steps=0"}, "--logging-steps");
  refuses({"--save-steps=-2"}, R"(--save-steps: "-2" is not an integer from 0 to)");
  EXPECT_EQ(parse({"--validation-split=0"}).settings.data.validation_split, 0);
}

TEST_F(FlagsTest, InvalidNumbersAreRefused) {
  for (const char* rate : {"nan", "inf", "1e999", "1e-999", "abc", "1,0", "0x1", "5e-5x", "+-1"}) {
    refuses({"--learning-rate", rate}, "--learning-rate: \"" + std::string(rate) + "\" is not");
  }
  for (const char* seed : {"99999999999999999999", "1e30", "nan", "one", "-1", "1.5", " 1", "+"}) {
    refuses({"--seed", seed}, "--seed: \"" + std::string(seed) + "\" is not an integer from 0");
  }
}

TEST_F(FlagsTest, ChoiceNamesItsValues) {
  refuses({"--mode=test"}, R"(--mode: "test" is not one of train, train_and_eval, eval, predict)");
  refuses({"--init=zero"}, R"("zero" is not one of pretrained, random)");
  refuses({"--log-format=xml"}, "auto, text, json");
  refuses({"--log-level=loud"}, "error, warning, info, debug");
  EXPECT_EQ(parse({"--init=random"}).settings.model.init, Init::kRandom);
  EXPECT_EQ(parse({"--log-level=debug"}).log_level, LogLevel::kDebug);
}

TEST_F(FlagsTest, PrecisionIsAutoUnlessVectorsAreWritten) {
  EXPECT_EQ(parse({}).settings.precision, Precision::kAuto);
  for (const char* mode : {"--mode=eval", "--mode=predict"}) {
    const CommandLine line =
        parse_alone({mode, "--job-dir=out", "--eval-data-file=a.csv", "--predict-data-file=a.csv"});
    EXPECT_EQ(line.settings.precision, Precision::kAuto) << mode;
  }
  std::vector<const char*> embed = {"--mode=embed", "--job-dir=out", "--predict-data-file=a.csv"};
  EXPECT_EQ(parse_alone(embed).settings.precision, Precision::kFp32);
  embed.push_back("--precision=auto");
  EXPECT_EQ(parse_alone(embed).settings.precision, Precision::kAuto);
}

TEST_F(FlagsTest, Precision) {
  EXPECT_EQ(parse({"--precision=fp32"}).settings.precision, Precision::kFp32);
  EXPECT_EQ(parse({"--dtype=bf16"}).settings.precision, Precision::kBf16);
  EXPECT_EQ(parse({"--precision=auto"}).settings.precision, Precision::kAuto);
  const CommandLine half = parse({"--precision=fp16"});
  EXPECT_EQ(half.settings.precision, Precision::kAuto);
  EXPECT_THAT(half.notes, testing::ElementsAre(testing::HasSubstr("fp16 is not available")));
  refuses({"--precision=int3"}, R"("int3" is not one of auto, fp32, bf16)");
}

TEST_F(FlagsTest, ContradictionsAreRefused) {
  refuses({"--gradient-accumulation-steps=9"},
          "--gradient-accumulation-steps: 9 is more than the 8 examples of --batch-size");
  refuses({"--text-column=a", "--label-column=a"},
          R"(--text-column and --label-column both name column "a")");
  refuses({"--text-column=a", "--text-pair-column=a"}, "--text-pair-column");
  refuses({"--label-column=a", "--text-pair-column=a"}, "--text-pair-column");
  refuses({"--label-threshold=1"}, "is not a number above 0 and below 1, auto or per_label");
  refuses({"--label-threshold=auto", "--mode=train"}, "--mode train never evaluates");
  refuses({"--label-threshold=per_label", "--validation-split=0"}, "no rows to evaluate on");
  EXPECT_EQ(parse({"--label-threshold=0.30"}).settings.data.label_threshold, "0.3");
  refuses({"--focal-gamma=2", "--label-smoothing=0.1"}, "leave out one of --focal-gamma");
  refuses({"--focal-gamma=2", "--teacher=t"}, "no form for a teacher's outputs");
  EXPECT_NO_THROW(parse({"--focal-gamma=2", "--class-weights=balanced"}));
  refuses({"--task=mlm", "--distillation-target=hidden_states"}, "there is no teacher");
  refuses({"--teacher=t", "--distillation-target=hidden_states"}, "give --task mlm");
  EXPECT_NO_THROW(parse({"--teacher=t", "--distillation-weight=0.9"}));
  EXPECT_EQ(parse({"--task=mlm", "--teacher=t", "--distillation-target=hidden_states"})
                .settings.distillation.target,
            DistillationTarget::kHiddenStates);
}

TEST_F(FlagsTest, ModeNeedsItsFiles) {
  const auto needs = [&](const std::vector<const char*>& arguments, const std::string& says) {
    EXPECT_THAT([&] { parse_alone(arguments); }, ThrowsCode(Code::kUsage, says));
  };
  needs({}, "--train-data-file is missing");
  needs({"--train-data-file=a"}, "--job-dir is missing");
  needs({"--mode=eval", "--job-dir=j"}, "--eval-data-file is missing");
  needs({"--mode=predict", "--job-dir=j"}, "--predict-data-file is missing");
  needs({"--mode=predict", "--predict-data-file=p"}, "no model is given");
  parse_alone({"--mode=eval", "--eval-data-file=e", "--job-dir=j"});
  parse_alone({"--mode=eval", "--eval-retrieval=s", "--job-dir=j"});
  parse_alone({"--mode=predict", "--predict-data-file=p", "--model=m"});
}

TEST_F(FlagsTest, PreparingNeedsATokenizerForTexts) {
  const auto prepare = [&](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"--mode=prepare", "--export-dir=out"});
    return parse_alone(arguments);
  };
  EXPECT_THAT([&] { prepare({"--model=m"}); }, ThrowsCode(Code::kUsage, "--train-data-file"));
  EXPECT_THAT([&] { prepare({"--train-data-file=a.csv"}); }, ThrowsCode(Code::kUsage, "--model"));
  EXPECT_THAT(
      [&] {
        parse({"--mode=prepare", "--model=m"});
      },
      ThrowsCode(Code::kUsage, "--export-dir"));
  EXPECT_EQ(prepare({"--train-data-file=a.tfrecord"}).tool.prepared.num_shards, 1);
  const PreparedFileOptions files =
      prepare({"--train_data_path=a.csv", "--vocab-file=vocab.txt", "--num-shards=4",
               "--compress=gzip", "--record-format=jsonl"})
          .tool.prepared;
  EXPECT_EQ(files.num_shards, 4);
  EXPECT_TRUE(files.gzip);
  EXPECT_EQ(files.format, RecordFormat::kJsonl);
}

TEST_F(FlagsTest, HelpWinsOverEverything) {
  EXPECT_TRUE(parse_alone({"--nonsense", "--help"}).help);
  EXPECT_TRUE(parse_alone({"-h"}).help);
  EXPECT_TRUE(parse_alone({"--version"}).version);
  EXPECT_TRUE(parse_alone({"--help-markdown"}).help_markdown);
  EXPECT_TRUE(parse_alone({"--help-json"}).help_json);
}

TEST_F(FlagsTest, PlatformNamesTheDirectoriesThatNoFlagNames) {
  platform_.model_dir = "gs://b/7/model/";
  platform_.checkpoint_dir = "gs://b/7/checkpoints/";
  platform_.tensorboard_log_dir = "gs://b/7/logs/";
  OutputOptions output = parse_alone({"--train-data-file=a"}).settings.output;
  EXPECT_EQ(output.job_dir, "gs://b/7/");
  EXPECT_EQ(output.export_dir, "gs://b/7/model/");
  EXPECT_EQ(output.checkpoint_dir, "gs://b/7/checkpoints/");
  EXPECT_EQ(output.summary_dir, "gs://b/7/logs/");

  output = parse({"--export-dir=x", "--checkpoint-dir=y", "--summary-dir=z"}).settings.output;
  EXPECT_EQ(output.job_dir, "out");
  EXPECT_EQ(output.export_dir, "x");
  EXPECT_EQ(output.checkpoint_dir, "y");
  EXPECT_EQ(output.summary_dir, "z");
}

TEST_F(FlagsTest, PathsOfThePlatformAreReadAsFlagsAre) {
  platform_.home = "/home/a";
  platform_.model_dir = "~/7/model";
  OutputOptions output = parse_alone({"--train-data-file=a"}).settings.output;
  EXPECT_EQ(output.job_dir, "/home/a/7/");
  EXPECT_EQ(output.export_dir, "/home/a/7/model");
  platform_.model_dir = "$(BUCKET)/y";
  EXPECT_THAT([&] { parse_alone({"--train-data-file=a"}); },
              ThrowsCode(Code::kUsage, "AIP_MODEL_DIR"));
  EXPECT_NO_THROW(parse({"--export-dir=x"}));
  platform_.tensorboard_log_dir = "{{bucket}}/logs";
  EXPECT_THAT([&] { parse({"--export-dir=x"}); },
              ThrowsCode(Code::kUsage, "AIP_TENSORBOARD_LOG_DIR"));
}

TEST_F(FlagsTest, TrialsOfAStudyDoNotOverwriteEachOther) {
  platform_.tuning.trial = "7";
  const OutputOptions given = parse({"--job-dir=gs://b/study", "--export-dir=x/"}).settings.output;
  EXPECT_EQ(given.job_dir, "gs://b/study/7");
  EXPECT_EQ(given.export_dir, "x/7");
  EXPECT_EQ(given.checkpoint_dir, "");
  EXPECT_EQ(parse({}).tuning.trial, "7");
  const CommandLine reads = parse_alone({"--mode=eval", "--eval-data-file=e", "--job-dir=j"});
  EXPECT_EQ(reads.settings.output.job_dir, "j");

  platform_.model_dir = "gs://b/7/model/";  // already contains the trial
  platform_.checkpoint_dir = "gs://b/7/checkpoints/";
  const OutputOptions own =
      parse_alone({"--train-data-file=a", "--export-dir=gs://b/7/model/"}).settings.output;
  EXPECT_EQ(own.job_dir, "gs://b/7/");
  EXPECT_EQ(own.export_dir, "gs://b/7/model/");
  EXPECT_EQ(own.checkpoint_dir, "gs://b/7/checkpoints/");
  EXPECT_EQ(parse({"--job-dir=out"}).settings.output.job_dir, "out/7");
}

TEST_F(FlagsTest, AdaptersHavePeftsDefaults) {
  EXPECT_FALSE(training({}).optimization.lora);
  const LoraOptions lora = training({"--lora_r=4", "--lora-dropout=0.1"}).optimization.lora;
  EXPECT_EQ(lora.rank, 4);
  EXPECT_EQ(lora.alpha, 8);
  EXPECT_EQ(lora.dropout, 0.1);
  EXPECT_EQ(training({"--lora-rank=4", "--lora-alpha=32"}).optimization.lora.alpha, 32);
  EXPECT_TRUE(parse({"--lora-rank=4", "--export-adapter"}).settings.output.export_adapter);
  refuses({"--export-adapter"}, "there is no adapter without --lora-rank");
  refuses({"--lora-rank=4", "--init=random"}, "--lora-rank: LoRA leaves the encoder as it is");
  refuses({"--lora-rank=4", "--lora-alpha=0"}, "is not a number above 0");
}

TEST_F(FlagsTest, PlatformNamesTheDataThatNoFlagNames) {
  platform_.training_data = "gs://b/training-*";
  platform_.validation_data = "gs://b/validation-*";
  platform_.test_data = "gs://b/test-*";
  const DataOptions data = parse_alone({"--job-dir=out"}).settings.data;
  EXPECT_EQ(data.train_data_file, "gs://b/training-*");
  EXPECT_EQ(data.eval_data_file, "gs://b/validation-*");
  EXPECT_EQ(data.predict_data_file, "gs://b/test-*");
  // The platform's data belong together. A flag for one of them replaces them all.
  EXPECT_EQ(parse({}).settings.data.eval_data_file, "");
}

TEST_F(FlagsTest, LongAndOddValuesArePassedWhole) {
  const std::string path(1'000'000, 'x');
  EXPECT_EQ(parse({("--model=" + path).c_str()}).settings.model.model, path);
  EXPECT_EQ(parse({"--model=a\nb"}).settings.model.model, "a\nb");
  EXPECT_THAT([&] { parse({("--" + path).c_str()}); }, ThrowsCode(Code::kUsage, "unknown flag"));
}

TEST_F(FlagsTest, TheDelimiterMayBeHives) {
  for (const char* given : {"--delimiter=\\x01", "--delimiter=\\001", "--delimiter=\x01"}) {
    const Settings settings = parse({given}).settings;
    EXPECT_EQ(settings.data.text_form.delimiter, '\x01');
    const SettingsTable table = settings_table(settings);
    const auto written = std::ranges::find(table, "delimiter", &Setting::name);
    ASSERT_NE(written, table.end());
    EXPECT_EQ(written->value, "\\x01");
  }
  refuses({"--delimiter=\x02"}, "is not one character, comma, semicolon, tab, pipe or \\x01");
}

TEST_F(FlagsTest, SettingsTableReadsBackToTheSameSettings) {
  const Settings settings = parse({"--lr=3e-5", "--no-do-lower-case", "--threads=3"}).settings;
  std::vector<std::string> texts;
  for (const Setting& setting : settings_table(settings)) {
    if (!setting.value.empty()) texts.push_back("--" + setting.name + "=" + setting.value);
  }
  EXPECT_THAT(texts, testing::IsSupersetOf({"--learning-rate=3e-5", "--do-lower-case=false",
                                            "--mode=train_and_eval", "--train-data-file=a.csv"}));
  std::vector<const char*> arguments;
  for (const std::string& text : texts) arguments.push_back(text.c_str());
  EXPECT_EQ(settings_table(parse_alone(arguments).settings), settings_table(settings));
}

TEST_F(FlagsTest, SaveStepsAloneLeavesTheTimeOutOfSaving) {
  const auto minutes = [&](std::initializer_list<const char*> flags) {
    return parse(flags).settings.training.save_minutes;
  };
  EXPECT_EQ(minutes({}), std::nullopt);
  EXPECT_EQ(minutes({"--save-steps=500"}), 0);
  EXPECT_EQ(minutes({"--save-steps=500", "--save-minutes=auto"}), std::nullopt);
  EXPECT_EQ(minutes({"--save-steps=500", "--save-minutes=2.5"}), 2.5);
  refuses({"--save-minutes=often"},
          R"(--save-minutes: "often" is not auto or a number of minutes)");
}

TEST_F(FlagsTest, HiddenFlagOrVariableLowersTheInstructionSet) {
  EXPECT_EQ(parse({}).highest_instruction_set, "");
  platform_.instruction_set = "baseline";
  EXPECT_EQ(parse({}).highest_instruction_set, "baseline");
  EXPECT_EQ(parse({"--instruction-set=avx2"}).highest_instruction_set, "avx2");
}

}  // namespace
}  // namespace berth
