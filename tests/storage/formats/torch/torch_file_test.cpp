#include "storage/formats/torch_file.h"

#include <gtest/gtest.h>

#include "storage/formats/safetensors.h"
#include "tests/support/pickle_files.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string recorded(const std::string& name) {
  return file_content(BERTH_TESTDATA "/torch/" + name);
}

class RecordedStateDict : public testing::TestWithParam<const char*> {
 protected:
  const std::string file_ = recorded(GetParam());
  const TorchFileReader reader_{as_bytes(file_)};
};

TEST_P(RecordedStateDict, HasTheTensorsThatPyTorchSaved) {
  const std::string saved = recorded("state_dict.safetensors");
  const SafetensorsReader expected(as_bytes(saved));
  EXPECT_EQ(reader_.tensors().size(), expected.tensors().size());
  for (const NamedTensor& wanted : expected.tensors()) {
    const NamedTensor* found = reader_.find(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(found->dtype, wanted.dtype) << wanted.name;
    EXPECT_EQ(found->shape, wanted.shape) << wanted.name;
    EXPECT_EQ(as_text(found->data), as_text(wanted.data)) << wanted.name;
  }
}

TEST_P(RecordedStateDict, KeepsTheFilesOrder) {
  EXPECT_EQ(reader_.tensors().front().name, "embeddings.weight");
  EXPECT_EQ(reader_.tensors().back().name, "bool");
}

TEST_P(RecordedStateDict, BorrowsWhatIsContiguous) {
  const auto borrowed = [&](const char* name) {
    const std::byte* at = reader_.find(name)->data.data();
    return at >= as_bytes(file_).data() && at < as_bytes(file_).data() + file_.size();
  };
  for (const char* name : {"embeddings.weight", "position_ids", "row", "parameter", "scalar"}) {
    EXPECT_TRUE(borrowed(name)) << name;
  }
  for (const char* name : {"transposed", "permuted", "expanded", "sliced"}) {
    EXPECT_FALSE(borrowed(name)) << name;
  }
}

TEST_P(RecordedStateDict, ListsATiedTensorUnderEachName) {
  EXPECT_EQ(reader_.find("embeddings.weight")->data.data(),
            reader_.find("decoder.weight")->data.data());
}

INSTANTIATE_TEST_SUITE_P(, RecordedStateDict,
                         testing::Values("zip.bin", "zip_protocol4.bin", "zip_torch2.bin",
                                         "legacy.bin", "legacy_protocol3.bin", "nested.bin"),
                         [](const auto& name) {
                           const std::string file = name.param;
                           return file.substr(0, file.find('.'));
                         });

std::string refusal(const std::string& file) {
  try {
    const TorchFileReader reader(as_bytes(file));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBadData);
    return error.what();
  }
}

TEST(TorchFile, ReadsAModulesStateDict) {
  const std::string file = recorded("module.bin");
  EXPECT_EQ(TorchFileReader(as_bytes(file)).tensors().size(), 2u);
}

TEST(TorchFile, NamesTheCodeThatAFileWouldRun) {
  for (const char* name : {"os_system.bin", "os_system_legacy.bin"}) {
    EXPECT_THAT(refusal(recorded(name)),
                testing::HasSubstr("refers to posix.system, which is not part of a state dict; "
                                   "nothing was executed"))
        << name;
  }
  EXPECT_THAT(
      refusal(recorded("whole_module.bin")),
      testing::AllOf(testing::HasSubstr("refers to torch.nn.modules.normalization.LayerNorm"),
                     testing::HasSubstr("save its state dict alone")));
}

TEST(TorchFile, NamesWhatItDoesNotSupport) {
  EXPECT_THAT(refusal(recorded("complex.bin")), testing::HasSubstr("torch.ComplexFloatStorage"));
  EXPECT_THAT(refusal(recorded("sparse.bin")),
              testing::HasSubstr("torch._utils._rebuild_sparse_tensor"));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\n"),
              testing::HasSubstr("run git lfs pull"));
}

TEST(TorchFile, IsCorruptWhereItIsAnotherFile) {
  for (const char* file : {"", "PK", "{\"json\": 1}", "\x80\x02K\x01."}) {
    EXPECT_THAT([&] { TorchFileReader(as_bytes(file)); }, ThrowsCode(Code::kCorrupt)) << file;
  }
}

}  // namespace
}  // namespace berth
