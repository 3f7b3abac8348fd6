#include "trainer/inputs/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/archived_storage.h"
#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class ModelFolderTest : public testing::Test {
 protected:
  ModelFolderTest() {
    fs::create_directories(scratch_ / "model");
    write_text(scratch_ / "model/config.json", "{}");
    write_text(scratch_ / "model/vocab.txt", "a\n");
    write_text(scratch_ / "model/model.safetensors", "");
    write_text(scratch_ / "flat.tar", TarBytes().file("config.json", "{1}").end());
    write_text(scratch_ / "nested.tar", TarBytes()
                                            .file("bert/config.json", "{2}")
                                            .file("bert/vocab.txt", "b\n")
                                            .file("bert/model.safetensors", "")
                                            .end());
  }
  ModelFolder folder(const std::string& model) {
    return ModelFolder(*storage_, {.model = scratch_ / model});
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_archived_storage(make_local_storage());
};

TEST_F(ModelFolderTest, ADirectoryGivesItsFiles) {
  ModelFolder found = folder("model");
  EXPECT_EQ(found.config_json(), "{}");
  EXPECT_EQ(found.text("vocab.txt"), "a\n");
  EXPECT_EQ(found.text("tokenizer.json"), std::nullopt);
  ASSERT_EQ(found.sources().size(), 2u);
  EXPECT_EQ(found.sources()[1].uri, scratch_ / "model/vocab.txt");
}

TEST_F(ModelFolderTest, AnArchiveIsOneSource) {
  for (const char* name : {"flat.tar", "nested.tar"}) {
    ModelFolder found = folder(name);
    EXPECT_EQ(found.config_json(), name[0] == 'f' ? "{1}" : "{2}");
    ASSERT_EQ(found.sources().size(), 1u);
    Checksum checksum;
    checksum.add(as_bytes(read_text(scratch_ / name)));
    EXPECT_EQ(found.sources()[0].checksum, checksum);
    EXPECT_EQ(found.sources()[0].uri, scratch_ / name);
  }
}

TEST_F(ModelFolderTest, ADirectoryInAnArchiveGivesItsFiles) {
  ModelFolder found = folder("nested.tar/bert");
  EXPECT_EQ(found.config_json(), "{2}");
  EXPECT_EQ(found.sources()[0].uri, scratch_ / "nested.tar/bert/config.json");
}

TEST_F(ModelFolderTest, ADirectoryMayBeNamedAsAnArchive) {
  fs::rename(scratch_ / "model", scratch_ / "model.zip");
  EXPECT_EQ(folder("model.zip").config_json(), "{}");
}

TEST_F(ModelFolderTest, FilesBesideAnArchiveAreSourcesToo) {
  ModelFolder found(
      *storage_, {.model = scratch_ / "flat.tar", .model_config = scratch_ / "model/config.json"});
  EXPECT_EQ(found.config_json(), "{}");
  EXPECT_EQ(found.sources().size(), 2u);
}

TEST_F(ModelFolderTest, ATokenizerNeedsNoOtherFiles) {
  fs::create_directories(scratch_ / "words");
  write_text(scratch_ / "words/vocab.txt", "w\n");
  fs::create_directories(scratch_ / "job");
  fs::copy(scratch_ / "model", scratch_ / "job/model");
  for (const auto& [model, vocabulary] : {std::pair{"words", "w\n"},
                                          {"job", "a\n"},
                                          {"nested.tar", "b\n"},
                                          {"nested.tar/bert", "b\n"},
                                          {"model/model.safetensors", "a\n"}}) {
    ModelFolder found(*storage_, {.model = scratch_ / model}, ModelNeed::kTokenizer);
    EXPECT_EQ(found.text("vocab.txt"), vocabulary) << model;
  }
  EXPECT_THAT([&] { folder("words"); }, ThrowsCode(Code::kNotFound, "no config.json"));
}

// Such as a folder of the hub's cache.
TEST_F(ModelFolderTest, TheOnlyModelInsideAFolderIsNamed) {
  fs::create_directories(scratch_ / "models--a--b/snapshots");
  fs::copy(scratch_ / "model", scratch_ / "models--a--b/snapshots/1234");
  EXPECT_THAT([&] { folder("models--a--b"); },
              ThrowsCode(Code::kNotFound, scratch_ / "models--a--b/snapshots/1234: name that"));
  fs::copy(scratch_ / "model", scratch_ / "models--a--b/snapshots/5678");
  EXPECT_THAT([&] { folder("models--a--b"); }, ThrowsCode(Code::kNotFound, "--model-config"));
}

TEST_F(ModelFolderTest, RequireModelLooksOnlyAtNames) {
  EXPECT_NO_THROW(require_model(*storage_, {.model = scratch_ / "model"}));
  EXPECT_NO_THROW(require_model(*storage_, {.model = scratch_ / "flat.tar"}));
  EXPECT_THAT([&] { require_model(*storage_, {.model = scratch_ / "modle"}); },
              ThrowsCode(Code::kNotFound, "did you mean " + scratch_ / "model?"));
  EXPECT_THAT([&] { require_model(*storage_, {.model = scratch_ / "flt.tar"}); },
              ThrowsCode(Code::kNotFound, "did you mean " + scratch_ / "flat.tar?"));
  EXPECT_THAT(
      [&] { require_model(*storage_, {.model = scratch_ / "model/vocab.txt"}); },
      ThrowsCode(Code::kBadData, "neither a directory nor an archive nor a file of parameters"));
  fs::remove(scratch_ / "model/model.safetensors");
  EXPECT_THAT(
      [&] { require_model(*storage_, {.model = scratch_ / "model"}); },
      ThrowsCode(Code::kNotFound, "no model.safetensors or pytorch_model.bin; pass --init random"));
  for (const auto& [file, hint] : {std::pair{"tf_model.h5", "from_tf=True"},
                                   {"flax_model.msgpack", "from_flax=True"},
                                   {"model.onnx", "give the folder that it was exported from"}}) {
    write_text(scratch_ / (std::string("model/") + file), "x");
    EXPECT_THAT([&] { require_model(*storage_, {.model = scratch_ / "model"}); },
                ThrowsCode(Code::kNotFound, hint));
    fs::remove(scratch_ / (std::string("model/") + file));
  }
  for (const char* file : {"model/a.pt", "model/b.ckpt"}) write_text(scratch_ / file, "x");
  EXPECT_THAT([&] { require_model(*storage_, {.model = scratch_ / "model"}); },
              ThrowsCode(Code::kNotFound, "several files of parameters: a.pt, b.ckpt"));
  for (const char* file : {"model/a.pt", "model/b.ckpt"}) fs::remove(scratch_ / file);
  EXPECT_NO_THROW(require_model(*storage_, {.model = scratch_ / "model", .init = Init::kRandom}));
  fs::remove(scratch_ / "model/config.json");
  EXPECT_THAT([&] { require_model(*storage_, {.model = scratch_ / "model"}); },
              ThrowsCode(Code::kNotFound, "no config.json"));
}

TEST_F(ModelFolderTest, AModelThatBeginsWithAnotherModuleIsRefusedByItsName) {
  fs::create_directories(scratch_ / "static");
  write_text(scratch_ / "static/model.safetensors", "");
  write_text(scratch_ / "static/modules.json",
             R"([{"path": "", "type": "sentence_transformers.models.StaticEmbedding"},
                 {"path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  EXPECT_THAT([&] { folder("static"); },
              ThrowsCode(Code::kUsage, "does not compute the module \"StaticEmbedding\""));
}

}  // namespace
}  // namespace berth
