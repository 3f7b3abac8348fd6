#include "entrypoint/job/export_results.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "tests/support/failing_storage.h"
#include "tests/support/letter_tokenizer.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/support/tiny_config.h"
#include "trainer/weights/initial_values.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class ExportResultsTest : public testing::Test {
 protected:
  // Writes a random model of `seed`, whose first label is `label`.
  void write(Storage& storage, const fs::path& folder, uint64_t seed, const std::string& label,
             ExportFormat format) {
    Settings settings;
    settings.output.export_format = format;
    ModelDescription model{.config = tiny_config(),
                           .tokenizer = std::make_unique<LetterTokenizer>()};
    model.config.labels[0] = label;
    HostTensors values(parameter_table(model.config));
    initialize(values, model.config.initializer_range, seed, /*threads=*/1);
    export_results(storage, settings, Uri::parse(folder.string()), model, values, {});
  }
  std::string text(const std::string& file) const {
    const fs::path path = scratch_ / file;
    return fs::exists(path) ? read_text(path) : "";
  }

  ScratchDirectory scratch_;
  const std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(ExportResultsTest, AModelThatIsHalfWrittenOverAnotherOneDoesNotLoad) {
  for (const ExportFormat format :
       {ExportFormat::kSafetensors, ExportFormat::kOnnx, ExportFormat::kTensorflow}) {
    write(*storage_, scratch_ / "old", 1, "old", format);
    write(*storage_, scratch_ / "new", 2, "new", format);
    bool fails = true;
    for (int published = 0; fails; ++published) {
      ASSERT_LT(published, 20);
      fs::remove_all(scratch_ / "model");
      fs::copy(scratch_ / "old", scratch_ / "model");
      FailingStorage storage(*storage_, published);
      try {
        write(storage, scratch_ / "model", 2, "new", format);
        fails = false;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), Code::kUnavailable);
      }
      for (const auto& [config, weights] :
           {std::pair("config.json", "model.safetensors"),
            std::pair("bert_config.json", "bert_model.ckpt.data-00000-of-00001")}) {
        if (text(cat("model/", config)).empty()) continue;
        const bool is_new = text("model/config.json") == text("new/config.json");
        EXPECT_TRUE(text(cat("model/", weights)) == text(cat(is_new ? "new/" : "old/", weights)))
            << published << " files written: " << config << " and " << weights;
      }
    }
    EXPECT_EQ(text("model/config.json"), text("new/config.json"));
  }
}

TEST_F(ExportResultsTest, TasksThatTensorFlowCanNameAreNotRefusedBeforeATraining) {
  Settings settings;
  settings.output.export_format = ExportFormat::kTensorflow;
  ModelConfig config = tiny_config();
  config.task = Task::kHiddenStateDistillation;
  config.vector_size = 4;
  EXPECT_NO_THROW(require_exportable(settings, config));  // its head is not exported
  config.task = Task::kTokenClassification;
  EXPECT_NO_THROW(require_exportable(settings, config));
}

TEST_F(ExportResultsTest, AnEncoderIsExportedForTensorFlowWithoutItsHead) {
  Settings settings;
  settings.output.export_format = ExportFormat::kTensorflow;
  ModelDescription model{.config = tiny_config(), .tokenizer = std::make_unique<LetterTokenizer>()};
  model.config.task = Task::kHiddenStateDistillation;
  model.config.vector_size = 4;
  HostTensors values(parameter_table(model.config));
  initialize(values, model.config.initializer_range, /*seed=*/1, /*threads=*/1);
  export_results(*storage_, settings, Uri::parse(scratch_ / "encoder"), model, values, {});
  EXPECT_TRUE(fs::exists(scratch_ / "encoder/bert_model.ckpt.index"));
}

}  // namespace
}  // namespace berth
