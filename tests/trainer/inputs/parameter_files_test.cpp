#include "trainer/inputs/parameter_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/converted_tensors.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/bundle_files.h"
#include "tests/support/captured_log.h"
#include "tests/support/lossy_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/model_folder.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Key;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

// A folder of files. Each file holds one tensor, which has the file's name.
class ParameterFilesTest : public testing::Test {
 protected:
  ParameterFilesTest() { write_text(scratch_ / "config.json", "{}"); }

  void put_tensor(const std::string& file, const std::string& tensor) {
    const float value = 1;
    const NamedTensor named{
        .name = tensor, .shape = {1}, .data = std::as_bytes(std::span(&value, 1))};
    store_object(*storage_, Uri::parse(scratch_ / file), [&](ByteSink& sink) {
      write_safetensors(sink, std::span(&named, 1), {{"format", "pt"}});
    });
  }
  void put_torch(const std::string& file) {
    fs::copy_file(BERTH_TESTDATA "/torch/module.bin", scratch_ / file);
  }
  void put_index(const std::string& file, const std::string& map) {
    write_text(scratch_ / file, R"({"weight_map":{)" + map + "}}");
  }
  std::vector<std::string> names(const std::string& model = "") {
    ModelFolder folder(*storage_, {.model = model.empty() ? scratch_.path().string() : model});
    const std::optional<ModelParameters> found = folder.parameters();
    std::vector<std::string> names;
    for (const NamedTensor& tensor : found->tensors->tensors()) names.push_back(tensor.name);
    sources_.clear();
    for (const Source& source : folder.sources()) {
      sources_.push_back(Uri::parse(source.uri).file_name());
    }
    return names;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  std::vector<std::string> sources_;  // those that the last names() reported
};

TEST_F(ParameterFilesTest, AreLookedForInTheOrderOfTransformers) {
  put_index("pytorch_model.bin.index.json", R"("weight":"shard.bin","bias":"shard.bin")");
  put_torch("shard.bin");
  EXPECT_THAT(names(), ElementsAre("weight", "bias"));
  EXPECT_THAT(sources_, ElementsAre("pytorch_model.bin.index.json", "shard.bin"));
  put_torch("pytorch_model.bin");
  EXPECT_THAT(names(), ElementsAre("weight", "bias"));
  EXPECT_THAT(sources_, ElementsAre("pytorch_model.bin"));
  put_index("model.safetensors.index.json", R"("a":"1.safetensors","b":"2.safetensors")");
  put_tensor("1.safetensors", "a");
  put_tensor("2.safetensors", "b");
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  EXPECT_THAT(sources_,
              ElementsAre("model.safetensors.index.json", "1.safetensors", "2.safetensors"));
  put_tensor("model.safetensors", "whole");
  EXPECT_THAT(names(), ElementsAre("whole"));
  EXPECT_THAT(sources_, ElementsAre("model.safetensors"));
}

TEST_F(ParameterFilesTest, OfEachLayoutSatisfyRequireModel) {
  const ModelOptions options{.model = scratch_.path().string()};
  EXPECT_THAT([&] { require_model(*storage_, options); },
              ThrowsCode(Code::kNotFound, "no model.safetensors or pytorch_model.bin"));
  for (const std::string name : kParameterFiles) {
    write_text(scratch_ / name, "");
    EXPECT_NO_THROW(require_model(*storage_, options)) << name;
    fs::remove(scratch_ / name);
  }
}

TEST_F(ParameterFilesTest, ThatBerthDoesNotReadAreNamedWithTheWayToConvertThem) {
  const ModelOptions options{.model = scratch_.path().string()};
  for (const auto& [file, hint] : std::initializer_list<std::pair<const char*, const char*>>{
           {"openvino_model.xml", "OpenVINO"},
           {"openvino_model.bin", "pass --init random"},  // the graph's file tells
           {"saved_model.pb", "SavedModel"},
           {"onnx/model.onnx", "ONNX"},
           {"coreml/float32_model.mlpackage/Manifest.json", "Core ML"},
           {"weights.pkl", "state_dict"},
           {"model_state.pdparams", "Paddle's weights"},
           {"bert.params", "MXNet's weights"},
           {"bert.nemo", "NeMo"},
           {"bert.mar", "TorchServe"},
           {"model.ort", "ONNX Runtime"},
           {"model.engine", "TensorRT"},
           {"model.pt2", "torch.export"},
           {"mp_rank_00_model_states.pt", "zero_to_fp32.py"},
           {"bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_to_fp32.py"},
           {"pytorch_model-00001-of-00002.bin", "index.json"},
           {"__0_0.distcp", "dcp_to_torch"},
           {"global_step5/mp_rank_00_model_states.pt", "zero_to_fp32.py"},
           {"model.safetensors.tmp", "not written to its end"}}) {
    const fs::path path = scratch_ / file;
    fs::create_directories(path.parent_path());
    write_text(path.string(), "x");
    EXPECT_THAT([&] { require_model(*storage_, options); }, ThrowsCode(Code::kNotFound, hint))
        << file;
    fs::remove(path);
  }
}

TEST_F(ParameterFilesTest, InAnotherFormatMayBeNamedDirectly) {
  for (const auto& [file, hint] : std::initializer_list<std::pair<const char*, const char*>>{
           {"model.gguf", "quantized weights"},
           {"tf_model.h5", "from_tf=True"},
           {"flax_model.msgpack", "from_flax=True"}}) {
    write_text(scratch_ / file, "x");
    EXPECT_THAT([&] { require_model(*storage_, {.model = scratch_ / file}); },
                ThrowsCode(Code::kBadData, hint))
        << file;
  }
}

TEST_F(ParameterFilesTest, OfShardsNeedTheirIndex) {
  const ModelOptions options{.model = scratch_.path().string()};
  for (const char* file :
       {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
    put_tensor(file, file);
    EXPECT_THAT([&] { require_model(*storage_, options); },
                ThrowsCode(Code::kNotFound, "no index that says which tensors are in which file"))
        << file;
  }
}

TEST_F(ParameterFilesTest, AreNotWhatTrainingProgramsWriteBesideThem) {
  for (const char* file : {"optimizer.bin", "scheduler.bin", "sampler.bin", "training_args.bin",
                           "optimizer.pt", "rng_state.pth"}) {
    write_text(scratch_ / file, "x");
  }
  put_torch("best.pt");
  EXPECT_THAT(names(), ElementsAre("weight", "bias"));
}

TEST_F(ParameterFilesTest, OfTheNewestCheckpointAreNamed) {
  for (const char* step : {"500", "1000", "best"}) {
    fs::create_directories(std::string(scratch_ / "checkpoint-") + step);
    write_text(std::string(scratch_ / "checkpoint-") + step + "/model.safetensors", "x");
    write_text(std::string(scratch_ / "checkpoint-") + step + "/config.json", "{}");
  }
  write_text(scratch_ / "training_args.bin", "x");
  const ModelOptions options{.model = scratch_.path().string()};
  for (const bool has_config : {true, false}) {
    if (!has_config) fs::remove(std::string(scratch_ / "config.json"));
    EXPECT_THAT([&] { require_model(*storage_, options); },
                ThrowsCode(Code::kNotFound, "checkpoint-1000: name that with --model"));
  }
}

TEST_F(ParameterFilesTest, MayBeNamedDirectly) {
  put_tensor("model.safetensors", "whole");
  put_torch("small.bin");
  EXPECT_THAT(names(scratch_ / "small.bin"), ElementsAre("weight", "bias"));
  EXPECT_THAT(names(scratch_ / "model.safetensors"), ElementsAre("whole"));
  fs::rename(scratch_ / "config.json", scratch_ / "elsewhere.json");
  EXPECT_THAT([&] { require_model(*storage_, {.model = scratch_ / "small.bin"}); },
              ThrowsCode(Code::kNotFound, "no config.json or bert_config.json beside it"));
  EXPECT_NO_THROW(require_model(
      *storage_, {.model = scratch_ / "small.bin", .model_config = scratch_ / "elsewhere.json"}));
}

TEST_F(ParameterFilesTest, NameTheShardThatIsAbsent) {
  put_index("model.safetensors.index.json", R"("a":"1.safetensors","b":"2.safetensors")");
  put_tensor("1.safetensors", "a");
  EXPECT_THAT([&] { names(); },
              ThrowsCode(Code::kNotFound, scratch_ / "2.safetensors" +
                                              ": no such file, but model.safetensors.index.json "
                                              "places tensors in it"));
}

TEST_F(ParameterFilesTest, NameTheFileThatIsDamaged) {
  put_index("model.safetensors.index.json", R"("a":"1.safetensors")");
  write_text(scratch_ / "1.safetensors", "not this");
  EXPECT_THAT([&] { names(); }, ThrowsCode(Code::kCorrupt, scratch_ / "1.safetensors: "));
  put_tensor("1.safetensors", "b");
  EXPECT_THAT([&] { names(); },
              ThrowsCode(Code::kCorrupt, scratch_ / "model.safetensors.index.json: tensor \"a\""));
}

TEST(FolderOf, IsWhereAFileLies) {
  EXPECT_EQ(folder_of(Uri::parse("gs://b/m/x.bin")).to_string(), "gs://b/m");
  EXPECT_EQ(folder_of(Uri::parse("/x.bin")).to_string(), "/");
  EXPECT_EQ(folder_of(Uri::parse("x.bin")).to_string(), ".");
}

// A recorded checkpoint of a small BERT, in a directory of its own.
class TensorflowFilesTest : public testing::Test {
 protected:
  TensorflowFilesTest() { write(files_); }

  void write(const BundleFiles& files) {
    write_text(prefix_ + ".index", files.index);
    write_text(shard_name(prefix_, 0, 1), files.data);
  }
  void damage(std::string_view variable) {
    BundleFiles damaged = files_;
    const TensorBundleIndex index = files_.parsed();
    char& byte = damaged.data[index.find(variable)->offset];
    byte = static_cast<char>(byte ^ 1);
    write(damaged);
  }
  ModelParameters open() {
    return open_tensorflow_model(*storage_, Uri::parse(prefix_), [this](const Uri& uri, Bytes b) {
      opened_[uri.file_name()] = std::string(as_text(b));
    });
  }

  const BundleFiles files_ = recorded_bundle("tf1");
  ScratchDirectory scratch_;
  const std::string prefix_ = scratch_ / "tf1.ckpt";
  std::unique_ptr<Storage> storage_ = make_local_storage();
  std::map<std::string, std::string> opened_;  // complete once the parameters are verified
};

TEST_F(TensorflowFilesTest, VerifyReportsTheWholeFiles) {
  const ModelParameters parameters = open();
  parameters.verify();
  EXPECT_THAT(opened_,
              UnorderedElementsAre(Key("tf1.ckpt.index"), Key("tf1.ckpt.data-00000-of-00001")));
  EXPECT_EQ(opened_["tf1.ckpt.index"], files_.index);
  EXPECT_EQ(opened_["tf1.ckpt.data-00000-of-00001"], files_.data);
  parameters.verify();  // a second call does nothing
}

TEST_F(TensorflowFilesTest, ALostUploadIsWrittenAgain) {
  const CapturedLog log;
  const ModelParameters parameters = open();
  for (int lost = 0; lost <= 2; ++lost) {
    const Uri again = Uri::parse(scratch_ / "again.ckpt");
    LossyStorage storage(*storage_, lost);
    write_checkpoint(storage, again, ConvertedTensors(*parameters.tensors).tensors());
    const ModelParameters read = open_tensorflow_model(*storage_, again, [](const Uri&, Bytes) {});
    read.verify();
    ASSERT_EQ(read.tensors->tensors().size(), parameters.tensors->tensors().size()) << lost;
  }
}

TEST_F(TensorflowFilesTest, NameTheTensorThatIsDamaged) {
  damage("bert/embeddings/word_embeddings");
  const ModelParameters parameters = open();
  EXPECT_EQ(parameters.tensors->tensors().size(), 5u + 2 * 16 + 2 + 2);
  for (int i = 0; i < 2; ++i) {  // every call throws
    EXPECT_THAT([&] { parameters.verify(); },
                ThrowsCode(Code::kCorrupt,
                           prefix_ + ": tensor \"bert/embeddings/word_embeddings\": the checksum"));
  }
}

TEST_F(TensorflowFilesTest, DamageInUnusedTensorsIsIgnored) {
  damage("bert/embeddings/word_embeddings/adam_m");
  EXPECT_NO_THROW(open().verify());
}

TEST_F(TensorflowFilesTest, AreReadToTheEndWithoutVerify) {
  for (int i = 0; i < 20; ++i) {
    opened_.clear();
    open();
    EXPECT_EQ(opened_.size(), 2u);
  }
}

}  // namespace
}  // namespace berth
