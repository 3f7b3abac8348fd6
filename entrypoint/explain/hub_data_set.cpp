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

using enum HubSplits;

struct KnownDataSet {
  std::string_view name, repository;
  HubSplits splits;
  std::string_view config = {};  // the default, where there are several
  Kept kept = Kept::kTables;
  std::string_view folder = {};  // that holds the folders of configurations: "data/"
};

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
constexpr OtherSplits kOther[] = {{"dair-ai/emotion", "unsplit", kNone},
                                  {"google-research-datasets/go_emotions", "raw", kNone},
                                  {"nyu-mll/glue", "mnli", kUnknown}};

HubSplits splits_of(const KnownDataSet& known, std::string_view config) {
  for (const OtherSplits& row : kOther) {
    if (row.repository == known.repository && row.config == config) return row.splits;
  }
  return known.splits;
}

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

}  // namespace berth
