#include "trainer/inputs/sentence_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <span>

#include "storage/archived_storage.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// One module of modules.json.
std::string module_of(const std::string& path, const std::string& type) {
  return R"({"idx": 0, "name": "0", "path": ")" + path + R"(", "type": ")" + type + "\"}";
}

class SentenceFilesTest : public testing::Test {
 protected:
  SentenceFilesTest() {
    for (const char* folder : {"model/1_Pooling", "old/0_Transformer", "old/1_Pooling"}) {
      fs::create_directories(scratch_ / folder);
    }
    for (const char* folder : {"model", "old/0_Transformer"}) {
      const std::string path = scratch_ / folder;
      write_text(path + "/config.json", "{}");
      write_text(path + "/model.safetensors", "");
    }
  }
  void write_modules(const std::string& folder, const std::vector<std::string>& modules) {
    std::string list;
    for (const std::string& module : modules) list += (list.empty() ? "" : ", ") + module;
    write_text(scratch_ / (folder + "/modules.json"), "[" + list + "]");
  }
  void write_pooling(const std::string& config) {
    write_modules("model", {module_of("", "sentence_transformers.models.Transformer"),
                            module_of("1_Pooling", "sentence_transformers.models.Pooling")});
    write_text(scratch_ / "model/1_Pooling/config.json", config);
  }
  SentenceFiles read(const std::string& model = "model") {
    ModelFolder folder(*storage_, {.model = scratch_ / model});
    return read_sentence_files(folder);
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_archived_storage(make_local_storage());
};

TEST_F(SentenceFilesTest, AFolderMayHaveNone) {
  const SentenceFiles files = read();
  EXPECT_FALSE(files.is_there);
  EXPECT_EQ(files.pooling, std::nullopt);
  EXPECT_EQ(files.max_seq_length, std::nullopt);
}

TEST_F(SentenceFilesTest, ModulesSayPoolingAndNormalization) {
  write_pooling(
      R"({"word_embedding_dimension": 8, "pooling_mode_cls_token": true,
          "pooling_mode_mean_tokens": false, "pooling_mode_max_tokens": false})");
  write_modules("model", {module_of("", "sentence_transformers.models.Transformer"),
                          module_of("1_Pooling", "sentence_transformers.models.Pooling"),
                          module_of("2_Normalize", "sentence_transformers.models.Normalize")});
  write_text(scratch_ / "model/sentence_bert_config.json",
             R"({"max_seq_length": 256, "do_lower_case": false})");
  const SentenceFiles files = read();
  EXPECT_TRUE(files.is_there);
  EXPECT_EQ(files.pooling, Pooling::kCls);
  EXPECT_TRUE(files.normalizes);
  EXPECT_EQ(files.max_seq_length, 256);
}

TEST_F(SentenceFilesTest, NewerFoldersNameThePoolingAndTheTokenizersLength) {
  write_pooling(R"({"embedding_dimension": 8, "pooling_mode": "max", "include_prompt": true})");
  write_text(scratch_ / "model/sentence_bert_config.json",
             R"({"transformer_task": "feature-extraction"})");
  write_text(scratch_ / "model/tokenizer_config.json", R"({"model_max_length": 128})");
  EXPECT_EQ(read().pooling, Pooling::kMax);
  EXPECT_EQ(read().max_seq_length, 128);
}

TEST_F(SentenceFilesTest, OlderFoldersKeepTheEncoderInAFolderOfItsOwn) {
  write_modules("old", {module_of("0_Transformer", "sentence_transformers.models.Transformer"),
                        module_of("1_Pooling", "sentence_transformers.models.Pooling")});
  write_text(scratch_ / "old/1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  write_text(scratch_ / "old/0_Transformer/sentence_bert_config.json", R"({"max_seq_length": 64})");
  ModelFolder folder(*storage_, {.model = scratch_ / "old"});
  EXPECT_EQ(folder.config_json(), "{}");
  EXPECT_EQ(read("old").pooling, Pooling::kMean);
  EXPECT_EQ(read("old").max_seq_length, 64);
}

TEST_F(SentenceFilesTest, ModulesSayWhichFolderHoldsTheEncoder) {
  for (const char* name : {"0_BERT", "encoders/last"}) {
    write_modules("old", {module_of(name, "sentence_transformers.models.Transformer"),
                          module_of("1_Pooling", "sentence_transformers.models.Pooling")});
    write_text(scratch_ / "old/1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
    const std::string encoder = scratch_ / ("old/" + std::string(name));
    fs::create_directories(encoder);
    write_text(encoder + "/model.safetensors", "");
    write_text(encoder + "/config.json", "{2}");
    write_text(encoder + "/sentence_bert_config.json", R"({"max_seq_length": 7})");
    write_text(scratch_ / "old/config.json", "{1}");  // another model
    ModelFolder folder(*storage_, {.model = scratch_ / "old"});
    EXPECT_EQ(folder.config_json(), "{2}");
    EXPECT_EQ(read("old").pooling, Pooling::kMax);
    EXPECT_EQ(read("old").max_seq_length, 7);
  }
  write_modules("old", {module_of("../model", "sentence_transformers.models.Transformer")});
  EXPECT_THAT([&] { read("old"); }, ThrowsCode(Code::kCorrupt, "names the folder"));
}

TEST_F(SentenceFilesTest, WithoutModulesTheOtherFilesDoNotCount) {
  write_text(scratch_ / "model/sentence_bert_config.json",
             R"({"max_seq_length": 12, "do_lower_case": true})");
  write_text(scratch_ / "model/tokenizer_config.json", R"({"model_max_length": 50})");
  const CapturedLog log;
  EXPECT_EQ(read().max_seq_length, 50);
  EXPECT_FALSE(read().lowers_case);
  EXPECT_THAT(log.warnings(), testing::HasSubstr("without modules.json"));
}

TEST_F(SentenceFilesTest, AnArchiveMayHoldTheEncoderInAnyFolder) {
  write_text(
      scratch_ / "named.tar",
      TarBytes()
          .file("all/1_Pooling/config.json", R"({"pooling_mode_cls_token": true})")
          .file("all/0_BERT/config.json", "{3}")
          .file("all/modules.json",
                "[" + module_of("0_BERT", "sentence_transformers.models.Transformer") + ", " +
                    module_of("1_Pooling", "sentence_transformers.models.Pooling") + "]")
          .end());
  ModelFolder folder(*storage_, {.model = scratch_ / "named.tar"});
  EXPECT_EQ(folder.config_json(), "{3}");
  EXPECT_EQ(read_sentence_files(folder).pooling, Pooling::kCls);
}

TEST_F(SentenceFilesTest, AnArchiveMayHoldAnOlderFolder) {
  write_text(scratch_ / "old.tar",
             TarBytes()
                 .file("all/modules.json",
                       "[" + module_of("1_Pooling", "sentence_transformers.models.Pooling") + "]")
                 .file("all/0_Transformer/config.json", "{3}")
                 .file("all/1_Pooling/config.json", R"({"pooling_mode_cls_token": true})")
                 .end());
  ModelFolder folder(*storage_, {.model = scratch_ / "old.tar"});
  EXPECT_EQ(folder.config_json(), "{3}");
  EXPECT_EQ(read_sentence_files(folder).pooling, Pooling::kCls);
}

TEST_F(SentenceFilesTest, ALengthWithoutLimitIsNone) {
  write_text(scratch_ / "model/tokenizer_config.json",
             R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(read().max_seq_length, std::nullopt);
}

TEST_F(SentenceFilesTest, AFlagIsTrueOrFalse) {
  for (const char* config :
       {R"({"pooling_mode": "mean", "include_prompt": "false"})",
        R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": 1})"}) {
    write_pooling(config);
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "not true or false")) << config;
  }
  write_pooling(R"({"pooling_mode": "mean", "include_prompt": null})");
  EXPECT_FALSE(read().pools_prompts);
  write_text(scratch_ / "model/sentence_bert_config.json", R"({"do_lower_case": 1})");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "\"do_lower_case\" is 1"));
}

TEST_F(SentenceFilesTest, APromptIsAText) {
  write_pooling(R"({"pooling_mode": "mean"})");
  write_text(scratch_ / "model/config_sentence_transformers.json",
             R"({"prompts": {"query": ["q: "]}, "default_prompt_name": "query"})");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "the prompt \"query\" is [\"q: \"]"));
}

TEST_F(SentenceFilesTest, WhatIsNotComputedIsRefused) {
  for (const char* config :
       {R"({"pooling_mode_weightedmean_tokens": true})", R"({"pooling_mode": "lasttoken"})"}) {
    write_pooling(config);
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "does not compute the pooling"));
  }
  for (const char* config :
       {R"({"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true})", "{}", "[]"}) {
    write_pooling(config);
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "exactly one pooling"));
  }
  write_modules("model", {module_of("2_Dense", "sentence_transformers.models.Dense")});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "Dense"));
}

TEST_F(SentenceFilesTest, DenseModulesAreReadAndWritten) {
  const std::string dense = module_of("2_Dense", "sentence_transformers.models.Dense");
  write_pooling(R"({"pooling_mode": "mean"})");
  write_modules("model", {module_of("", "sentence_transformers.models.Transformer"),
                          module_of("1_Pooling", "sentence_transformers.models.Pooling"), dense,
                          module_of("3_Normalize", "sentence_transformers.models.Normalize")});
  for (const char* folder : {"model/2_Dense", "made"}) fs::create_directories(scratch_ / folder);
  const std::string config = scratch_ / "model/2_Dense/config.json";
  const std::string sizes = R"("in_features": 8, "out_features": 4)";
  write_text(config, "{" + sizes + "}");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kNotFound, "no model.safetensors"));
  write_text(scratch_ / "model/2_Dense/pytorch_model.bin", "");
  const DenseModule plain{.folder = "2_Dense",
                          .inputs = 8,
                          .outputs = 4,
                          .has_bias = true,
                          .activation = Activation::kTanh};
  EXPECT_THAT(read().dense, testing::ElementsAre(plain));
  EXPECT_TRUE(read().normalizes);
  write_text(config, "{" + sizes +
                         R"(, "bias": false,
                              "activation_function": "torch.nn.modules.linear.Identity"})");
  const SentenceFiles files = read();
  EXPECT_EQ(files.dense.at(0).has_bias, false);
  EXPECT_EQ(files.dense.at(0).activation, std::nullopt);
  for (const char* more :
       {R"(, "activation_function": "torch.nn.modules.activation.GELU")",
        R"(, "activation_function": "my_package.Identity")", R"(, "activation_function": "Tanh")",
        R"(, "use_residual": true)", R"(, "module_input_name": "tokens")", R"(, "in_features": 0)",
        R"(, "out_features": "4")"}) {
    write_text(config, "{" + sizes + more + "}");
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "is")) << more;
  }
  // They are written with their parameters, and read back.
  ModelConfig written{.task = Task::kTextEmbedding,
                      .vocab_size = 4,
                      .hidden_size = 8,
                      .num_attention_heads = 1,
                      .max_position_embeddings = 4,
                      .dense_modules = {plain, files.dense[0]},
                      .normalizes_embeddings = true};
  written.dense_modules[1].inputs = 4;
  HostTensors values(parameter_table(written));
  for (size_t i = 0; i < values.specs().size(); ++i) {
    std::vector<float> numbers(static_cast<size_t>(values.specs()[i].elements()));
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(i));
    values.write(i, 0, std::as_bytes(std::span(numbers)));
  }
  const Uri made = Uri::parse(scratch_ / "made");
  write_text(scratch_ / "made/config.json", "{}");
  write_text(scratch_ / "made/model.safetensors", "");
  write_sentence_files(*storage_, made, written, 16);
  write_dense_modules(*storage_, made, written, values, DType::kF32);
  std::vector<DenseModule> expected = written.dense_modules;
  expected[1].folder = "3_Dense";
  EXPECT_EQ(read("made").dense, expected);
  EXPECT_TRUE(read("made").normalizes);
  ModelFolder folder(*storage_, {.model = scratch_ / "made"});
  const auto second = folder.module_parameters("3_Dense");
  ASSERT_TRUE(second);
  ASSERT_EQ(second->tensors->tensors().size(), 1u);  // there is no bias
  EXPECT_EQ(second->tensors->tensors()[0].name, "linear.weight");
  EXPECT_EQ(second->tensors->tensors()[0].shape, (std::vector<int64_t>{4, 4}));
}

TEST_F(SentenceFilesTest, ALengthThatIsNoneIsRefused) {
  write_pooling(R"({"pooling_mode": "mean"})");
  const std::string encoder = scratch_ / "model/sentence_bert_config.json";
  for (const char* length : {"2", "\"8\"", "8.0", "-1", "[8]", "true"}) {
    write_text(encoder, std::string(R"({"max_seq_length": )") + length + "}");
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "\"max_seq_length\" is")) << length;
  }
  write_text(encoder, R"({"max_seq_length": null})");
  write_text(scratch_ / "model/tokenizer_config.json", R"({"max_len": 9})");
  EXPECT_EQ(read().max_seq_length, 9);
  write_text(scratch_ / "model/tokenizer_config.json", R"({"model_max_length": "9"})");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "\"model_max_length\" is"));
}

TEST_F(SentenceFilesTest, TheFirstConfigurationOfTheEncoderCounts) {
  write_pooling(R"({"pooling_mode": "mean"})");
  write_text(scratch_ / "model/sentence_bert_config.json", R"({"max_seq_length": 12})");
  write_text(scratch_ / "model/sentence_roberta_config.json",
             R"({"max_seq_length": 6, "do_lower_case": true})");
  EXPECT_EQ(read().max_seq_length, 12);
  EXPECT_FALSE(read().lowers_case);
  write_text(scratch_ / "model/sentence_bert_config.json", "{}");
  EXPECT_EQ(read().max_seq_length, 6);
  EXPECT_TRUE(read().lowers_case);
}

TEST_F(SentenceFilesTest, ModulesOfOtherPackagesAndInAnotherOrderAreRefused) {
  const std::string pooling = module_of("1_Pooling", "sentence_transformers.models.Pooling");
  const std::string encoder = module_of("", "sentence_transformers.models.Transformer");
  const std::string unit = module_of("2_Normalize", "sentence_transformers.models.Normalize");
  write_pooling(R"({"pooling_mode": "mean"})");
  write_modules("model", {module_of("", "custom_st.Transformer"), pooling});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "\"custom_st.Transformer\""));
  write_modules("model", {encoder, unit, pooling});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "another place"));
  write_modules("model", {encoder, pooling, pooling});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "another place"));
  write_modules("model", {encoder});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "no Pooling"));
  write_modules(
      "model",
      {module_of("", "sentence_transformers.base.modules.transformer.Transformer"),
       module_of("1_Pooling", "sentence_transformers.sentence_transformer.modules.pooling.Pooling"),
       unit, unit});
  EXPECT_TRUE(read().normalizes);
}

TEST_F(SentenceFilesTest, APoolingWithoutItsFileIsRefused) {
  write_modules("model", {module_of("", "sentence_transformers.models.Transformer"),
                          module_of("1_Pooling", "sentence_transformers.models.Pooling")});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kNotFound, "1_Pooling/config.json"));
}

TEST_F(SentenceFilesTest, WhatIsNotJsonIsCorrupt) {
  write_text(scratch_ / "model/modules.json", "[{");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "not JSON"));
}

TEST_F(SentenceFilesTest, WhatIsWrittenIsReadBack) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kMax}) {
    const bool normalizes = pooling == Pooling::kMax;
    const ModelConfig config{
        .hidden_size = 8, .pooling = pooling, .normalizes_embeddings = normalizes};
    write_sentence_files(*storage_, Uri::parse(scratch_ / "model"), config, 77);
    const SentenceFiles files = read();
    EXPECT_TRUE(files.is_there);
    EXPECT_EQ(files.pooling, pooling);
    EXPECT_EQ(files.normalizes, normalizes);
    EXPECT_EQ(files.max_seq_length, 77);
  }
}

TEST_F(SentenceFilesTest, TheDefaultPromptIsOneOfThePrompts) {
  write_pooling(R"({"pooling_mode_mean_tokens": true})");
  const std::string config = scratch_ / "model/config_sentence_transformers.json";
  EXPECT_EQ(read().default_prompt, "");
  write_text(config, R"({"prompts": {"q": "query: "}, "default_prompt_name": "q"})");
  EXPECT_EQ(read().default_prompt_name, "q");
  EXPECT_EQ(read().default_prompt, "query: ");
  // sentence-transformers gives each model an empty prompt "query" and an empty "document".
  write_text(config, R"({"prompts": {}, "default_prompt_name": "document"})");
  EXPECT_EQ(read().default_prompt, "");
  write_text(config, R"({"prompts": {"q": "query: "}, "default_prompt_name": "other"})");
  EXPECT_THAT([&] { read(); },
              ThrowsCode(Code::kUsage, "the default prompt \"other\" is not among the prompts"));
}

TEST_F(SentenceFilesTest, APoolingMayLeavePromptsOut) {
  write_pooling(R"({"pooling_mode": "mean", "include_prompt": true})");
  EXPECT_TRUE(read().pools_prompts);
  write_pooling(R"({"pooling_mode": "mean", "include_prompt": false})");
  const SentenceFiles files = read();
  EXPECT_FALSE(files.pools_prompts);
  write_sentence_files(*storage_, Uri::parse(scratch_ / "model"), {.hidden_size = 8}, 64, files);
  EXPECT_FALSE(read().pools_prompts) << "a training keeps it";
}

TEST(SearchPrompts, ComeFromTheModelsFolder) {
  const auto prompts = [](const std::string& json) {
    return search_prompts({.config_json = json});
  };
  EXPECT_EQ(prompts("").query, "");
  EXPECT_EQ(prompts(R"({"prompts": {}})").passage, "");
  const SearchPrompts e5 = prompts(R"({"prompts": {"query": "query: ", "passage": "passage: "}})");
  EXPECT_EQ(e5.query, "query: ");
  EXPECT_EQ(e5.passage, "passage: ");
  EXPECT_EQ(prompts(R"({"prompts": {"document": "", "passage": "p"}})").passage, "");
  EXPECT_EQ(prompts(R"({"prompts": {"query": null}, "default_prompt_name": "query"})").query, "");
}

TEST(SearchPrompts, AreFoundByTheirNames) {
  const SentenceFiles files{.config_json = R"({"prompts": {"s2s": "task: ", "query": ""}})"};
  EXPECT_EQ(prompt_named(files, "s2s"), "task: ");
  EXPECT_EQ(prompt_named(files, "document"), "");
  EXPECT_EQ(prompt_named(files, "other"), std::nullopt);
  EXPECT_THAT(prompt_names(files), testing::ElementsAre("s2s"));
}

TEST(SearchPrompts, TakeThePlaceOfOthers) {
  SentenceFiles files{.default_prompt_name = "passage",
                      .default_prompt = "p",
                      .config_json = R"({"prompts": {"passage": "p", "s2s": "s"},
                                         "default_prompt_name": "passage", "truncate_dim": 4})"};
  set_search_prompts({.query = "Q ", .passage = "D "}, files);
  EXPECT_EQ(search_prompts(files).query, "Q ");
  EXPECT_EQ(search_prompts(files).passage, "D ");
  EXPECT_EQ(prompt_named(files, "document"), "D ");
  EXPECT_EQ(prompt_named(files, "passage"), "D ");
  EXPECT_EQ(prompt_named(files, "s2s"), "s");
  EXPECT_EQ(files.default_prompt, "D ");
  EXPECT_THAT(files.config_json, testing::HasSubstr("truncate_dim"));
  SentenceFiles none;
  set_search_prompts({.query = "Q ", .passage = ""}, none);
  EXPECT_EQ(search_prompts(none).query, "Q ");
  EXPECT_EQ(prompt_named(none, "passage"), std::nullopt);
}

TEST_F(SentenceFilesTest, EveryKeyIsReadOrRefusedByName) {
  write_pooling(R"({"pooling_mode": "mean", "include_prompt": true})");
  const std::string config = scratch_ / "model/config_sentence_transformers.json";
  const std::string encoder = scratch_ / "model/sentence_bert_config.json";
  write_text(encoder, R"({"max_seq_length": 32, "do_lower_case": true})");
  write_text(config, R"({"truncate_dim": 16, "similarity_fn_name": "dot"})");
  const SentenceFiles files = read();
  EXPECT_TRUE(files.lowers_case);
  EXPECT_EQ(files.truncate_dim, 16);
  EXPECT_EQ(files.similarity, "dot");
  write_text(encoder, R"({"transformer_task": "fill-mask"})");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "\"transformer_task\" is \"fill-mask\""));
  write_text(encoder, "{}");
  write_text(config, R"({"model_type": "CrossEncoder"})");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "is a cross-encoder"));
  write_text(config, R"({"truncate_dim": "16"})");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, "truncate_dim"));
  write_text(config, "{}");
  for (const char* key : {"model_kwargs", "processor_kwargs", "config_kwargs"}) {
    write_text(encoder, cat("{", quoted(key), R"(: {"truncation_side": "left"}})"));
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUsage, quoted(key)));
    write_text(encoder, cat("{", quoted(key), ": {}}"));
    EXPECT_NO_THROW(read());
  }
  write_text(config, R"({"hidden_secret": 1})");
  CapturedLog log;
  read();
  EXPECT_THAT(log.warnings(), testing::HasSubstr("hidden_secret"));
}

TEST_F(SentenceFilesTest, ATrainingKeepsPromptsAndDimensions) {
  write_pooling(R"({"pooling_mode_mean_tokens": true})");
  write_text(scratch_ / "model/config_sentence_transformers.json",
             R"({"prompts": {"query": "query: "}, "default_prompt_name": "query",
                 "truncate_dim": 4, "__version__": {"pytorch": "1"}})");
  write_text(scratch_ / "model/sentence_bert_config.json", R"({"do_lower_case": true})");
  const SentenceFiles files = read();
  fs::create_directories(std::string(scratch_ / "made"));
  write_sentence_files(*storage_, Uri::parse(scratch_ / "made"), {.hidden_size = 8}, 64, files);
  write_text(scratch_ / "made/config.json", "{}");
  write_text(scratch_ / "made/model.safetensors", "");
  const SentenceFiles made = read("made");
  EXPECT_EQ(made.truncate_dim, 4);
  EXPECT_EQ(made.default_prompt, "query: ");
  EXPECT_TRUE(made.lowers_case);
  EXPECT_EQ(made.max_seq_length, 64);
}

TEST_F(SentenceFilesTest, TheFunctionOfTheFolderIsKept) {
  for (const char* name : {"", "dot", "euclidean", "cosine"}) {
    write_sentence_files(*storage_, Uri::parse(scratch_ / "model"), {.hidden_size = 8}, 64,
                         {.similarity = name});
    EXPECT_EQ(read("model").similarity, *name == '\0' ? "cosine" : name);
  }
}

TEST_F(SentenceFilesTest, ACopyIsReadLikeTheOriginal) {
  write_modules("old", {module_of("0_Transformer", "sentence_transformers.models.Transformer"),
                        module_of("1_Pooling", "sentence_transformers.models.Pooling"),
                        module_of("2_Normalize", "sentence_transformers.models.Normalize")});
  write_text(scratch_ / "old/1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  write_text(scratch_ / "old/0_Transformer/sentence_bert_config.json", R"({"max_seq_length": 77})");
  write_text(scratch_ / "old/config_sentence_transformers.json",
             R"({"prompts": {"q": "query: "}})");
  ModelFolder original(*storage_, {.model = scratch_ / "old"});
  copy_sentence_files(original, *storage_, Uri::parse(scratch_ / "model"));
  const SentenceFiles files = read("model");  // whose encoder is not in a folder of its own
  EXPECT_EQ(files.pooling, Pooling::kCls);
  EXPECT_TRUE(files.normalizes);
  EXPECT_EQ(files.max_seq_length, 77);
  EXPECT_EQ(read_text(scratch_ / "model/config_sentence_transformers.json"),
            R"({"prompts": {"q": "query: "}})");
}

TEST_F(SentenceFilesTest, NoModuleLiesOutsideTheFolder) {
  for (const char* path : {"../x", "/x", "a/../../x", ""}) {
    write_modules("model", {module_of(path, "sentence_transformers.models.Pooling")});
    ModelFolder folder(*storage_, {.model = scratch_ / "model"});
    EXPECT_THAT([&] { copy_sentence_files(folder, *storage_, Uri::parse(scratch_ / "copy")); },
                ThrowsCode(Code::kCorrupt));
  }
}

class CrossEncoderFilesTest : public SentenceFilesTest {
 protected:
  std::optional<CrossEncoderFiles> read_with(const std::string& config) {
    write_text(scratch_ / "model/config.json", config);
    ModelFolder folder(*storage_, {.model = scratch_ / "model"});
    return read_cross_encoder_files(folder);
  }
};

TEST_F(CrossEncoderFilesTest, EveryVersionNamesTheFunctionOfScores) {
  EXPECT_EQ(read_with(R"({"model_type": "bert"})"), std::nullopt);
  const auto old =
      read_with(R"({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"})");
  ASSERT_TRUE(old.has_value());
  EXPECT_EQ(old->form, ScoreForm::kLogit);
  EXPECT_EQ(old->max_seq_length, std::nullopt);
  const auto newer = read_with(
      R"({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}})");
  ASSERT_TRUE(newer.has_value());
  EXPECT_EQ(newer->form, ScoreForm::kProbability);
  for (const char* function : {"torch.nn.Tanh", "my_package.Identity", "Sigmoid"}) {
    const std::string section = cat(R"({"activation_fn": ")", function, R"("})");
    EXPECT_THAT([&] { read_with(cat(R"({"sentence_transformers": )", section, "}")); },
                ThrowsCode(Code::kUsage, cat("the function of the scores is \"", function)));
  }
}

TEST_F(CrossEncoderFilesTest, WhatChangesScoresIsRefused) {
  const auto write = [&](const char* name, const char* text) {
    write_text(scratch_ / ("model/" + std::string(name)), text);
  };
  const auto reads = [&] { return read_with("{}")->max_seq_length; };
  write("config_sentence_transformers.json",
        R"({"model_type": "CrossEncoder", "prompts": {"query": "find: ", "none": ""}})");
  write("sentence_bert_config.json", R"({"max_seq_length": 20, "do_lower_case": true})");
  EXPECT_EQ(reads(), std::nullopt);  // without modules.json the file does not count
  write_modules("model", {module_of("", "sentence_transformers.models.Transformer")});
  EXPECT_THAT([&] { reads(); }, ThrowsCode(Code::kUsage, "\"do_lower_case\" is true"));
  write("sentence_bert_config.json", R"({"module_output_name": "token_embeddings"})");
  EXPECT_THAT([&] { reads(); }, ThrowsCode(Code::kUsage, "\"module_output_name\""));
  write("sentence_bert_config.json", R"({"processing_kwargs": {"text": {"stride": 2}}})");
  EXPECT_THAT([&] { reads(); }, ThrowsCode(Code::kUsage, "\"processing_kwargs\""));
  write("sentence_bert_config.json", R"({"max_seq_length": 20, "do_lower_case": false})");
  EXPECT_EQ(reads(), 20);
  write("config_sentence_transformers.json",
        R"({"model_type": "CrossEncoder", "default_prompt_name": "query",
            "prompts": {"query": "find: "}})");
  EXPECT_THAT([&] { reads(); }, ThrowsCode(Code::kUsage, "default prompt"));
  write("config_sentence_transformers.json",
        R"({"model_type": "CrossEncoder", "default_prompt_name": "none",
            "prompts": {"none": ""}})");
  EXPECT_EQ(reads(), 20);
  write_modules("model", {module_of("", "sentence_transformers.models.Transformer"),
                          module_of("1_Dense", "sentence_transformers.models.Dense")});
  EXPECT_THAT([&] { reads(); }, ThrowsCode(Code::kUsage, "Dense"));
}

TEST_F(CrossEncoderFilesTest, WhatIsWrittenIsReadBack) {
  for (const ScoreForm form : {ScoreForm::kLogit, ScoreForm::kProbability}) {
    write_cross_encoder_files(*storage_, Uri::parse(scratch_ / "model"),
                              {.reranking = {.form = form}}, 64);
    const auto files = read_with("{}");
    ASSERT_TRUE(files.has_value());
    EXPECT_EQ(files->form, form);
    EXPECT_EQ(files->max_seq_length, 64);
  }
  EXPECT_THAT([this] { read(); }, ThrowsCode(Code::kUsage, "is a cross-encoder"));
}

}  // namespace
}  // namespace berth
