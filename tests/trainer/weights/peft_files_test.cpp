#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/adapter_options.h"
#include "tests/support/tiny_config.h"
#include "trainer/weights/adapters.h"

namespace berth {
namespace {

const LoraOptions kLora{.rank = 4, .alpha = 8, .dropout = 0.1};

OrderedJson adapter_config(Task task = Task::kSequenceClassification) {
  ModelConfig config = tiny_config();
  config.task = task;
  return parse_ordered_json(to_adapter_config_json(config, kLora, "bert-base-uncased"));
}

TEST(AdapterConfig, AgreesWithPeft) {
  const OrderedJson object = adapter_config();
  EXPECT_EQ(object["peft_type"], "LORA");
  EXPECT_EQ(object["task_type"], "SEQ_CLS");
  EXPECT_EQ(object["r"], 4);
  EXPECT_EQ(object["lora_alpha"], 8);
  EXPECT_EQ(object["lora_dropout"], 0.1);
  EXPECT_EQ(object["base_model_name_or_path"], "bert-base-uncased");
  EXPECT_EQ(object["target_modules"], OrderedJson::array({"query", "value"}));
  EXPECT_EQ(object["modules_to_save"], OrderedJson::array({"pooler", "classifier"}));
}

TEST(AdapterConfig, NamesTheTask) {
  EXPECT_EQ(adapter_config(Task::kTokenClassification)["task_type"], "TOKEN_CLS");
  EXPECT_EQ(adapter_config(Task::kQuestionAnswering)["task_type"], "QUESTION_ANS");
  EXPECT_EQ(adapter_config(Task::kQuestionAnswering)["modules_to_save"],
            OrderedJson::array({"qa_outputs"}));
  EXPECT_EQ(adapter_config(Task::kRegression)["task_type"], "SEQ_CLS");
  EXPECT_EQ(adapter_config(Task::kMaskedLm)["task_type"], nullptr);
}

OrderedJson written_targets(const std::string& targets, Task task = Task::kSequenceClassification) {
  ModelConfig config = tiny_config();
  config.task = task;
  LoraOptions lora = kLora;
  lora.target_modules = targets;
  const std::string json = to_adapter_config_json(config, lora, "");
  const LoraOptions again = adapter_options(json);
  EXPECT_EQ(lora_targets(config, again, 1), lora_targets(config, lora, 1)) << targets;
  return parse_ordered_json(json)["target_modules"];
}

// The written names must make PEFT adapt what berth adapts and nothing else.
TEST(AdapterConfig, NamesTheAdaptedMatrices) {
  EXPECT_EQ(written_targets(""), OrderedJson::array({"query", "value"}));
  EXPECT_EQ(written_targets("key,attention.self.query"), OrderedJson::array({"query", "key"}));
  EXPECT_EQ(written_targets("attention.output.dense"),
            OrderedJson::array({"attention.output.dense"}));
  EXPECT_EQ(written_targets("output.dense, intermediate.dense"),
            OrderedJson::array({"output.dense", "intermediate.dense"}));
  const auto all =
      OrderedJson::array({"query", "key", "value", "output.dense", "intermediate.dense"});
  EXPECT_EQ(written_targets("all-linear"), all);
  EXPECT_EQ(written_targets("query,key,value,dense"), all);
  // Without a pooler, every matrix named "dense" is adapted.
  EXPECT_EQ(written_targets("all-linear", Task::kTokenClassification),
            OrderedJson::array({"query", "key", "value", "dense"}));
}

}  // namespace
}  // namespace berth
