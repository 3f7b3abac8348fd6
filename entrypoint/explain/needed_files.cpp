#include "entrypoint/explain/needed_files.h"

#include <algorithm>

#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

bool names_files(const OwnCommand& own) {
  return own.has("train-data-file") || own.has("eval-data-file") || own.has("data-dir");
}

// The flag as it was typed, of the aliases that mean `own` or of another program.
std::string typed_name(const TypedCommand& typed, std::string_view name) {
  for (const TypedArgument& argument : typed.arguments()) {
    if (argument.own != nullptr && argument.own->name == name) return argument.typed;
    if (argument.foreign != nullptr && argument.foreign->name == name) return argument.typed;
  }
  return "";
}

// The folder of a task in the archive of GLUE.
std::string glue_folder(std::string_view task) {
  if (task == "cola") return "CoLA";
  if (task == "sst2") return "SST-2";
  if (task == "stsb") return "STS-B";
  std::string folder(task);
  std::ranges::transform(folder, folder.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return folder;
}

void name_glue_folder(const TypedCommand& typed, OwnCommand& own, std::vector<Remark>& remarks) {
  const GlueTask* task = find_glue_task(own.value("task").value_or(""));
  if (task == nullptr) return;
  const std::string folder = "glue/" + glue_folder(task->name);
  own.set("data-dir", folder);
  remarks.push_back({typed_name(typed, "task"),
                     cat("reads files here: put GLUE's ", task->train, ", ", task->eval, " and ",
                         task->test, " into ", folder),
                     false});
}

bool is_of_data_set(const Remark& remark) {
  return remark.flag.starts_with("--dataset") && remark.refused;
}

void name_data_set(const TypedCommand& typed, const std::string& name, bool predicts_afterwards,
                   OwnCommand& own, std::vector<Remark>& remarks) {
  const std::string folder = name.substr(name.rfind('/') + 1);
  const std::string mode = own.value("mode").value_or("train_and_eval");
  if (own.trains()) own.set("train-data-file", folder + "/train.parquet");
  if (mode == "train_and_eval" || mode == "eval") {
    own.set("eval-data-file", folder + "/validation.parquet");
  }
  if (mode == "predict" || predicts_afterwards) {
    own.set("predict-data-file", folder + "/test.parquet");
  }
  const std::optional<std::string> config = typed.value("dataset_config_name");
  const std::string load =
      cat("datasets.load_dataset(\"", name, config ? cat("\", \"", *config) : "", "\").items()");
  std::erase_if(remarks, is_of_data_set);
  remarks.push_back({typed_name(typed, "dataset_name"),
                     cat("is a folder of files here, which this writes: mkdir -p ", folder,
                         " && python -c 'import datasets; [rows.to_parquet(f\"", folder,
                         "/{split}.parquet\") for split, rows in ", load, "]'"),
                     false});
}

// Whether a model's name is one of the hub, perhaps with that of its owner in front.
bool is_hub_name(const std::string& name) {
  const bool is_path = name.empty() || name[0] == '.' || name[0] == '/' || name.ends_with('/') ||
                       std::ranges::count(name, '/') > 1;
  return !is_path && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/").find(c) != std::string_view::npos;
  });
}

}  // namespace

void name_data_files(const TypedCommand& typed, bool predicts_afterwards, OwnCommand& own,
                     std::vector<Remark>& remarks) {
  if (names_files(own)) return;
  if (const auto name = typed.value("dataset_name")) {
    return name_data_set(typed, *name, predicts_afterwards, own, remarks);
  }
  name_glue_folder(typed, own, remarks);
}

void explain_model_name(const TypedCommand& typed, const OwnCommand& own,
                        std::vector<Remark>& remarks) {
  const std::string flag = typed_name(typed, "model"), name = own.value("model").value_or("");
  std::string plain = flag;
  std::ranges::replace(plain, '-', '_');
  if (!plain.ends_with("model_name_or_path") || !is_hub_name(name)) return;
  remarks.push_back({flag,
                     cat("is a folder or an archive here; `hf download ", name, " --local-dir ",
                         name, "` fetches one from the hub"),
                     false});
}

}  // namespace berth
