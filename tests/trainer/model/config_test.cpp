#include "trainer/model/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "tests/support/tiny_config.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(BertConfig, HasOnlyGooglesKeys) {
  const ModelConfig config = tiny_config();
  const auto json = parse_json(to_bert_config_json(config));
  EXPECT_EQ(json.size(), 11u);
  EXPECT_EQ(json.at("vocab_size"), config.vocab_size);
  EXPECT_EQ(json.at("hidden_act"), "gelu");
  EXPECT_EQ(json.at("initializer_range"), config.initializer_range);
}

TEST(BertConfig, IsReadBack) {
  const ModelConfig config = tiny_config();
  const ModelConfig back = parse_config(to_bert_config_json(config));
  EXPECT_EQ(back.hidden_size, config.hidden_size);
  EXPECT_EQ(back.num_hidden_layers, config.num_hidden_layers);
  EXPECT_EQ(back.num_attention_heads, config.num_attention_heads);
  EXPECT_EQ(back.intermediate_size, config.intermediate_size);
  EXPECT_EQ(back.max_position_embeddings, config.max_position_embeddings);
  EXPECT_EQ(back.type_vocab_size, config.type_vocab_size);
}

// The config.json of bert-base-uncased, reduced to the keys that describe the architecture.
OrderedJson base() {
  return {
      {"model_type", "bert"},           {"vocab_size", 30522},       {"hidden_size", 768},
      {"num_hidden_layers", 12},        {"hidden_act", "gelu"},      {"num_attention_heads", 12},
      {"type_vocab_size", 2},           {"intermediate_size", 3072}, {"pad_token_id", 0},
      {"max_position_embeddings", 512}, {"layer_norm_eps", 1e-12},   {"hidden_dropout_prob", 0.1}};
}

ModelConfig parse(const OrderedJson& object) { return parse_config(to_text(object)); }
ModelConfig parse_with(const std::string& key, const OrderedJson& value) {
  OrderedJson object = base();
  object[key] = value;
  return parse(object);
}
OrderedJson written(const ModelConfig& config) {
  return parse_ordered_json(to_config_json(config));
}

TEST(ModelConfig, ReadsTheArchitecture) {
  const ModelConfig config = parse(base());
  EXPECT_EQ(config.vocab_size, 30522);
  EXPECT_EQ(config.hidden_size, 768);
  EXPECT_EQ(config.num_hidden_layers, 12);
  EXPECT_EQ(config.num_attention_heads, 12);
  EXPECT_EQ(config.head_size(), 64);
  EXPECT_EQ(config.intermediate_size, 3072);
  EXPECT_EQ(config.max_position_embeddings, 512);
  EXPECT_EQ(config.hidden_act, Activation::kGelu);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  EXPECT_THAT(config.labels, IsEmpty());
}

TEST(ModelConfig, DefaultsAreThoseOfTransformers) {
  OrderedJson object = base();
  for (const char* key : {"type_vocab_size", "pad_token_id", "hidden_act", "layer_norm_eps",
                          "hidden_dropout_prob", "model_type"}) {
    object.erase(key);
  }
  const ModelConfig config = parse(object);
  EXPECT_EQ(config.type_vocab_size, 2);
  EXPECT_EQ(config.pad_token_id, 0);
  EXPECT_EQ(config.hidden_act, Activation::kGelu);
  EXPECT_EQ(config.hidden_dropout_prob, 0.1);
  EXPECT_EQ(config.attention_probs_dropout_prob, 0.1);
  EXPECT_EQ(config.initializer_range, 0.02);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
}

TEST(ModelConfig, KnowsTheActivationsOfBert) {
  EXPECT_EQ(parse_with("hidden_act", "gelu_new").hidden_act, Activation::kGeluTanh);
  EXPECT_EQ(parse_with("hidden_act", "gelu_python").hidden_act, Activation::kGelu);
  for (const char* name : {"gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate"}) {
    EXPECT_EQ(parse_with("hidden_act", name).hidden_act, Activation::kGeluTanh) << name;
  }
  EXPECT_EQ(parse_with("hidden_act", "swish").hidden_act, Activation::kSilu);
  EXPECT_EQ(parse_with("hidden_act", "relu").hidden_act, Activation::kRelu);
  EXPECT_EQ(parse_with("hidden_act", "tanh").hidden_act, Activation::kTanh);
}

TEST(ModelConfig, TheHeadHasItsOwnDropoutOrThatOfTheEncoder) {
  EXPECT_EQ(parse(base()).head_dropout(), 0.1);
  EXPECT_EQ(parse_with("classifier_dropout", nullptr).head_dropout(), 0.1);
  EXPECT_EQ(parse_with("classifier_dropout", 0.3).head_dropout(), 0.3);
}

// transformers 5 leaves id2label out of a file with two labels without names.
TEST(ModelConfig, AClassifierWithoutId2labelHasTheLabelsOfTransformers) {
  OrderedJson object = base();
  object["architectures"] = {"BertForSequenceClassification"};
  EXPECT_THAT(parse(object).labels, ElementsAre("LABEL_0", "LABEL_1"));
  object["num_labels"] = 3;
  EXPECT_THAT(parse(object).labels, ElementsAre("LABEL_0", "LABEL_1", "LABEL_2"));
  object["num_labels"] = 1;
  EXPECT_EQ(parse(object).saved_task, usual_task(LabelKind::kNumber));
  object["architectures"] = {"BertModel"};
  EXPECT_THAT(parse(object).labels, IsEmpty());
  object["num_labels"] = "many";
  EXPECT_THAT(parse(object).labels, IsEmpty());
}

TEST(ModelConfig, LabelsStandByTheirId) {
  const ModelConfig config = parse_with("id2label", {{"1", "ham"}, {"0", "spam"}, {"2", "eggs"}});
  EXPECT_THAT(config.labels, ElementsAre("spam", "ham", "eggs"));
  EXPECT_THAT(parse_with("id2label", {{"0", 0}, {"1", 1}}).labels, ElementsAre("0", "1"));
}

TEST(ModelConfig, SaysWhichKeyIsMissing) {
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "max_position_embeddings"}) {
    OrderedJson object = base();
    object.erase(key);
    EXPECT_THAT([&] { parse(object); }, ThrowsCode(Code::kUsage, key)) << key;
  }
}

TEST(ModelConfig, SaysWhichValueItCannotTake) {
  const std::pair<const char*, OrderedJson> refused[] = {
      {"vocab_size", 0},
      {"vocab_size", -5},
      {"vocab_size", 18446744073709551615u},
      {"hidden_size", "768"},
      {"hidden_size", 768.5},
      {"hidden_size", 770},  // not a multiple of 12 heads
      {"num_hidden_layers", 0},
      {"num_attention_heads", OrderedJson::array()},
      {"intermediate_size", 1e300},
      {"max_position_embeddings", 1LL << 40},
      {"type_vocab_size", 0},
      {"pad_token_id", -1},
      {"hidden_act", "mish"},
      {"hidden_act", 3},
      {"hidden_dropout_prob", 1.0},
      {"attention_probs_dropout_prob", -0.1},
      {"classifier_dropout", "none"},
      {"initializer_range", -1},
      {"layer_norm_eps", 0},
      {"model_type", "gpt2"},
      {"position_embedding_type", "relative_key"},
      {"is_decoder", true},
      {"is_decoder", "yes"},
      {"id2label", OrderedJson::array({"a", "b"})},
      {"id2label", {{"0", "a"}, {"2", "b"}}},
      {"id2label", {{"0", "a"}, {"00", "b"}}},
      {"id2label", {{"0", "a"}, {"-1", "b"}}},
      {"id2label", {{"0", 1.5}}}};
  for (const auto& [key, value] : refused) {
    EXPECT_THAT([&] { parse_with(key, value); }, ThrowsCode(Code::kUsage, key))
        << key << " " << value;
  }
}

TEST(ModelConfig, NullIsTheDefault) {
  for (const char* key : {"type_vocab_size", "hidden_act", "is_decoder", "id2label", "model_type",
                          "position_embedding_type", "layer_norm_eps"}) {
    EXPECT_NO_THROW(parse_with(key, nullptr)) << key;
  }
}

// In transformers, the row of pad_token_id never learns. null means that there is no such row.
TEST(ModelConfig, WithoutAPaddingTokenEachEmbeddingLearns) {
  const ModelConfig config = parse_with("pad_token_id", nullptr);
  EXPECT_EQ(config.pad_token_id, -1);
  EXPECT_TRUE(written(config)["pad_token_id"].is_null());
  EXPECT_EQ(parse_config(to_config_json(config)).pad_token_id, -1);
  // RoBERTa counts positions from the padding token, so it needs one.
  OrderedJson object = base();
  object["model_type"] = "roberta";
  object["pad_token_id"] = nullptr;
  EXPECT_EQ(parse(object).pad_token_id, 1);
}

TEST(ModelConfig, AnythingButAJsonObjectIsCorrupt) {
  for (const char* text : {"", "{", "[1]", "null", "{\"vocab_size\": 3,}", "\xff\xfe{}"}) {
    EXPECT_THAT([&] { parse_config(text); }, ThrowsCode(Code::kCorrupt)) << text;
  }
}

TEST(ModelConfig, CamembertIsARobertaWithItsOwnName) {
  const std::string sizes =
      R"("vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1,
         "intermediate_size": 8, "max_position_embeddings": 10, "type_vocab_size": 1)";
  for (const char* type :
       {R"("model_type": "camembert", )", R"("architectures": ["CamembertForMaskedLM"], )"}) {
    ModelConfig config = parse_config("{" + std::string(type) + sizes + "}");
    EXPECT_EQ(config.type, ModelType::kCamembert) << type;
    EXPECT_EQ(model_type_name(config.type), "camembert");
    EXPECT_EQ(config.first_position(), 2);
    config.task = Task::kSequenceClassification;
    config.labels = {"a", "b"};
    ModelConfig roberta = config;
    roberta.type = ModelType::kRoberta;
    const auto specs = parameter_table(config), expected = parameter_table(roberta);
    ASSERT_EQ(specs.size(), expected.size());
    for (size_t i = 0; i < specs.size(); ++i) EXPECT_EQ(specs[i].name, expected[i].name);
    EXPECT_TRUE(specs[0].name.starts_with("roberta.")) << specs[0].name;
  }
}

TEST(ModelConfig, SurvivesWritingAndReading) {
  OrderedJson object = base();
  object["id2label"] = {{"0", "no"}, {"1", "yes"}};
  object["hidden_act"] = "gelu_new";
  object["classifier_dropout"] = 0.25;
  object["initializer_range"] = 0.05;
  const ModelConfig first = parse(object);
  const ModelConfig again = parse_config(to_config_json(first));
  EXPECT_EQ(again.vocab_size, first.vocab_size);
  EXPECT_EQ(again.hidden_size, first.hidden_size);
  EXPECT_EQ(again.num_hidden_layers, first.num_hidden_layers);
  EXPECT_EQ(again.num_attention_heads, first.num_attention_heads);
  EXPECT_EQ(again.intermediate_size, first.intermediate_size);
  EXPECT_EQ(again.max_position_embeddings, first.max_position_embeddings);
  EXPECT_EQ(again.hidden_act, Activation::kGeluTanh);
  EXPECT_EQ(again.hidden_dropout_prob, first.hidden_dropout_prob);
  EXPECT_EQ(again.classifier_dropout, 0.25);
  EXPECT_EQ(again.initializer_range, 0.05);
  EXPECT_EQ(again.layer_norm_eps, 1e-12);
  EXPECT_EQ(again.labels, first.labels);
}

TEST(ModelConfig, WritesBothDirectionsOfTheLabels) {
  ModelConfig config = parse(base());
  config.labels = {"neg", "pos"};
  const OrderedJson object = written(config);
  EXPECT_EQ(object["id2label"], (OrderedJson{{"0", "neg"}, {"1", "pos"}}));
  EXPECT_EQ(object["label2id"], (OrderedJson{{"neg", 0}, {"pos", 1}}));
  EXPECT_EQ(object["architectures"], OrderedJson::array({"BertForSequenceClassification"}));
  EXPECT_EQ(object["problem_type"], "single_label_classification");
}

TEST(ModelConfig, KeepsUnusedKeysAndDropsOutdatedOnes) {
  OrderedJson object = base();
  object["directionality"] = "bidi";
  object["pooler_num_fc_layers"] = 3;
  object["num_labels"] = 7;
  object["transformers_version"] = "2.0";
  object["_name_or_path"] = "somewhere";
  const OrderedJson result = written(parse(object));
  EXPECT_EQ(result["directionality"], "bidi");
  EXPECT_EQ(result["pooler_num_fc_layers"], 3);
  EXPECT_FALSE(result.contains("num_labels"));
  EXPECT_FALSE(result.contains("transformers_version"));
  EXPECT_FALSE(result.contains("_name_or_path"));
}

OrderedJson saved_for(const char* class_name, const OrderedJson& problem_type, int num_labels) {
  OrderedJson object = base();
  object["architectures"] = OrderedJson::array({class_name});
  object["problem_type"] = problem_type;
  for (int i = 0; i < num_labels; ++i) {
    object["id2label"][std::to_string(i)] = "LABEL_" + std::to_string(i);
  }
  return object;
}

TEST(ModelConfig, TellsWhatTheFileWasSavedFor) {
  const auto task = [](const char* class_name, const OrderedJson& problem_type, int num_labels) {
    return parse(saved_for(class_name, problem_type, num_labels)).saved_task;
  };
  const char* const of_sequences = "BertForSequenceClassification";
  EXPECT_EQ(task(of_sequences, "single_label_classification", 3), Task::kSequenceClassification);
  EXPECT_EQ(task(of_sequences, nullptr, 3), Task::kSequenceClassification);
  EXPECT_EQ(task(of_sequences, nullptr, 1), Task::kRegression);
  EXPECT_EQ(task(of_sequences, "regression", 1), Task::kRegression);
  EXPECT_EQ(task(of_sequences, "multi_label_classification", 3), Task::kMultiLabel);
  EXPECT_EQ(task(of_sequences, "ranking", 3), std::nullopt);
  EXPECT_EQ(task("BertForTokenClassification", "regression", 3), Task::kTokenClassification);
  EXPECT_EQ(task("BertForQuestionAnswering", nullptr, 2), Task::kQuestionAnswering);
  EXPECT_EQ(task("BertForMaskedLM", nullptr, 2), Task::kMaskedLm);
  EXPECT_EQ(task("ElectraForPreTraining", nullptr, 2), Task::kReplacedTokenDetection);
  EXPECT_EQ(task("BertForPreTraining", nullptr, 2), Task::kNextSentence);
  EXPECT_EQ(task("AlbertForPreTraining", nullptr, 2), Task::kSentenceOrder);
  EXPECT_EQ(task("BertModel", nullptr, 2), std::nullopt);
  EXPECT_EQ(parse_with("problem_type", "regression").saved_task, Task::kRegression);
  EXPECT_EQ(parse(base()).saved_task, std::nullopt);
}

TEST(ModelConfig, ASavedScoreIsCalledScoreUnlessItHasAName) {
  OrderedJson object = saved_for("BertForSequenceClassification", "regression", 1);
  EXPECT_THAT(parse(object).labels, ElementsAre("score"));
  object["id2label"] = {{"0", "similarity"}};
  EXPECT_THAT(parse(object).labels, ElementsAre("similarity"));
  object.erase("id2label");
  EXPECT_THAT(parse(object).labels, ElementsAre("score"));
}

TEST(ModelConfig, EveryTaskIsReadBackAsTheSavedTask) {
  for (const Task task : {Task::kSequenceClassification, Task::kRegression, Task::kMultiLabel,
                          Task::kTokenClassification, Task::kQuestionAnswering, Task::kMaskedLm}) {
    ModelConfig config = parse(saved_for("BertForSequenceClassification", "regression", 1));
    config.task = task;
    if (task != Task::kRegression) config.labels = {"a", "b", "c"};
    EXPECT_EQ(parse_config(to_config_json(config)).saved_task, task);
  }
}

TEST(ModelConfig, WritesAsManyLabelsAsTransformersCountsOutputs) {
  ModelConfig config = parse(base());
  config.task = Task::kRegression;
  config.labels = {"score"};
  EXPECT_EQ(written(config)["id2label"], (OrderedJson{{"0", "LABEL_0"}}));
  EXPECT_EQ(written(config)["label2id"], (OrderedJson{{"LABEL_0", 0}}));
  config.labels = {"similarity"};
  EXPECT_EQ(written(config)["id2label"], (OrderedJson{{"0", "similarity"}}));
  config.task = Task::kQuestionAnswering;
  EXPECT_EQ(written(config)["id2label"], (OrderedJson{{"0", "LABEL_0"}, {"1", "LABEL_1"}}));
  EXPECT_FALSE(written(config).contains("problem_type"));
}

TEST(ModelConfig, KeepsTheThresholdsOfSetsOfLabels) {
  OrderedJson object = saved_for("BertForSequenceClassification", "multi_label_classification", 2);
  object["label_thresholds"] = {0.125, 0.3};
  ModelConfig config = parse(object);
  EXPECT_THAT(config.label_thresholds, ElementsAre(0.125, 0.3));
  config.task = Task::kMultiLabel;
  EXPECT_EQ(written(config)["label_thresholds"], (OrderedJson{0.125, 0.3}));
  config.label_thresholds.clear();  // the base model's own do not stay
  EXPECT_FALSE(written(config).contains("label_thresholds"));
  config.label_thresholds = {0.125, 0.3};
  config.task = Task::kSequenceClassification;
  EXPECT_FALSE(written(config).contains("label_thresholds"));
  for (const OrderedJson& wrong :
       {OrderedJson{0.5}, OrderedJson{0.5, 1.5}, OrderedJson{0.5, "x"}, OrderedJson(0.5)}) {
    object["label_thresholds"] = wrong;
    EXPECT_THAT([&] { parse(object); }, ThrowsCode(Code::kUsage, "label_thresholds")) << wrong;
  }
}

TEST(ModelConfig, OutputsFollowFromTheTask) {
  ModelConfig config = parse(base());
  config.labels = {"a", "b", "c"};
  EXPECT_EQ(config.num_outputs(), 3);
  config.task = Task::kMultiLabel;
  EXPECT_EQ(config.num_outputs(), 3);
  config.task = Task::kRegression;
  EXPECT_EQ(config.num_outputs(), 1);
  config.task = Task::kQuestionAnswering;
  EXPECT_EQ(config.num_outputs(), 2);
  EXPECT_EQ(config.head_dropout(), 0);
}

TEST(ModelConfig, OnlyDistilBertHasDropoutBeforeAnswers) {
  OrderedJson object = {{"model_type", "distilbert"},
                        {"vocab_size", 9},
                        {"dim", 4},
                        {"n_layers", 1},
                        {"n_heads", 1},
                        {"hidden_dim", 4},
                        {"max_position_embeddings", 8}};
  ModelConfig config = parse(object);
  config.task = Task::kQuestionAnswering;
  EXPECT_EQ(config.head_dropout(), 0.1);
  object["qa_dropout"] = 0.25;
  config = parse_config(to_config_json(parse(object)));
  config.task = Task::kQuestionAnswering;
  EXPECT_EQ(config.head_dropout(), 0.25);
}

TEST(ModelConfig, CanBeWrittenWithoutASource) {
  const ModelConfig config{.vocab_size = 10,
                           .hidden_size = 4,
                           .num_hidden_layers = 1,
                           .num_attention_heads = 2,
                           .intermediate_size = 8,
                           .max_position_embeddings = 6,
                           .hidden_act = Activation::kRelu,
                           .labels = {"a", "b"}};
  const ModelConfig again = parse_config(to_config_json(config));
  EXPECT_EQ(again.hidden_act, Activation::kRelu);
  EXPECT_EQ(again.labels, config.labels);
}

}  // namespace
}  // namespace berth
