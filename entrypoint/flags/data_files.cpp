#include "entrypoint/flags/data_files.h"

#include <optional>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

[[noreturn]] void unknown_task(const std::string& name) {
  throw Error(Code::kUsage, cat(quoted(name), " is not a task"), "--task",
              cat("the tasks are ", known_tasks(), ", ", known_glue_tasks()));
}

}  // namespace

bool prepares_corpus(const DataOptions& data, Mode mode) {
  const std::optional<Task> task = find_task(data.task);
  return traits(mode).prepares_rows() && task && traits(*task).labels == LabelKind::kMaskedId;
}

void complete_data_files(DataOptions& data, Mode mode) {
  const bool as_tutorial = !data.input_meta_data_path.empty();
  if (traits(mode).predicts() && as_tutorial && data.predict_data_file.empty()) {
    data.predict_data_file = data.eval_data_file;
  }
  if (data.task.empty()) {
    if (data.data_dir.empty()) return;
    throw Error(Code::kUsage, "--data-dir needs a GLUE task", "", "name it with --task");
  }
  const GlueTask* glue = find_glue_task(data.task);
  if (glue == nullptr && !find_task(data.task)) unknown_task(data.task);
  if (data.data_dir.empty()) return;
  if (glue == nullptr) {
    throw Error(
        Code::kUsage,
        cat(quoted(data.task), " is not a GLUE task, so the names of its files are unknown"),
        "--data-dir", "name the files with --train-data-file and the other data flags");
  }
  const Uri directory = Uri::parse(data.data_dir);
  const auto complete = [&](std::string& file, std::string_view name) {
    if (file.empty()) file = (directory / std::string(name)).to_string();
  };
  complete(data.train_data_file, glue->train);
  complete(data.eval_data_file, glue->eval);
  complete(data.predict_data_file, glue->test);
}

}  // namespace berth
