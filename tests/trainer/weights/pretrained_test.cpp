#include "trainer/weights/pretrained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "tests/support/throws_code.h"
#include "tests/support/tiny_config.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// Tensors that a test makes, in place of a file.
class TensorsInMemory final : public TensorReader {
 public:
  template <typename T>
  void add(const std::string& name, DType dtype, std::vector<int64_t> shape,
           std::vector<T> values) {
    std::vector<std::byte>& data = data_.emplace_back(values.size() * sizeof(T));
    std::memcpy(data.data(), values.data(), data.size());
    tensors_.push_back({.name = name, .dtype = dtype, .shape = std::move(shape), .data = data});
  }
  void rename(const std::string& from, const std::string& to) { tensor(from).name = to; }
  void erase(const std::string& name) {
    std::erase_if(tensors_, [&](const NamedTensor& tensor) { return tensor.name == name; });
  }
  NamedTensor& tensor(const std::string& name) {
    for (NamedTensor& tensor : tensors_) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const NamedTensor& tensor : tensors_) names.push_back(tensor.name);
    return names;
  }
  std::span<const NamedTensor> tensors() const override { return tensors_; }
  void verify() const override {
    if (is_damaged) throw Error(Code::kCorrupt, "damaged");
  }

  bool is_damaged = false;

 private:
  std::deque<std::vector<std::byte>> data_;
  std::vector<NamedTensor> tensors_;
};

class PretrainedTest : public testing::Test {
 protected:
  PretrainedTest() {
    for (const ParameterSpec& spec : parameter_table(config_)) {
      std::vector<float> values(static_cast<size_t>(spec.elements()));
      std::iota(values.begin(), values.end(), static_cast<float>(file_.tensors().size()) + 0.1f);
      file_.add(spec.name, DType::kF32, spec.shape, values);
    }
  }

  LoadReport load(const TensorRules& rules = {}) {
    return load_parameters(file_, values_, /*threads=*/1, rules);
  }
  std::vector<float> read(const std::string& name) {
    for (size_t i = 0; i < values_.specs().size(); ++i) {
      if (values_.specs()[i].name == name) return values_.read(i);
    }
    throw std::runtime_error("no parameter " + name);
  }

  ModelConfig config_ = tiny_config();
  HostTensors values_{parameter_table(config_)};
  TensorsInMemory file_;
};

TEST_F(PretrainedTest, ADamagedFileIsRefused) {
  file_.is_damaged = true;
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kCorrupt, "damaged"));
}

TEST_F(PretrainedTest, EveryBitSurvivesSavingAndLoading) {
  for (size_t i = 0; i < values_.specs().size(); ++i) {
    std::vector<float> values(static_cast<size_t>(values_.specs()[i].elements()));
    std::iota(values.begin(), values.end(), -1e-3f);
    values[0] = std::numeric_limits<float>::denorm_min();
    if (values.size() > 3) {
      values[1] = -0.0f;
      values[2] = std::numeric_limits<float>::infinity();
      values[3] = std::numeric_limits<float>::quiet_NaN();
    }
    values_.write(i, 0, std::as_bytes(std::span(values)));
  }
  MemorySink sink;
  write_tensors(sink, saved_tensors(values_), DType::kF32, {{"format", "pt"}});

  HostTensors again(parameter_table(config_));
  const SafetensorsReader reader(sink.written);
  const LoadReport report = load_parameters(reader, again, /*threads=*/1);
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(report.ignored, IsEmpty());
  for (size_t i = 0; i < values_.specs().size(); ++i) {
    const std::vector<float> expected = values_.read(i), loaded = again.read(i);
    EXPECT_EQ(std::memcmp(loaded.data(), expected.data(), expected.size() * sizeof(float)), 0);
  }
  EXPECT_EQ(reader.metadata().at("format"), "pt");  // transformers requires this
}

TEST_F(PretrainedTest, TheWrapperOfDataParallelIsRemoved) {
  for (const std::string& name : file_.names()) file_.rename(name, "module." + name);
  EXPECT_THAT(load().missing, IsEmpty());
  const std::string first = file_.names().front();
  file_.rename(first, first.substr(7));
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "module."));
}

TEST_F(PretrainedTest, APrefixThatAllNamesShareIsTakenOffAndTold) {
  const std::vector<std::string> names = file_.names();
  for (const char* prefix : {"model.", "module.model.", "_orig_mod.", "model._orig_mod.", "net."}) {
    for (const std::string& name : names) file_.rename(name, prefix + name);
    const LoadReport report = load();
    EXPECT_THAT(report.missing, IsEmpty()) << prefix;
    EXPECT_EQ(report.prefix.empty(), std::string_view(prefix) == "_orig_mod.") << report.prefix;
    for (const std::string& name : names) file_.rename(prefix + name, name);
  }
  // torch.compile of the encoder alone.
  for (const std::string& name : names) {
    if (name.starts_with("bert.")) file_.rename(name, "bert._orig_mod." + name.substr(5));
  }
  EXPECT_THAT(load().missing, IsEmpty());
  EXPECT_EQ(load().prefix, "");
}

TEST_F(PretrainedTest, NamesOfTensorFlowAreRefusedWithTheWayToConvertThem) {
  file_.rename(file_.names().front(), "bert/embeddings/word_embeddings/weight:0");
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "from_tf=True"));
}

TEST_F(PretrainedTest, AdaptersThatAreNotMergedAreRefusedWithTheWayToMergeThem) {
  const std::string query = "bert.encoder.layer.0.attention.self.query";
  file_.rename(query + ".weight", query + ".base_layer.weight");
  file_.rename(query + ".bias", query + ".base_layer.bias");
  for (const std::string& name : file_.names()) file_.rename(name, "base_model.model." + name);
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "merge_and_unload()"));
}

TEST_F(PretrainedTest, AClassifierOfOtherClassesIsRefusedOrStartsAnew) {
  file_.erase("classifier.weight");
  file_.add<float>("classifier.weight", DType::kF32, {3, 8}, std::vector<float>(24));
  file_.erase("classifier.bias");
  file_.add<float>("classifier.bias", DType::kF32, {3}, std::vector<float>(3));
  TensorRules rules{.classifier = "classifier"};
  EXPECT_THAT([&] { load(rules); },
              ThrowsCode(Code::kUsage, "fine-tuned for 3 outputs, and the job has 2"));
  EXPECT_THAT([&] { load(rules); }, ThrowsCode(Code::kUsage, "--ignore_mismatched_sizes"));
  rules.ignores_mismatched_sizes = true;
  LoadReport report = load(rules);
  EXPECT_TRUE(report.left_out_classifier);
  EXPECT_EQ(report.missing.size(), 2U);
}

TEST_F(PretrainedTest, AClassifierOfAnotherTaskStartsAnew) {
  const LoadReport report = load({.classifier = "classifier", .classifier_is_new = true});
  EXPECT_TRUE(report.left_out_classifier);
  EXPECT_EQ(report.missing.size(), 2U);
  EXPECT_THAT(read("classifier.weight"), Each(0.0f));
}

// A file whose decoder is the word embeddings says no more than they do.
TEST_F(PretrainedTest, ADecoderThatDiffersFromTheWordsIsFound) {
  ModelConfig config = config_;
  config.task = Task::kMaskedLm;
  const MaskedLmHeadNames names = masked_lm_head_names(config);
  TensorsInMemory file;
  for (const ParameterSpec& spec : parameter_table(config)) {
    file.add(spec.name, DType::kF32, spec.shape,
             std::vector<float>(static_cast<size_t>(spec.elements()), 0.5f));
  }
  HostTensors values(parameter_table(config));
  const NamedTensor& words = file.tensor(names.decoder);
  const auto elements = static_cast<size_t>(words.elements());
  const std::vector<int64_t> shape = words.shape;
  file.add(names.own_decoder, DType::kF32, shape, std::vector<float>(elements, 0.5f));
  EXPECT_FALSE(find_own_decoder(file, values.specs(), names).weight);
  file.erase(names.own_decoder);
  file.add(names.own_decoder, DType::kF32, shape, std::vector<float>(elements, 0.25f));
  EXPECT_TRUE(find_own_decoder(file, values.specs(), names).weight);
  EXPECT_FALSE(find_own_decoder(file, values.specs(), names).bias);
  config.ties_word_embeddings = false;
  HostTensors untied(parameter_table(config));
  EXPECT_THAT(load_parameters(file, untied, 1).missing, IsEmpty());
  for (size_t i = 0; i < untied.specs().size(); ++i) {
    if (untied.specs()[i].name == names.own_decoder) {
      EXPECT_THAT(untied.read(i), Each(0.25f));
    }
  }
}

TEST_F(PretrainedTest, TheDecodersBiasComesBeforeTheHeads) {
  ModelConfig config = config_;
  config.task = Task::kMaskedLm;
  const MaskedLmHeadNames names = masked_lm_head_names(config);
  HostTensors values(parameter_table(config));
  TensorsInMemory file;
  for (const ParameterSpec& spec : values.specs()) {
    file.add(spec.name, DType::kF32, spec.shape,
             std::vector<float>(static_cast<size_t>(spec.elements()), 0.5f));
  }
  const int64_t size = config.vocab_size;
  file.add(names.bias_aliases.front(), DType::kF32, {size},
           std::vector<float>(static_cast<size_t>(size), 0.25f));
  EXPECT_TRUE(find_own_decoder(file, values.specs(), names).bias);
  EXPECT_FALSE(find_own_decoder(file, values.specs(), names).weight);
  load_parameters(file, values, 1, {.tied = &names});
  for (size_t i = 0; i < values.specs().size(); ++i) {
    if (values.specs()[i].name == names.bias) {
      EXPECT_THAT(values.read(i), Each(0.25f));
    }
  }
}

TEST_F(PretrainedTest, APrefixOfAllThatTheEncoderNeedsIsTakenOff) {
  const std::vector<std::string> names = file_.names();
  for (const std::string& name : names) file_.rename(name, "model." + name);
  file_.add<float>("loss_fn.weight", DType::kF32, {2}, {1, 2});
  const LoadReport report = load();
  EXPECT_EQ(report.prefix, "model.");
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(report.without_prefix, ElementsAre("loss_fn.weight"));
  file_.erase("model.bert.encoder.layer.0.output.dense.bias");
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "with the prefix \"model.\""));
}

TEST_F(PretrainedTest, TwoModelsInOneFileAreRefused) {
  for (const std::string& name : file_.names()) {
    file_.rename(name, "model." + name);
    const NamedTensor& tensor = file_.tensor("model." + name);
    file_.add<float>("ema." + name, DType::kF32, tensor.shape,
                     std::vector<float>(static_cast<size_t>(tensor.elements())));
  }
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "several models"));
}

TEST_F(PretrainedTest, AnotherArchitecturesNamesAreNoPrefix) {
  for (const std::string& name : file_.names()) {
    if (name.starts_with("bert.")) file_.rename(name, "electra." + name.substr(5));
  }
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "parameters are missing"));
}

// Without a head, all names begin with the other architecture's prefix.
TEST_F(PretrainedTest, AnEncoderOfAnotherArchitectureIsRefused) {
  for (const std::string& name : file_.names()) {
    if (name.starts_with("bert.")) {
      file_.rename(name, "roberta." + name.substr(5));
    } else {
      file_.erase(name);
    }
  }
  EXPECT_THAT([&] { load(); },
              ThrowsCode(Code::kBadData, "give the config.json that belongs to this file"));
  for (const std::string& name : file_.names()) file_.rename(name, "bert.bert." + name.substr(8));
  EXPECT_EQ(load().prefix, "bert.");
  for (const std::string& name : file_.names()) file_.rename(name, "finbert." + name.substr(10));
  EXPECT_EQ(load().prefix, "finbert.");
}

TEST_F(PretrainedTest, QuantizedWeightsAreNamed) {
  const char* const name = "bert.encoder.layer.0.output.dense.weight";
  const NamedTensor whole = file_.tensor(name);
  file_.add<float>("bert.encoder.layer.0.output.dense.weight_scale", DType::kF32, {1}, {1});
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "quantized (bert.encoder"));
  EXPECT_THAT([&] { require_plain_weights(file_); }, ThrowsCode(Code::kBadData, "weight_scale)"));
  file_.erase("bert.encoder.layer.0.output.dense.weight_scale");
  file_.tensor(name).dtype = DType::kI8;
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "dense.weight is I8)"));
  EXPECT_THAT([&] { require_plain_weights(file_); }, ThrowsCode(Code::kBadData, "weight is I8)"));
  file_.tensor(name) = whole;
  file_.add<int64_t>("bert.embeddings.position_ids", DType::kI64, {1, 2}, {0, 1});
  require_plain_weights(file_);
  load();
}

TEST_F(PretrainedTest, APlaceholderOfDeepSpeedIsNamed) {
  file_.tensor("bert.encoder.layer.0.output.dense.bias").shape = {0};
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "zero_to_fp32.py"));
}

TEST_F(PretrainedTest, WrappersMayStandInsideNames) {
  const std::vector<std::string> names = file_.names();
  for (const char* wrapper : {"module.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.",
                              "_fsdp_wrapped_module._checkpoint_wrapped_module."}) {
    for (const std::string& name : names) {
      if (name.starts_with("bert."))
        file_.rename(name, std::string("bert.") + wrapper + name.substr(5));
    }
    const LoadReport report = load();
    EXPECT_THAT(report.missing, IsEmpty()) << wrapper;
    EXPECT_EQ(report.prefix, "");
    for (const std::string& name : names) {
      if (name.starts_with("bert."))
        file_.rename(std::string("bert.") + wrapper + name.substr(5), name);
    }
  }
}

TEST_F(PretrainedTest, NamesOf2018AreKnown) {
  for (const std::string& name : file_.names()) {
    if (name.ends_with("LayerNorm.weight")) {
      file_.rename(name, name.substr(0, name.size() - 6) + "gamma");
    } else if (name.ends_with("LayerNorm.bias")) {
      file_.rename(name, name.substr(0, name.size() - 4) + "beta");
    }
  }
  load();
  EXPECT_EQ(read("bert.embeddings.LayerNorm.weight")[1], 4.1f);
  EXPECT_EQ(read("bert.embeddings.LayerNorm.bias")[1], 5.1f);
}

TEST_F(PretrainedTest, AnEncoderSavedAloneHasNoPrefix) {
  for (const std::string& name : file_.names()) {
    if (name.starts_with("bert.")) file_.rename(name, name.substr(5));
  }
  file_.rename("embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma");
  file_.erase("classifier.weight");
  file_.erase("classifier.bias");
  const LoadReport report = load();
  EXPECT_EQ(read("bert.pooler.dense.bias")[0], 22.1f);
  EXPECT_EQ(read("bert.embeddings.LayerNorm.weight")[0], 3.1f);
  EXPECT_THAT(report.missing, ElementsAre(23, 24));
}

TEST_F(PretrainedTest, AMissingHeadIsReportedAndLeftAsItWas) {
  for (const char* name : {"bert.pooler.dense.weight", "bert.pooler.dense.bias",
                           "classifier.weight", "classifier.bias"}) {
    file_.erase(name);
  }
  EXPECT_THAT(load().missing, ElementsAre(21, 22, 23, 24));
  EXPECT_THAT(read("classifier.weight"), Each(0.0f));
}

TEST_F(PretrainedTest, HalfPrecisionIsWidened) {
  file_.erase("classifier.bias");
  file_.add<uint16_t>("classifier.bias", DType::kF16, {2}, {0x3c00, 0xc100});  // 1, -2.5
  file_.erase("bert.pooler.dense.bias");
  file_.add<uint16_t>("bert.pooler.dense.bias", DType::kF16, {8},
                      {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00});
  file_.erase("bert.embeddings.LayerNorm.bias");
  file_.add<uint16_t>("bert.embeddings.LayerNorm.bias", DType::kBF16, {8},
                      {0x3f80, 0xc020, 0x0000, 0x8000, 0x0001, 0x7f7f, 0x7f80, 0x3e80});
  load();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(read("classifier.bias"), ElementsAre(1.0f, -2.5f));
  EXPECT_THAT(read("bert.pooler.dense.bias"), ElementsAre(0.0f, -0.0f, 0x1p-24f, -1023 * 0x1p-24f,
                                                          0x1p-14f, 65504, kInfinity, -kInfinity));
  EXPECT_THAT(read("bert.embeddings.LayerNorm.bias"),
              ElementsAre(1.0f, -2.5f, 0.0f, -0.0f, 0x1p-133f, 0x1.fep127f, kInfinity, 0.25f));
}

TEST_F(PretrainedTest, AHalfPrecisionNanStaysNan) {
  file_.erase("classifier.bias");
  file_.add<uint16_t>("classifier.bias", DType::kF16, {2}, {0x7e00, 0xfc01});
  load();
  EXPECT_THAT(read("classifier.bias"), Each(testing::IsNan()));
}

TEST_F(PretrainedTest, HeadsOfPreTrainingAndPositionBuffersAreIgnored) {
  file_.add<float>("cls.predictions.bias", DType::kF32, {2}, {1, 2});
  file_.add<float>("cls.seq_relationship.weight", DType::kF32, {2}, {1, 2});
  file_.add<int64_t>("bert.embeddings.position_ids", DType::kI64, {1, 2}, {0, 1});
  file_.add<int64_t>("embeddings.token_type_ids", DType::kI64, {1, 2}, {0, 0});
  EXPECT_THAT(load().ignored,
              ElementsAre("bert.embeddings.position_ids", "cls.predictions.bias",
                          "cls.seq_relationship.weight", "embeddings.token_type_ids"));
}

TEST_F(PretrainedTest, TensorsBesideTheEncoderAreLeftOut) {
  const std::vector<std::string> others = {"criterion.weight", "fc.bias", "logit_scale"};
  for (const std::string& name : others) file_.add<float>(name, DType::kF32, {1}, {1});
  EXPECT_EQ(load().beside_encoder, others);
  // Behind a prefix, and beside an encoder that was saved alone.
  const std::vector<std::string> names = file_.names();
  for (const std::string& name : names) file_.rename(name, "model." + name);
  EXPECT_EQ(load().beside_encoder, others);
  for (const std::string& name : names) {
    file_.rename("model." + name, name.starts_with("bert.") ? name.substr(5) : name);
  }
  EXPECT_EQ(load().beside_encoder, others);
  file_.add<float>("encoder.layer.0.adapter.bias", DType::kF32, {1}, {0});
  EXPECT_THAT([&] { load(); },
              ThrowsCode(Code::kBadData, "tensors are unexpected: encoder.layer.0.adapter.bias"));
}

TEST_F(PretrainedTest, ASecondModelBesideTheEncoderIsRefused) {
  for (const std::string& name : file_.names()) {
    const NamedTensor& tensor = file_.tensor(name);
    file_.add<float>("teacher." + name, DType::kF32, tensor.shape,
                     std::vector<float>(static_cast<size_t>(tensor.elements())));
  }
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "several models"));
}

// The names under which a conversion writes a file.
class RenamedTensorsTest : public PretrainedTest {
 protected:
  std::vector<std::string> renamed(NamesAs as) {
    const RenamedTensors tensors(file_, parameter_table(config_), as);
    left_out_ = tensors.left_out();
    has_wrappers_ = tensors.has_wrappers();
    std::vector<std::string> names;
    for (const NamedTensor& tensor : tensors.tensors()) {
      std::vector<std::byte> memory;
      const Bytes own = file_.tensors()[names.size()].data;
      EXPECT_TRUE(std::ranges::equal(tensors.read(tensor, memory), own)) << tensor.name;
      names.push_back(tensor.name);
    }
    return names;
  }

  const std::vector<std::string> names_ = file_.names();
  std::vector<std::string> left_out_;
  bool has_wrappers_ = false;
};

TEST_F(RenamedTensorsTest, PrefixesAndWrappersAreTakenOff) {
  EXPECT_EQ(renamed(NamesAs::kInFile), names_);
  EXPECT_FALSE(has_wrappers_);
  for (const std::string& name : names_) file_.rename(name, "model._orig_mod." + name);
  file_.add<float>("loss_fn.weight", DType::kF32, {1}, {0});
  EXPECT_EQ(renamed(NamesAs::kInFile), names_);
  EXPECT_TRUE(has_wrappers_);
  EXPECT_THAT(left_out_, ElementsAre("loss_fn.weight"));
}

TEST_F(RenamedTensorsTest, NamesOfParametersReplaceOthers) {
  for (const std::string& name : names_) {
    if (name.starts_with("bert.")) file_.rename(name, name.substr(5));
  }
  file_.rename("embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma");
  EXPECT_EQ(renamed(NamesAs::kInFile), file_.names());
  EXPECT_EQ(renamed(NamesAs::kOfParameters), names_);
}

TEST_F(RenamedTensorsTest, HeadsOfOtherProgramsStay) {
  file_.add<float>("fc.weight", DType::kF32, {1}, {0});
  EXPECT_EQ(renamed(NamesAs::kInFile), file_.names());
}

TEST_F(RenamedTensorsTest, WhatIsNoWholeModelIsRefused) {
  const auto refuses = [&](const std::string& what) {
    EXPECT_THAT([&] { renamed(NamesAs::kInFile); }, ThrowsCode(Code::kBadData, what));
  };
  const std::string name = "bert.encoder.layer.0.output.dense.weight";
  const std::string base = "bert.encoder.layer.0.output.dense.base_layer.weight";
  file_.rename(name, base);
  refuses("adapters are not merged");
  file_.rename(base, "bert/encoder/layer_0/output/dense/kernel");
  refuses("TensorFlow's names");
  file_.erase("bert/encoder/layer_0/output/dense/kernel");
  refuses("parameters are missing: " + name);
}

// Of two frequencies, 1 and 1/100, and three positions, as transformers computes them.
TEST(RoFormerSines, OtherNumbersThanSinesAreRefused) {
  const char* const name = "roformer.encoder.embed_positions.weight";
  const std::vector<float> sines = {0,          0,          1,           1,
                                    0.8414710F, 0.0099998F, 0.5403023F,  0.9999500F,
                                    0.9092974F, 0.0199987F, -0.4161468F, 0.9998000F};
  const auto check = [&](const std::vector<float>& numbers, int64_t head_size) {
    TensorsInMemory file;
    file.add<float>(name, DType::kF32, {3, 4}, numbers);
    require_sines(file, head_size);
  };
  EXPECT_NO_THROW(check(sines, 4));
  EXPECT_THAT([&] { check(sines, 2); }, ThrowsCode(Code::kBadData, name));
  for (const float shift : {-0.001F, 0.001F, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> trained = sines;
    trained[6] += shift;
    EXPECT_THAT([&] { check(trained, 4); }, ThrowsCode(Code::kBadData, name)) << shift;
  }
  TensorsInMemory other;
  other.add<float>("roformer.encoder.x", DType::kF32, {1}, {5});
  EXPECT_NO_THROW(require_sines(other, 4));
}

TEST_F(PretrainedTest, AMissingEncoderParameterIsNamed) {
  file_.erase("bert.encoder.layer.0.output.dense.bias");
  EXPECT_THAT([&] { load(); },
              ThrowsCode(Code::kBadData, "bert.encoder.layer.0.output.dense.bias"));
}

TEST_F(PretrainedTest, AnUnexpectedTensorIsNamed) {
  file_.add<float>("bert.encoder.layer.1.output.dense.bias", DType::kF32, {1}, {0});
  EXPECT_THAT([&] { load(); },
              ThrowsCode(Code::kBadData, "bert.encoder.layer.1.output.dense.bias"));
}

TEST_F(PretrainedTest, AnotherShapeIsNamedWithBothShapes) {
  file_.tensor("classifier.weight").shape = {8, 2};
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "classifier.weight is F32 [8, 2]"));
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "[2, 8]"));
}

TEST_F(PretrainedTest, IntegerTensorsAreRefused) {
  file_.erase("classifier.bias");
  file_.add<int32_t>("classifier.bias", DType::kI32, {2}, {1, 2});
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "classifier.bias is I32"));
}

TEST_F(PretrainedTest, AParameterUnderTwoNamesIsRefused) {
  file_.add<float>("embeddings.LayerNorm.bias", DType::kF32, {8}, std::vector<float>(8));
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "embeddings.LayerNorm.bias"));
}

TEST_F(PretrainedTest, ManyWrongTensorsAreSummarized) {
  TensorsInMemory other;
  for (int i = 0; i < 15; ++i) {
    other.add<float>("layer." + std::to_string(i), DType::kF32, {1}, {0});
  }
  EXPECT_THAT([&] { load_parameters(other, values_, /*threads=*/1); },
              ThrowsCode(Code::kBadData, "and 11 more; tensors are unexpected: layer.0"));
}

TEST_F(PretrainedTest, ARefusedFileChangesNothing) {
  file_.erase("bert.embeddings.LayerNorm.bias");
  EXPECT_THROW(load(), Error);
  for (const ParameterSpec& spec : values_.specs()) EXPECT_THAT(read(spec.name), Each(0.0f));
}

// Tensors in memory. A test may set a function that is called before rows are read.
class WatchedTensors final : public TensorReader {
 public:
  template <typename T>
  const NamedTensor& add(DType dtype, std::vector<int64_t> shape) {
    NamedTensor tensor{.name = cat("tensor ", tensors_.size()), .dtype = dtype, .shape = shape};
    std::vector<T> values(static_cast<size_t>(tensor.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 16001);
    std::vector<std::byte>& data = data_.emplace_back(values.size() * sizeof(T));
    if (!data.empty()) std::memcpy(data.data(), values.data(), data.size());
    tensor.data = data;
    return tensors_.emplace_back(tensor);
  }
  std::span<const NamedTensor> tensors() const override { return tensors_; }
  Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                  std::vector<std::byte>& memory) const override {
    if (watch) watch(tensor, first_row, count);
    const Bytes bytes = TensorReader::read_rows(tensor, first_row, count, memory);
    memory.assign(bytes.begin(), bytes.end());  // as if the file stored the tensor transposed
    return memory;
  }

  std::function<void(const NamedTensor&, int64_t first_row, int64_t count)> watch;

 private:
  std::deque<std::vector<std::byte>> data_;
  std::vector<NamedTensor> tensors_;
};

class UploadTensors : public testing::Test {
 protected:
  void upload() {
    std::vector<ParameterSpec> specs;
    std::vector<TensorUpload> uploads;
    for (const NamedTensor& source : file_.tensors()) {
      uploads.push_back({source, specs.size()});
      specs.push_back({.name = source.name, .shape = source.shape});
    }
    target_.emplace(std::move(specs));
    upload_tensors(file_, uploads, *target_, available_threads());
  }

  WatchedTensors file_;
  std::optional<HostTensors> target_;
};

TEST_F(UploadTensors, EveryElementArrivesWhateverItsTensorsShape) {
  file_.add<float>(DType::kF32, {1700, 1300});
  file_.add<double>(DType::kF64, {5});
  file_.add<float>(DType::kF32, {3, 4, 7});
  file_.add<float>(DType::kF32, {2, 600'000});  // a row is larger than a block
  file_.add<float>(DType::kF32, {0, 4});
  file_.add<double>(DType::kF64, {200'001});
  file_.add<float>(DType::kF32, {1});
  upload();
  for (size_t index = 0; index < target_->specs().size(); ++index) {
    const std::vector<float> values = target_->read(index);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], static_cast<float>(i % 16001))
          << target_->specs()[index].name << " at " << i;
    }
  }
}

TEST_F(UploadTensors, AThreadHoldsFewMegabytesOfALargeTensor) {
  file_.add<float>(DType::kF32, {4000, 1000});
  std::atomic<int64_t> most{0}, rows{0};
  file_.watch = [&](const NamedTensor&, int64_t, int64_t count) {
    rows += count;
    for (int64_t seen = most; count > seen && !most.compare_exchange_weak(seen, count);) {
    }
  };
  upload();
  EXPECT_EQ(rows, 4000);
  EXPECT_LE(most * 1000 * 4, 1 << 20);
}

// Several tensors fail. The first of them in order takes longest to fail.
TEST_F(UploadTensors, ThrowsTheErrorOfTheFirstTensorInOrder) {
  for (int i = 0; i < 12; ++i) file_.add<float>(DType::kF32, {400'000});
  file_.watch = [](const NamedTensor& tensor, int64_t first_row, int64_t) {
    const bool is_first = tensor.name == "tensor 5";
    if (tensor.name < "tensor 5" || first_row != 0) return;
    if (is_first) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    throw Error(Code::kCorrupt, "cannot be read", tensor.name);
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT([&] { upload(); }, ThrowsCode(Code::kCorrupt, "tensor 5"));
  }
}

}  // namespace
}  // namespace berth
