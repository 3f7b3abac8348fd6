#include "entrypoint/explain/needed_files.h"

#include <algorithm>

#include "entrypoint/explain/hub_data_set.h"
#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

bool names_files(const OwnCommand& own) {
  return own.has("train-data-file") || own.has("eval-data-file") || own.has("data-dir") ||
         (own.has("predict-data-file") && own.value("mode") == "predict");
}

// The data set that a flag asks for. Rows to evaluate on may lie elsewhere.
struct WantedDataSet {
  std::string flag;  // that names it, as typed
  HubDataSet rows;
  std::string other_rows{};  // to evaluate on; empty: the same place
};

std::optional<WantedDataSet> wanted_data_set(std::string_view script, const TypedCommand& typed,
                                             const OwnCommand& own) {
  if (const auto name = typed.value("dataset_name")) {
    return WantedDataSet{typed.typed_name("dataset_name"),
                         find_hub_data_set(*name, typed.value("dataset_config_name").value_or(""))};
  }
  if (const auto language = typed.value("language"); language && script == "run_xnli.py") {
    const std::string trained = typed.value("train_language").value_or(*language);
    const std::string scored = find_hub_data_set("xnli", *language).place;
    return WantedDataSet{typed.typed_name("language"), find_hub_data_set("xnli", trained),
                         trained == *language ? "" : scored};
  }
  const GlueTask* task = find_glue_task(own.value("task").value_or(""));
  if (task == nullptr) return std::nullopt;
  return WantedDataSet{typed.typed_name("task"), find_hub_data_set("glue", task->name)};
}

// Takes back that the flags of a data set are refused.
void accept_data_set(const TypedCommand& typed, std::vector<Remark>& remarks) {
  std::vector<std::string> names;
  for (const char* flag : {"dataset_name", "dataset_config_name", "language", "train_language"}) {
    names.push_back(typed.typed_name(flag));
  }
  std::erase_if(remarks, [&](const Remark& remark) {
    return remark.refused && !remark.flag.empty() &&
           std::ranges::find(names, remark.flag) != names.end();
  });
}

// With a data set, or run_glue.py with a task, a script reads no other files.
void note_unread_files(std::string_view script, const TypedCommand& typed, const OwnCommand& own,
                       std::vector<Remark>& remarks) {
  const bool is_task =
      script.starts_with("run_glue") && find_glue_task(own.value("task").value_or("")) != nullptr;
  const std::string data_set = typed.typed_name("dataset_name");
  if (script.empty() || (!is_task && data_set.empty())) return;
  for (const char* flag : {"train-data-file", "eval-data-file", "predict-data-file"}) {
    const std::string name = typed.typed_name(flag);
    if (name.empty()) continue;
    accept_data_set(typed, remarks);
    remarks.push_back({is_task ? typed.typed_name("task") : data_set,
                       cat("makes ", script, " read ", is_task ? "the task's rows" : "its rows",
                           " from the hub, and not ", name, "; leave one of the two flags out"),
                       true});
    return;
  }
}

// The folder of run_ner.py in early transformers holds train.txt, dev.txt and test.txt.
void name_early_files(bool predicts_afterwards, OwnCommand& own, std::vector<Remark>& remarks) {
  std::string folder = *own.value("data-dir");
  if (!folder.ends_with('/')) folder += '/';
  own.remove("data-dir");
  const std::string mode = own.value("mode").value_or("train_and_eval");
  if (own.trains()) own.set("train-data-file", folder + "train.txt");
  if (mode == "eval" || mode == "train_and_eval") own.set("eval-data-file", folder + "dev.txt");
  if (mode == "predict" || predicts_afterwards) own.set("predict-data-file", folder + "test.txt");
  remarks.push_back({"--data_dir",
                     "holds train.txt, dev.txt and test.txt there, which berth reads as CoNLL",
                     false});
}

// The files of run_squad.py in early transformers are in the folder, if their names do not say
// more.
void name_files_in_folder(OwnCommand& own) {
  std::string folder = *own.value("data-dir");
  if (!folder.ends_with('/')) folder += '/';
  for (const char* flag : {"train-data-file", "eval-data-file", "predict-data-file"}) {
    const std::optional<std::string> name = own.value(flag);
    const bool is_whole = name && (name->starts_with('/') || name->starts_with('$') ||
                                   name->find("://") != std::string::npos);
    if (name && !is_whole) own.set(flag, folder + *name);
  }
  own.remove("data-dir");
}

void name_places(std::string_view script, const TypedCommand& typed, bool predicts_afterwards,
                 OwnCommand& own, std::vector<Remark>& remarks) {
  if (script == "run_ner.py" && own.has("data-dir")) {
    return name_early_files(predicts_afterwards, own, remarks);
  }
  if (script == "run_squad.py" && own.has("data-dir") &&
      (own.has("train-data-file") || own.has("eval-data-file") || own.has("predict-data-file"))) {
    name_files_in_folder(own);
  }
  if (script == "run_xnli.py" && own.has("data-dir")) {
    own.remove("data-dir");
    remarks.push_back({"--data_dir",
                       "holds the rows of XNLI, of which the early run_xnli.py scores those for "
                       "tests; leave it out, and berth reads the rows from the hub",
                       true});
  }
  if (names_files(own)) return;
  const std::optional<WantedDataSet> wanted = wanted_data_set(script, typed, own);
  if (!wanted) return;
  const std::string& place = wanted->rows.place;
  const std::string& scored = wanted->other_rows.empty() ? place : wanted->other_rows;
  const std::string mode = own.value("mode").value_or("train_and_eval");
  // Training evaluates on the data set's own split.
  if (own.trains()) own.set("train-data-file", place);
  if (mode == "eval" || (mode == "train_and_eval" && !wanted->other_rows.empty())) {
    own.set("eval-data-file", scored);
  }
  if (mode == "predict" || predicts_afterwards) own.set("predict-data-file", scored);
  accept_data_set(typed, remarks);
  if (!wanted->rows.remark.empty()) {
    remarks.push_back({wanted->flag, wanted->rows.remark, false});
  }
}

}  // namespace

void name_data_files(std::string_view script, const TypedCommand& typed, bool predicts_afterwards,
                     OwnCommand& own, std::vector<Remark>& remarks) {
  name_places(script, typed, predicts_afterwards, own, remarks);
  note_unread_files(script, typed, own, remarks);
}

}  // namespace berth
