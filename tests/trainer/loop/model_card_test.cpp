#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/loop/results.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

ModelConfig config_with(std::vector<std::string> labels) {
  ModelConfig config;
  config.labels = std::move(labels);
  return config;
}

JobMetrics metrics_with(std::map<std::string, double> scores, std::string dataset) {
  EvaluationResult evaluation;
  evaluation.examples = 8;
  evaluation.scores.metrics = std::move(scores);
  return {.result = {}, .evaluation = evaluation, .kernels = "", .dataset = std::move(dataset)};
}

TEST(ModelCard, BeginsWithTheHubsMetadata) {
  JobMetrics metrics = metrics_with({{"accuracy", 0.75}, {"f1_macro", 0.5}}, "news.csv");
  metrics.base_model = "hf://google-bert/bert-base-cased@main";
  EXPECT_THAT(model_card(config_with({"a", "b"}), metrics),
              testing::StartsWith("---\n"
                                  "library_name: transformers\n"
                                  "pipeline_tag: text-classification\n"
                                  "base_model: \"google-bert/bert-base-cased\"\n"
                                  "tags:\n- berth\n"
                                  "model-index:\n"
                                  "- name: Text classifier\n"
                                  "  results:\n"
                                  "  - task:\n"
                                  "      type: text-classification\n"
                                  "    dataset:\n"
                                  "      name: \"news.csv\"\n"
                                  "      type: news.csv\n"
                                  "    metrics:\n"
                                  "    - type: accuracy\n"
                                  "      name: accuracy\n"
                                  "      value: 0.75\n"
                                  "    - type: f1\n"
                                  "      name: f1_macro\n"
                                  "      value: 0.5\n"
                                  "---\n\n# Text classifier\n"));
}

TEST(ModelCard, NamesTheThresholdsOfLabels) {
  ModelConfig config = config_with({"rude", "a|b"});
  config.task = Task::kMultiLabel;
  EXPECT_THAT(model_card(config, {}), Not(HasSubstr("above the probability")));
  config.label_thresholds = {0.25, 0.5};
  EXPECT_THAT(model_card(config, {}),
              HasSubstr("| a label is predicted above the probability | rude 0.25, a\\|b 0.5 "
                        "(label_thresholds in config.json) |\n"));
}

TEST(ModelCard, HasNoIndexWithoutScores) {
  EXPECT_THAT(model_card(config_with({}), {.result = {}, .evaluation = {}, .kernels = ""}),
              testing::StartsWith("---\nlibrary_name: transformers\npipeline_tag: "
                                  "text-classification\ntags:\n- berth\n---\n\n# "));
  EXPECT_THAT(model_card(config_with({}), metrics_with({{"accuracy", NAN}}, "a.csv")),
              Not(HasSubstr("model-index")));
}

TEST(ModelCard, ShowsHostileNamesAsText) {
  const std::string card = model_card(config_with({"<script>", "a|b", "line\nbreak", "\x1b[31m"}),
                                      metrics_with({{"accuracy", 1}}, "---\ntags: [x]\"'\x1b"));
  EXPECT_THAT(card, Not(HasSubstr("<script>")));
  EXPECT_THAT(card, HasSubstr("&lt;script>, a\\|b, "));
  EXPECT_THAT(card, Not(HasSubstr("\x1b")));
  EXPECT_THAT(card, Not(HasSubstr("\ntags: [x]")));
  EXPECT_THAT(card, HasSubstr(R"(name: "---\ntags: [x]\"'\u001b")"));
}

TEST(CardName, IsTheHubsNameOrTheLastPartOfThePath) {
  EXPECT_EQ(card_name("hf://datasets/fancyzhx/ag_news@main/data/train.parquet"),
            "fancyzhx/ag_news");
  EXPECT_EQ(card_name("https://user:secret@host/data/train.csv?token=secret"), "train.csv");
  EXPECT_EQ(card_name("gs://bucket/glue/MRPC/"), "MRPC");
  EXPECT_EQ(card_name("train.csv"), "train.csv");
  EXPECT_EQ(card_name(""), "");
  EXPECT_EQ(hub_name("hf://bert-base-uncased@main"), "bert-base-uncased");
  EXPECT_EQ(hub_name("models/bert-base-uncased"), "");
}

}  // namespace
}  // namespace berth
