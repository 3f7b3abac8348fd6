#include "entrypoint/explain/named_inputs.h"

#include <algorithm>

#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

// How a repository keeps its rows.
enum class Kept {
  kTables,  // as Parquet files, in a folder for each configuration
  kScript,  // behind a Python script; the hub keeps a copy in Parquet on another branch
  kAbroad,  // behind a Python script, and too large or too strange for such a copy
};

using enum HubSplits;

struct KnownDataSet {
  std::string_view name, repository;
  HubSplits splits;
  std::string_view config = {};  // the default, where there are several
  Kept kept = Kept::kTables;
  std::string_view folder = {};  // that holds the folders of configurations: "data/"
};

// With the splits of the scripts that huggingface/datasets had until its commit 8803c182.
constexpr KnownDataSet kKnown[] = {
    {"ag_news", "fancyzhx/ag_news", kTest},
    {"amazon_polarity", "fancyzhx/amazon_polarity", kTest},
    {"banking77", "PolyAI/banking77", kTest, "", Kept::kScript},
    {"bookcorpus", "bookcorpus/bookcorpus", kNone, "", Kept::kScript},
    {"bookcorpusopen", "bookcorpus/bookcorpusopen", kNone, "", Kept::kAbroad},
    {"c4", "allenai/c4", kValidation},
    {"cc100", "statmt/cc100", kNone, "", Kept::kAbroad},
    {"cc_news", "vblagoje/cc_news", kNone},
    {"conll2003", "eriktks/conll2003", kValidation, "conll2003", Kept::kScript},
    {"dbpedia_14", "fancyzhx/dbpedia_14", kTest},
    {"emotion", "dair-ai/emotion", kValidation, "split"},
    {"financial_phrasebank", "takala/financial_phrasebank", kNone, "", Kept::kScript},
    {"glue", "nyu-mll/glue", kValidation},
    {"go_emotions", "google-research-datasets/go_emotions", kValidation, "simplified"},
    {"imdb", "stanfordnlp/imdb", kTest},
    {"mc4", "legacy-datasets/mc4", kValidation, "", Kept::kAbroad},
    {"multi_nli", "nyu-mll/multi_nli", kUnknown},
    {"openwebtext", "Skylion007/openwebtext", kNone},
    {"oscar", "oscar-corpus/oscar", kNone, "", Kept::kAbroad},
    {"oscar-corpus/OSCAR-2201", "oscar-corpus/OSCAR-2201", kNone, "", Kept::kAbroad},
    {"oscar-corpus/OSCAR-2301", "oscar-corpus/OSCAR-2301", kNone, "", Kept::kAbroad},
    {"reuters21578", "ucirvine/reuters21578", kTest, "", Kept::kScript},
    {"rotten_tomatoes", "cornell-movie-review-data/rotten_tomatoes", kValidation},
    {"snli", "stanfordnlp/snli", kValidation},
    {"squad", "rajpurkar/squad", kValidation},
    {"squad_v2", "rajpurkar/squad_v2", kValidation},
    {"sst2", "stanfordnlp/sst2", kValidation},
    {"super_glue", "aps/super_glue", kValidation, "", Kept::kScript},
    {"swag", "allenai/swag", kValidation, "regular"},
    {"trec", "CogComp/trec", kTest, "", Kept::kScript},
    {"tweet_eval", "cardiffnlp/tweet_eval", kValidation},
    {"wikiann", "unimelb-nlp/wikiann", kValidation},
    {"wikimedia/wikipedia", "wikimedia/wikipedia", kNone},
    {"wikipedia", "legacy-datasets/wikipedia", kNone, "", Kept::kTables, "data/"},
    {"wikitext", "Salesforce/wikitext", kValidation},
    {"wnut_17", "leondz/wnut_17", kValidation, "", Kept::kScript},
    {"xnli", "facebook/xnli", kValidation},
    {"yelp_polarity", "fancyzhx/yelp_polarity", kTest},
    {"yelp_review_full", "Yelp/yelp_review_full", kTest},
};

// Configurations that have other splits than their data set.
struct OtherSplits {
  std::string_view repository, config;
  HubSplits splits;
};
constexpr OtherSplits kOther[] = {
    {"dair-ai/emotion", "unsplit", kNone}, {"google-research-datasets/go_emotions", "raw", kNone},
    {"nyu-mll/glue", "mnli", kUnknown},    {"nyu-mll/glue", "ax", kTest},
    {"aps/super_glue", "axb", kTest},      {"aps/super_glue", "axg", kTest}};

HubSplits splits_of(const KnownDataSet& known, std::string_view config) {
  for (const OtherSplits& row : kOther) {
    if (row.repository == known.repository && row.config == config) return row.splits;
  }
  return known.splits;
}

// Data sets whose column has as many classes, as their cards say.
struct KnownLabels {
  std::string_view names;
  size_t count;
  std::string_view column = "label";
};
constexpr KnownLabels kKnownLabels[] = {
    {"imdb stanfordnlp/imdb rotten_tomatoes cornell-movie-review-data/rotten_tomatoes sst2 "
     "stanfordnlp/sst2 amazon_polarity fancyzhx/amazon_polarity yelp_polarity "
     "fancyzhx/yelp_polarity",
     2},
    {"ag_news fancyzhx/ag_news", 4},
    {"yelp_review_full Yelp/yelp_review_full", 5},
    {"emotion dair-ai/emotion", 6},
    {"dbpedia_14 fancyzhx/dbpedia_14", 14},
    {"banking77 PolyAI/banking77", 77},
    {"snli stanfordnlp/snli multi_nli nyu-mll/multi_nli xnli facebook/xnli", 3},
    {"sentence-transformers/stsb mteb/stsbenchmark-sts", 1},
    {"sentence-transformers/stsb mteb/stsbenchmark-sts", 1, "score"},
    {"stsb_multi_mt PhilipMay/stsb_multi_mt", 1, "similarity_score"},
    {"conll2003 eriktks/conll2003", 9, "ner_tags"},
    {"wnut_17 leondz/wnut_17", 13, "ner_tags"},
    {"wikiann unimelb-nlp/wikiann", 7, "ner_tags"},
};

// Whether this is a place of files, and nothing on the hub.
bool is_local(std::string_view name) {
  return name.starts_with('.') || name.starts_with('/') || name.starts_with('~') ||
         name.starts_with('$') || name.find("://") != std::string_view::npos;
}

std::string script_remark(std::string_view name, std::string_view config) {
  return cat(
      "is a Python script on the hub, which berth does not run. Where the job finds no rows "
      "there, `datasets` in a version below 4 writes a folder for --train-data-file: "
      "load_dataset(\"",
      name, "\"", config.empty() ? "" : cat(", \"", config, "\""), ").save_to_disk(\"",
      last_part(name), "\")");
}

}  // namespace

size_t label_count(std::string_view name, std::string_view config, std::string_view column) {
  const bool is_glue = name == "glue" || name == "nyu-mll/glue";
  const GlueTask* task = is_glue && column == "label" ? find_glue_task(config) : nullptr;
  if (task != nullptr) return std::max(task->labels.size(), size_t{1});
  for (const KnownLabels& row : kKnownLabels) {
    if (is_one_of(row.names, name) && row.column == column) return row.count;
  }
  return 0;
}

std::string place_of_file(std::string_view source, std::string_view file) {
  constexpr std::string_view kFormats = "csv json text parquet arrow pandas webdataset sql xml";
  const bool is_whole = file.starts_with('/') || file.find("://") != file.npos;
  if (is_whole || is_one_of(kFormats, source)) return std::string(file);
  if (is_local(source)) return cat(source, source.ends_with('/') ? "" : "/", file);
  const auto known = std::ranges::find_if(kKnown, [&](const KnownDataSet& row) {
    return row.name == source || row.repository == source;
  });
  const std::string_view name = known == std::end(kKnown) ? source : known->repository;
  const bool is_alone = name.find('/') == name.npos;
  return cat("hf://datasets/", name, is_alone ? "@main/" : "/", file);
}

HubDataSet find_hub_data_set(std::string_view name, std::string_view config) {
  if (is_local(name)) return {std::string(name), "", kUnknown};
  const auto known = std::ranges::find_if(
      kKnown, [&](const KnownDataSet& row) { return row.name == name || row.repository == name; });
  const bool is_known = known != std::end(kKnown);
  std::string place = cat("hf://datasets/", is_known ? known->repository : name);
  const Kept kept = is_known ? known->kept : Kept::kTables;
  if (config.empty() && is_known) config = known->config;
  const HubSplits splits = is_known ? splits_of(*known, config) : kUnknown;
  const bool is_alone = name.find('/') == std::string_view::npos && !is_known;
  if (kept == Kept::kScript) {
    place += "@refs%2Fconvert%2Fparquet";
  } else if (is_alone && !config.empty()) {
    place += "@main";  // a path may follow this
  }
  if (!config.empty()) place += cat("/", is_known ? known->folder : "", config);
  if (kept == Kept::kTables) {
    return {place, "is read from the hub by the job itself", splits};
  }
  if (kept == Kept::kAbroad) return {place, script_remark(name, config), splits};
  return {place,
          "is a Python script on the hub, which berth does not run: the job reads the copy in "
          "Parquet that the hub keeps",
          splits};
}

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
  if (script == "run_swag.py") return WantedDataSet{"SWAG", find_hub_data_set("swag", "")};
  const GlueTask* task = find_glue_task(own.value("task").value_or(""));
  if (task == nullptr) return std::nullopt;
  return WantedDataSet{typed.typed_name("task"), find_hub_data_set("glue", task->name)};
}

// Takes back that the flags of a data set are refused.
void accept_data_set(const TypedCommand& typed, Remarks& remarks) {
  std::vector<std::string> names;
  for (const char* flag : {"dataset_name", "dataset_config_name", "language", "train_language"}) {
    names.push_back(typed.typed_name(flag));
  }
  std::erase_if(remarks, [&](const Remark& remark) {
    return remark.refused && !remark.flag.empty() && is_one_of(names, remark.flag);
  });
}

// With a data set, or run_glue.py with a task, a script reads no other files.
void note_unread_files(std::string_view script, const TypedCommand& typed, const OwnCommand& own,
                       Remarks& remarks) {
  const bool is_task =
      script.starts_with("run_glue") && find_glue_task(own.value("task").value_or("")) != nullptr;
  const std::string data_set = typed.typed_name("dataset_name");
  if (script.empty() || (!is_task && data_set.empty())) return;
  std::vector<std::string> names;
  for (const Flag& flag : flag_table()) {
    if (flag.role.names_rows()) names.push_back(typed.typed_name(flag.name));
  }
  names.push_back(data_set);
  for (const std::string& name : names) {
    if (name.empty() || (!is_task && name == data_set)) continue;
    accept_data_set(typed, remarks);
    remarks.refuse(is_task ? typed.typed_name("task") : data_set,
                   cat("makes ", script, " read ", is_task ? "the task's rows" : "its rows",
                       " from the hub, and not ", name, "; leave one of the two flags out"));
    return;
  }
}

// The value of --data-dir, which is taken off, with a slash at its end.
std::string take_folder(OwnCommand& own) {
  std::string folder = *own.value("data-dir");
  if (!folder.ends_with('/')) folder += '/';
  own.remove("data-dir");
  return folder;
}

// The folder of run_ner.py in early transformers holds train.txt, dev.txt and test.txt.
void name_early_files(bool predicts_afterwards, OwnCommand& own, Remarks& remarks) {
  const std::string folder = take_folder(own);
  const std::string mode = own.mode();
  if (own.trains()) own.set("train-data-file", folder + "train.txt");
  if (mode == "eval" || mode == "train_and_eval") own.set("eval-data-file", folder + "dev.txt");
  if (mode == "predict" || predicts_afterwards) own.set("predict-data-file", folder + "test.txt");
  remarks.note("--data_dir",
               "holds train.txt, dev.txt and test.txt there, which berth reads as CoNLL");
}

// The files of run_squad.py in early transformers are in the folder, if their names do not say
// more.
void name_files_in_folder(OwnCommand& own) {
  const std::string folder = take_folder(own);
  const std::vector<OwnCommand::Setting> settings = own.settings();
  for (const auto& [flag, name] : settings) {
    const bool is_whole =
        name.starts_with('/') || name.starts_with('$') || name.find("://") != std::string::npos;
    if (flag->role.names_rows() && !is_whole) own.set(flag->name, folder + name);
  }
}

void name_places(std::string_view script, const TypedCommand& typed, bool predicts_afterwards,
                 OwnCommand& own, Remarks& remarks) {
  if (script == "run_ner.py" && own.has("data-dir")) {
    return name_early_files(predicts_afterwards, own, remarks);
  }
  if (script == "run_squad.py" && own.has("data-dir") &&
      (own.has("train-data-file") || own.has("eval-data-file") || own.has("predict-data-file"))) {
    name_files_in_folder(own);
  }
  if (script == "run_xnli.py" && own.has("data-dir")) {
    own.remove("data-dir");
    remarks.refuse("--data_dir",
                   "holds the rows of XNLI, of which the early run_xnli.py scores those for "
                   "tests; leave it out, and berth reads the rows from the hub");
  }
  if (names_files(own)) return;
  const std::optional<WantedDataSet> wanted = wanted_data_set(script, typed, own);
  const std::string task = own.value("task").value_or("");
  if (!wanted && script.starts_with("run_glue") && task.find('$') != std::string::npos) {
    remarks.refuse(typed.typed_name("task"),
                   cat("is ", quoted(task),
                       ", which the text does not set, and the rows are the "
                       "task's; write its name"));
  }
  if (!wanted) return;
  const std::string& place = wanted->rows.place;
  const std::string& scored = wanted->other_rows.empty() ? place : wanted->other_rows;
  const std::string mode = own.mode();
  // Training evaluates on the data set's own split.
  if (own.trains()) own.set("train-data-file", place);
  if (mode == "eval" || (mode == "train_and_eval" && !wanted->other_rows.empty())) {
    own.set("eval-data-file", scored);
  }
  if (mode == "predict" || predicts_afterwards) own.set("predict-data-file", scored);
  accept_data_set(typed, remarks);
  if (!wanted->rows.remark.empty()) {
    remarks.note(wanted->flag, wanted->rows.remark);
  }
}

}  // namespace

void name_data_files(std::string_view script, const TypedCommand& typed, bool predicts_afterwards,
                     OwnCommand& own, Remarks& remarks) {
  name_places(script, typed, predicts_afterwards, own, remarks);
  note_unread_files(script, typed, own, remarks);
}

namespace {

// The configuration in a folder, or in a repository of the hub.
std::string config_in(const std::string& place) {
  if (place.ends_with(".json")) return place;
  const bool is_folder = is_local(place);
  const bool is_alone = !is_folder && place.find('/') == std::string::npos;
  // A path may follow a name without an organisation behind its revision only.
  return cat(is_folder ? "" : "hf://", place, is_alone ? "@main" : "",
             place.ends_with('/') ? "" : "/", "config.json");
}

bool is_of_scratch(const Remark& remark) {
  return remark.refused && (remark.flag == "--model_type" || remark.flag == "--tokenizer_name");
}

std::string without_slash(std::string place) {
  while (place.size() > 1 && place.ends_with('/')) place.pop_back();
  return place;
}

}  // namespace

void name_configuration(const TypedCommand& typed, OwnCommand& own, Remarks& remarks) {
  const std::optional<std::string> model = own.value("model");
  const std::optional<std::string> config = own.value("model-config");
  const bool is_name = std::ranges::any_of(typed.arguments(), [](const TypedArgument& argument) {
    return argument.typed == "--config_name" || argument.typed == "--config-name";
  });
  if (!is_name || !model || !config) return;
  if (without_slash(*config) != without_slash(*model)) {
    return own.set("model-config", config_in(*config));
  }
  own.remove("model-config");
  remarks.note("--config_name", "has no effect: the configuration is the model's");
}

void name_scratch_model(const TypedCommand& typed, OwnCommand& own, Remarks& remarks) {
  const std::optional<std::string> tokenizer = typed.value("tokenizer_name");
  if (own.has("model") || !tokenizer) return;
  const std::optional<std::string> config = own.value("model-config");
  std::erase_if(remarks, is_of_scratch);
  own.set("model", *tokenizer);
  own.set("init", "random");
  if (config && without_slash(*config) == without_slash(*tokenizer)) {
    own.remove("model-config");
    remarks.note("--tokenizer_name",
                 "names the folder of tokenizer and config.json: --model with --init random "
                 "takes both from there, and no parameters");
  } else if (config) {
    own.set("model-config", config_in(*config));
    remarks.note("--tokenizer_name",
                 "names the tokenizer: --model takes it from there, and the sizes from "
                 "--model-config");
  } else if (!typed.value("config_overrides")) {
    remarks.refuse("--model_type",
                   "takes the sizes that transformers has for a type, without --config_name; "
                   "write them into a config.json and name it with --model-config");
  }
}

void name_random_model(const TrainingScript& script, OwnCommand& own, Remarks& remarks) {
  const bool needs_none = own.has("model") || own.has("init") || script.name == "fit";
  if (script.batch == BatchOf::kDevice || !own.trains() || needs_none) return;
  if (!own.has("model-config") || !own.has("vocab-file")) {
    return remarks.refuse(
        "--init_checkpoint",
        cat("is not in the line, so ", script.name,
            " begins from random parameters; add --init random --model-config config.json "
            "--vocab-file vocab.txt, or --init_checkpoint"));
  }
  own.set("init", "random");
  remarks.note("--init random", cat("is what ", script.name, " does without --init_checkpoint"));
}

}  // namespace berth
