#include "entrypoint/explain/masked_texts.h"

#include <algorithm>
#include <array>

#include "entrypoint/explain/hub_data_set.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// These scripts are older than `datasets`, and read any file as text.
constexpr std::array<std::string_view, 2> kScriptsOfText = {"run_language_modeling.py",
                                                            "run_lm_finetuning.py"};
// Ends of names of files that berth reads as tables.
constexpr std::array<std::string_view, 6> kTables = {".csv",   ".tsv",     ".json",
                                                     ".jsonl", ".parquet", ".pkl"};
constexpr const char* kShare = "0.05";

void check_early_files(const TrainingScript& script, const OwnCommand& own,
                       std::vector<Remark>& remarks) {
  for (const char* flag : {"train-data-file", "eval-data-file"}) {
    const std::string file = lower_ascii(own.value(flag).value_or(""));
    if (std::ranges::none_of(kTables, [&](auto end) { return file.ends_with(end); })) continue;
    remarks.push_back({cat("--", flag),
                       cat("names a table by its ending, and ", script.name,
                           " reads all lines of the file as text; name a copy that ends with .txt"),
                       true});
  }
  const bool evaluates = own.value("mode").value_or("train_and_eval") != "train";
  if (evaluates && !own.has("eval-data-file")) {
    remarks.push_back(
        {"--eval_data_file", cat("is missing, and ", script.name, " evaluates on its rows"), true});
  }
  if (own.has("line-by-line")) return;
  remarks.push_back({std::string(script.name),
                     "joins the lines of a file without the tokens for the ends of texts, which "
                     "berth puts around each line",
                     false});
}

void evaluate_share(const TrainingScript& script, const std::string& share, OwnCommand& own,
                    std::vector<Remark>& remarks) {
  if (!own.has("validation-split")) own.set("validation-split", share);
  remarks.push_back({"--validation-split",
                     cat("is the share that ", script.name,
                         " sets aside. The script takes the first rows, and berth chooses them by "
                         "a hash of their texts"),
                     false});
  if (own.value("mode").value_or("") != "train") return;
  own.set("mode", "train_and_eval");
  remarks.push_back({"--mode train_and_eval",
                     cat("leaves these rows out of training, as ", script.name,
                         " does without --do_eval, too; --mode train trains on all rows"),
                     false});
}

// An evaluation alone scores the split named validation, or the share that is set aside.
void check_scored_split(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                        std::vector<Remark>& remarks) {
  const HubDataSet rows = find_hub_data_set(typed.value("dataset_name").value_or(""),
                                            typed.value("dataset_config_name").value_or(""));
  if (rows.splits == HubSplits::kValidation) return;
  own.remove("eval-data-file");
  remarks.push_back(
      {typed.typed_name("dataset_name"),
       cat("is not known to have a split named validation, without which ", script.name,
           " evaluates on its first rows; name the rows with --validation_file"),
       true});
}

void set_rows_aside(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                    std::vector<Remark>& remarks) {
  const std::optional<std::string> name = typed.value("dataset_name");
  if (!own.trains() && name) return check_scored_split(script, typed, own, remarks);
  if (!own.trains() || own.has("eval-data-file")) return;
  const std::string share = own.value("validation-split").value_or(kShare);
  if (!name) {
    if (script.sets_aside == SetsAside::kAll) return evaluate_share(script, share, own, remarks);
    if (own.value("mode").value_or("train_and_eval") == "train") return;
    remarks.push_back({"--validation_file",
                       cat("is missing, and ", script.name, " evaluates on its rows"), true});
    return;
  }
  const std::string config = typed.value("dataset_config_name").value_or("");
  const HubDataSet rows = find_hub_data_set(*name, config);
  const std::string flag = typed.typed_name("validation_split_percentage");
  if (rows.splits == HubSplits::kValidation) {
    if (flag.empty()) return;
    own.remove("validation-split");
    remarks.push_back({flag, "has no effect: the data set has a split named validation", false});
  } else if (rows.splits == HubSplits::kUnknown && !typed.value("validation-split")) {
    own.remove("validation-split");
    remarks.push_back(
        {typed.typed_name("dataset_name"),
         cat("is not known here, and neither is whether it has a split named validation. Where it "
             "has none, add --validation-split ",
             share, ", which is what ", script.name,
             " sets aside. Where it has one, name the rows with --train_file ", rows.place,
             " --validation_file ", rows.place, "/validation instead"),
         true});
  } else {
    evaluate_share(script, share, own, remarks);
  }
}

}  // namespace

bool masks_texts(std::string_view script) {
  return script.find("mlm") != script.npos || script.find("_lm_") != script.npos ||
         script.find("language_model") != script.npos;
}

void check_masked_texts(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                        std::vector<Remark>& remarks) {
  if (!masks_texts(script.name)) return;
  if (std::ranges::find(kScriptsOfText, script.name) != kScriptsOfText.end()) {
    check_early_files(script, own, remarks);
  }
  if (script.sets_aside != SetsAside::kNone) set_rows_aside(script, typed, own, remarks);
  if (own.has("line-by-line")) {
    remarks.push_back({"--line-by-line",
                       cat("makes several sequences of a long line, of which ", script.name,
                           " drops all but the first"),
                       false});
  }
  if (own.has("max-train-samples") && script.sets_aside != SetsAside::kNone) {
    own.remove("max-train-samples");
    remarks.push_back({typed.typed_name("max-train-samples"),
                       cat("counts sequences of tokens in ", script.name,
                           ", and rows in berth; write the rows into a file and name it"),
                       true});
  }
}

}  // namespace berth
