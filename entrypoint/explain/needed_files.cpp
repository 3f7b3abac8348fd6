#include "entrypoint/explain/needed_files.h"

#include <algorithm>

#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

bool names_files(const OwnCommand& own) {
  return own.has("train-data-file") || own.has("eval-data-file") || own.has("predict-data-file") ||
         own.has("data-dir");
}

// A data set as load_dataset() finds it, and the folder for it.
struct DataSet {
  std::string flag;       // that names it, as typed
  std::string arguments;  // of load_dataset(): '"wikitext", "wikitext-2-raw-v1"'
  std::string folder;
};

// The flag as it was typed: one of berth's, or an alias of it, or one of another program.
std::string typed_name(const TypedCommand& typed, std::string_view name) {
  for (const TypedArgument& argument : typed.arguments()) {
    if (argument.own != nullptr && argument.own->name == name) return argument.typed;
    if (argument.foreign != nullptr && argument.foreign->name == name) return argument.typed;
  }
  return "";
}

std::optional<DataSet> wanted_data_set(const TypedCommand& typed, const OwnCommand& own) {
  if (const auto name = typed.value("dataset_name")) {
    const std::optional<std::string> config = typed.value("dataset_config_name");
    return DataSet{typed_name(typed, "dataset_name"),
                   cat("\"", *name, "\"", config ? cat(", \"", *config, "\"") : ""),
                   std::string(last_part(*name))};
  }
  const GlueTask* task = find_glue_task(own.value("task").value_or(""));
  if (task == nullptr) return std::nullopt;
  return DataSet{typed_name(typed, "task"), cat("\"nyu-mll/glue\", \"", task->name, "\""),
                 cat("glue/", task->name)};
}

bool is_of_data_set(const Remark& remark) {
  return remark.refused && remark.flag.starts_with("--dataset");
}

}  // namespace

void name_data_files(const TypedCommand& typed, bool predicts_afterwards, OwnCommand& own,
                     std::vector<Remark>& remarks) {
  if (names_files(own)) return;
  const std::optional<DataSet> data_set = wanted_data_set(typed, own);
  if (!data_set) return;
  const std::string mode = own.value("mode").value_or("train_and_eval");
  // Training evaluates on the folder's own split.
  if (own.trains()) own.set("train-data-file", data_set->folder);
  if (mode == "eval") own.set("eval-data-file", data_set->folder);
  if (mode == "predict" || predicts_afterwards) own.set("predict-data-file", data_set->folder);
  std::erase_if(remarks, is_of_data_set);
  remarks.push_back({data_set->flag,
                     cat("is a folder here, which this writes: python -c 'import datasets; "
                         "datasets.load_dataset(",
                         data_set->arguments, ").save_to_disk(\"", data_set->folder, "\")'"),
                     false});
}

}  // namespace berth
