#include "trainer/loop/tensorflow_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "storage/base/error.h"
#include "storage/formats/converted_tensors.h"
#include "storage/local_storage.h"
#include "tests/support/bundle_files.h"
#include "tests/support/captured_log.h"
#include "tests/support/lossy_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::Key;
using testing::UnorderedElementsAre;

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
