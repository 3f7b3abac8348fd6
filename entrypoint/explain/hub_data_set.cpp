#include "entrypoint/explain/hub_data_set.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {
namespace {

// How a repository keeps its rows.
enum class Kept {
  kTables,  // as Parquet files, in a folder for each configuration
  kScript,  // behind a Python script; the hub keeps a copy in Parquet on another branch
  kAbroad,  // behind a Python script, and too large or too strange for such a copy
};

struct KnownDataSet {
  std::string_view name, repository;
  std::string_view config = {};  // the default, where there are several
  Kept kept = Kept::kTables;
  std::string_view folder = {};  // that holds the folders of configurations: "data/"
};

constexpr KnownDataSet kKnown[] = {
    {"ag_news", "fancyzhx/ag_news"},
    {"amazon_polarity", "fancyzhx/amazon_polarity"},
    {"banking77", "PolyAI/banking77", "", Kept::kScript},
    {"bookcorpus", "bookcorpus/bookcorpus", "", Kept::kScript},
    {"c4", "allenai/c4"},
    {"cc_news", "vblagoje/cc_news"},
    {"conll2003", "eriktks/conll2003", "conll2003", Kept::kScript},
    {"dbpedia_14", "fancyzhx/dbpedia_14"},
    {"emotion", "dair-ai/emotion", "split"},
    {"financial_phrasebank", "takala/financial_phrasebank", "", Kept::kScript},
    {"glue", "nyu-mll/glue"},
    {"imdb", "stanfordnlp/imdb"},
    {"multi_nli", "nyu-mll/multi_nli"},
    {"oscar", "oscar-corpus/oscar", "", Kept::kAbroad},
    {"reuters21578", "ucirvine/reuters21578", "", Kept::kScript},
    {"rotten_tomatoes", "cornell-movie-review-data/rotten_tomatoes"},
    {"snli", "stanfordnlp/snli"},
    {"squad", "rajpurkar/squad"},
    {"squad_v2", "rajpurkar/squad_v2"},
    {"sst2", "stanfordnlp/sst2"},
    {"super_glue", "aps/super_glue", "", Kept::kScript},
    {"trec", "CogComp/trec", "", Kept::kScript},
    {"tweet_eval", "cardiffnlp/tweet_eval"},
    {"wikiann", "unimelb-nlp/wikiann"},
    {"wikimedia/wikipedia", "wikimedia/wikipedia"},
    {"wikipedia", "legacy-datasets/wikipedia", "", Kept::kTables, "data/"},
    {"wikitext", "Salesforce/wikitext"},
    {"wnut_17", "leondz/wnut_17", "", Kept::kScript},
    {"xnli", "facebook/xnli"},
    {"yelp_polarity", "fancyzhx/yelp_polarity"},
    {"yelp_review_full", "Yelp/yelp_review_full"},
};

// Those whose only split is train.
constexpr std::string_view kOnlyTrain[] = {"bookcorpus/bookcorpus", "oscar-corpus/oscar",
                                           "vblagoje/cc_news", "wikimedia/wikipedia",
                                           "legacy-datasets/wikipedia"};

// Whether load_dataset() would find files here, and nothing on the hub.
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

HubDataSet find_hub_data_set(std::string_view name, std::string_view config) {
  if (is_local(name)) return {std::string(name), ""};
  const auto known = std::ranges::find_if(
      kKnown, [&](const KnownDataSet& row) { return row.name == name || row.repository == name; });
  const bool is_known = known != std::end(kKnown);
  std::string place = cat("hf://datasets/", is_known ? known->repository : name);
  const Kept kept = is_known ? known->kept : Kept::kTables;
  const bool has_only_train =
      is_known && std::ranges::find(kOnlyTrain, known->repository) != std::end(kOnlyTrain);
  if (config.empty() && is_known) config = known->config;
  const bool is_alone = name.find('/') == std::string_view::npos && !is_known;
  if (kept == Kept::kScript) {
    place += "@refs%2Fconvert%2Fparquet";
  } else if (is_alone && !config.empty()) {
    place += "@main";  // a path may follow this
  }
  if (!config.empty()) place += cat("/", is_known ? known->folder : "", config);
  if (kept == Kept::kTables) {
    return {place, "is read from the hub by the job itself", has_only_train};
  }
  if (kept == Kept::kAbroad) return {place, script_remark(name, config), has_only_train};
  return {place,
          "is a Python script on the hub, which berth does not run: the job reads the copy in "
          "Parquet that the hub keeps",
          has_only_train};
}

}  // namespace berth
