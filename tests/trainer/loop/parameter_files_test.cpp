#include "trainer/loop/parameter_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "storage/store_object.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/loop/model_folder.h"

namespace berth {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace berth
