#include "trainer/inputs/load_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/support/tiny_config.h"
#include "trainer/weights/initial_values.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Names = std::vector<std::string>;

const Names kMnli = {"entailment", "neutral", "contradiction"};

TEST(KnownLabels, TakeTheModelsOrder) {
  EXPECT_EQ(in_order_of({"CONTRADICTION", "NEUTRAL", "ENTAILMENT"}, kMnli),
            (Names{"contradiction", "neutral", "entailment"}));
  EXPECT_EQ(in_order_of({"LABEL_0", "LABEL_1", "LABEL_2"}, kMnli), std::nullopt);
  EXPECT_EQ(in_order_of({"neutral", "entailment"}, kMnli), std::nullopt);
  EXPECT_EQ(in_order_of({"neutral", "neutral", "entailment"}, kMnli), std::nullopt);
  EXPECT_EQ(in_order_of({}, {}), Names());
}

TEST(KnownLabels, ReplaceOtherLabelsWithAWarning) {
  ModelConfig config;
  CapturedLog log;
  EXPECT_EQ(order_labels(config, kMnli), kMnli);
  config.labels = {"LABEL_0", "LABEL_1", "LABEL_2"};
  EXPECT_EQ(order_labels(config, kMnli), kMnli);
  config.labels = {"Neutral", "Contradiction", "Entailment"};
  EXPECT_THAT(order_labels(config, kMnli), ElementsAre("neutral", "contradiction", "entailment"));
  EXPECT_EQ(log.warnings(), "");
  config.labels = {"a", "b", "c"};
  EXPECT_EQ(order_labels(config, kMnli), kMnli);
  EXPECT_THAT(log.warnings(), HasSubstr("by position"));
}

TEST(LabelsOfTheData, TakeTheModelsOrderWhereOnlyCaseDiffers) {
  ModelConfig config;
  config.labels = {"POS", "NEG", "MID"};
  CapturedLog log;
  EXPECT_THAT(choose_labels(config, {"mid", "neg", "pos"}), ElementsAre("pos", "neg", "mid"));
  EXPECT_THAT(log.lines(), HasSubstr("in the data's spelling"));
  EXPECT_EQ(log.warnings(), "");
  EXPECT_THAT(choose_labels(config, {"mid", "neg", "other"}), ElementsAre("mid", "neg", "other"));
  EXPECT_THAT(log.warnings(), HasSubstr("by position"));
  EXPECT_THAT(choose_labels(config, {"POS", "neg", "pos"}), ElementsAre("POS", "neg", "pos"));
}

// A folder with a model that was saved as `config`, and how a job takes its head.
class HeadOfFileTest : public testing::Test {
 protected:
  void save(const ModelConfig& config, const std::string& from = "", const std::string& to = "") {
    HostTensors values(parameter_table(config));
    initialize(values, 0.2F, /*seed=*/1, /*threads=*/1);
    store_object(*storage_, Uri::parse(scratch_ / "model.safetensors"), [&](ByteSink& sink) {
      write_tensors(sink, saved_tensors(values), DType::kF32, {{"format", "pt"}});
    });
    std::string json = to_config_json(config);
    const size_t at = from.empty() ? std::string::npos : json.find(from);
    EXPECT_EQ(at == std::string::npos, from.empty()) << json;
    if (!from.empty()) json.replace(at, from.size(), to);
    write_text(scratch_ / "config.json", json);
  }
  ModelConfig read(Task task) {
    ModelConfig config = parse_config(folder_->config_json());
    config.task = task;
    if (!traits(task).has_classes) config.labels = output_labels(task);
    return config;
  }
  std::string log_of_filling(Task task) {
    folder_.emplace(*storage_, options_);
    const ModelConfig config = read(task);
    HostTensors values(parameter_table(config));
    CapturedLog log;
    fill_parameters(*folder_, options_, config, /*seed=*/0, /*threads=*/1, values);
    return log.lines();
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  const ModelOptions options_{.model = scratch_.path().string()};
  std::optional<ModelFolder> folder_;
};

TEST_F(HeadOfFileTest, OneLabelAndSeveralAreDifferentTasks) {
  ModelConfig config = tiny_config();
  config.task = Task::kSequenceClassification;
  save(config);
  EXPECT_THAT(log_of_filling(Task::kSequenceClassification), Not(HasSubstr("new")));
  EXPECT_THAT(log_of_filling(Task::kMultiLabel), HasSubstr("the head of multi_label"));
  // A file that does not say which it is.
  save(config, R"("problem_type": "single_label_classification")", R"("problem_type": null)");
  EXPECT_THAT(log_of_filling(Task::kMultiLabel), HasSubstr("head is used for multi_label"));
}

TEST_F(HeadOfFileTest, TheHeadOfAClassThatBerthDoesNotTrainIsNew) {
  ModelConfig config = tiny_config(1);
  config.task = Task::kRegression;
  config.labels = output_labels(config.task);
  save(config, "BertForSequenceClassification", "BertForNextSentencePrediction");
  EXPECT_THAT(log_of_filling(Task::kRegression),
              HasSubstr("BertForNextSentencePrediction: the head"));
}

TEST_F(HeadOfFileTest, ARegressionOfSeveralOutputsIsRefused) {
  ModelConfig config = tiny_config(1);
  config.task = Task::kRegression;
  config.labels = {"a", "b", "c"};
  save(config);
  folder_.emplace(*storage_, options_);
  const ModelConfig saved = read(Task::kRegression);
  HostTensors values(parameter_table(saved));
  EXPECT_THAT(
      [&] { fill_parameters(*folder_, options_, saved, 0, 1, values, HeadNeed::kRequired); },
      ThrowsCode(Code::kBadData,
                 "regression has 3 outputs (problem_type, num_labels), and berth's"));
}

// PEFT loads the base with transformers, which knows no such names.
TEST_F(HeadOfFileTest, ABaseThatPeftCannotLoadIsTold) {
  const ModelConfig config = tiny_config();
  const auto warnings = [&](const std::string& prefix) {
    save(config);
    HostTensors values(parameter_table(config));
    store_object(*storage_, Uri::parse(scratch_ / "model.safetensors"), [&](ByteSink& sink) {
      write_tensors(sink, saved_tensors(values, prefix), DType::kF32, {{"format", "pt"}});
    });
    folder_.emplace(*storage_, options_);
    CapturedLog log;
    warn_of_adapter_base(*folder_, options_, config);
    return log.warnings();
  };
  EXPECT_EQ(warnings(""), "");
  EXPECT_THAT(warnings("model."), HasSubstr("PEFT cannot load the adapter"));
}

TEST_F(HeadOfFileTest, AClassifierOfOneClassIsRefused) {
  ModelConfig config = tiny_config();
  config.task = Task::kSequenceClassification;
  config.labels = {"toxic"};
  save(config);
  folder_.emplace(*storage_, options_);
  const ModelConfig saved = read(Task::kSequenceClassification);
  HostTensors values(parameter_table(saved));
  EXPECT_THAT(
      [&] { fill_parameters(*folder_, options_, saved, 0, 1, values, HeadNeed::kRequired); },
      ThrowsCode(Code::kBadData, "multi_label_classification (--task multi_label)"));
  fill_parameters(*folder_, options_, saved, 0, 1, values);  // a training has labels of its own
}

TEST_F(HeadOfFileTest, NamesThatContradictEachOtherAreNamed) {
  ModelConfig config = tiny_config();
  config.task = Task::kSequenceClassification;
  DataOptions data;
  data.train_data_file = "rows.tfrecord";
  data.max_seq_length = 8;
  const auto warnings = [&] {
    folder_.emplace(*storage_, options_);
    CapturedLog log;
    describe_model(*folder_, options_, data);
    return log.warnings();
  };
  save(config);
  EXPECT_EQ(warnings(), "");
  save(config, R"("a": 0)", R"("a": 1)");
  EXPECT_THAT(warnings(), HasSubstr(R"("label2id" gives "a" the number 1, and "id2label" 0;)"));
  save(config, R"("1": "b")", R"("1": "a")");
  EXPECT_THAT(warnings(), HasSubstr(R"("id2label" gives two outputs the name "a")"));
}

TEST_F(HeadOfFileTest, TheFlagThatExceedsThePositionsIsNamedWithTheLimit) {
  const ModelConfig config = tiny_config();
  save(config);
  folder_.emplace(*storage_, options_);
  DataOptions data;
  data.train_data_file = "rows.tfrecord";
  data.max_seq_length = config.max_sequence_length() + 1;
  try {
    describe_model(*folder_, options_, data);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_EQ(error.where(), "--max-seq-length");
    EXPECT_EQ(error.hint(), cat("give ", config.max_sequence_length(), " or less"));
  }
}

// A job that an earlier version began does not go on with another reading.
TEST_F(HeadOfFileTest, WhatEarlierVersionsReadInAnotherWayIsARule) {
  DataOptions data;
  data.train_data_file = "rows.tfrecord";
  data.max_seq_length = 8;
  const auto rules = [&] {
    folder_.emplace(*storage_, options_);
    return describe_model(*folder_, options_, data).tokenizer_rules;
  };
  save(tiny_config());
  EXPECT_THAT(rules(), testing::IsEmpty());
  save(tiny_config(), R"("pad_token_id": 0)", R"("pad_token_id": null)");
  EXPECT_THAT(rules(), ElementsAre(HasSubstr("pad_token_id")));
  write_text(scratch_ / "config.json",
             R"({"model_type": "nomic_bert", "vocab_size": 8, "hidden_size": 8,
    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 8,
    "rope_theta": 50})");
  EXPECT_THAT(rules(), ElementsAre(HasSubstr("rope_theta")));
}

// transformers 5 trains the table of sines.
TEST_F(HeadOfFileTest, ARoFormerWithTrainedSinesIsRefused) {
  ModelConfig config = tiny_config();
  config.type = ModelType::kRoFormer;
  config.has_absolute_positions = false;
  config.rotary_turns_neighbours = true;
  config.embedding_size = 8;
  config.task = Task::kSequenceClassification;
  save(config);
  EXPECT_NO_THROW(log_of_filling(config.task));
  HostTensors values(parameter_table(config));
  std::vector<SavedTensor> tensors = saved_tensors(values);
  tensors[0].name = "roformer.encoder.embed_positions.weight";
  store_object(*storage_, Uri::parse(scratch_ / "model.safetensors"), [&](ByteSink& sink) {
    write_tensors(sink, tensors, DType::kF32, {{"format", "pt"}});
  });
  EXPECT_THAT([&] { log_of_filling(config.task); }, ThrowsCode(Code::kBadData, "embed_positions"));
}

TEST_F(HeadOfFileTest, ADecoderThatDiffersIsNotTied) {
  ModelConfig config = tiny_config();
  config.task = Task::kMaskedLm;
  config.ties_word_embeddings = false;
  save(config, R"("tie_word_embeddings": false)", R"("tie_word_embeddings": true)");
  folder_.emplace(*storage_, options_);
  ModelConfig read_config = read(Task::kMaskedLm);
  EXPECT_TRUE(read_config.ties_word_embeddings);
  std::vector<std::string> rules;
  CapturedLog log;
  resolve_decoder(*folder_, options_, read_config, rules);
  EXPECT_FALSE(read_config.ties_word_embeddings);
  EXPECT_THAT(rules, ElementsAre(kOwnDecoderRule));
  EXPECT_THAT(log.warnings(), HasSubstr("The decoder counts"));
  HostTensors values(parameter_table(read_config));
  fill_parameters(*folder_, options_, read_config, 0, 1, values);
  EXPECT_THAT(log.lines(), Not(HasSubstr("initialised at random")));
  // Another task does not look at the decoder.
  read_config = read(Task::kSequenceClassification);
  resolve_decoder(*folder_, options_, read_config, rules);
  EXPECT_TRUE(read_config.ties_word_embeddings);
}

TEST_F(HeadOfFileTest, APointerOfGitLfsIsNamed) {
  save(tiny_config());
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n";
  write_text(scratch_ / "model.safetensors", pointer);
  EXPECT_THAT([&] { log_of_filling(kDefaultTask); }, ThrowsCode(Code::kBadData, "git lfs pull"));
  write_text(scratch_ / "tokenizer.json", pointer);
  EXPECT_THAT([&] { folder_->text("tokenizer.json"); }, ThrowsCode(Code::kBadData, "git lfs pull"));
}

}  // namespace
}  // namespace berth
