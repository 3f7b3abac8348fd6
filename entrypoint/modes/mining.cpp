#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "entrypoint/flags/flag_value.h"
#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/report/progress_lines.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/text_table_writer.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/evaluate_retrieval.h"
#include "trainer/loop/mine_negatives.h"
#include "trainer/loop/retrieval_set.h"
#include "trainer/metrics/metrics.h"

namespace berth {
namespace {

constexpr const char* kRangeFlag = "--mine-range";

// Sets the range as the flag says it. Behind it, `last` is 0 where the flag does not say it.
void set_range(const std::string& text, MiningRules& rules) {
  if (text.empty()) return;
  constexpr IntegerRange kPlaces{0, 1'000'000};
  const size_t dash = text.find('-');
  try {
    if (dash != std::string::npos) rules.skipped = parse_integer(text.substr(0, dash), kPlaces);
    rules.last = parse_integer(dash == std::string::npos ? text : text.substr(dash + 1), kPlaces);
  } catch (const Error& error) {
    throw error.at(kRangeFlag);
  }
  if (rules.last - rules.skipped >= rules.negatives) return;
  throw Error(Code::kUsage,
              cat("the range has ", std::max<int64_t>(0, rules.last - rules.skipped),
                  " passages, and ", rules.negatives, " negatives are needed (--mine-negatives)"),
              kRangeFlag, "name the first and the last place, such as 10-100");
}

MiningRules rules_of(const Settings& settings) {
  const MiningOptions& options = settings.mining;
  MiningRules rules{.negatives = options.negatives,
                    .margin = options.margin,
                    .relative_margin = options.relative_margin,
                    .max_score = options.max_score,
                    .min_score = options.min_score,
                    .samples = options.samples,
                    .seed = settings.training.seed};
  set_range(options.range, rules);
  if (settings.embedding.truncate_dim) {
    throw Error(Code::kUsage, "negatives are found by whole embeddings", "--truncate-dim",
                "leave it out");
  }
  return rules;
}

// Reads the pairs, of which negatives are made to train on: of several splits, the one for
// training. All of them belong together, so they have no labels.
LoadedTable load_pairs(const DataPaths& paths, DataRequest request) {
  request.role = "train";
  request.rules.ignores_negatives = true;
  request.rules.task = Task::kSimilarity;
  request.rules.need = LabelNeed::kRequired;
  request.rules.may_lack_labels = true;
  LoadedTable loaded = load_table(paths, request);
  if (loaded.task != Task::kSimilarity) return loaded;
  throw Error(Code::kBadData,
              cat("the column ", quoted(loaded.columns.label),
                  " holds labels, and negatives are found for pairs that belong together"),
              loaded.name, "leave out the pairs that do not, and then the column");
}

// The passages of a search, each once and without blanks around it, and their numbers.
class Passages {
 public:
  // Remembers the number that the passage will have.
  void expect(std::string_view positive) {
    positives_.try_emplace(std::string(trimmed(positive)), kUnknown);
  }

  // A passage of a corpus, which has a title before its text. It is a positive if its text is one,
  // which then has the title, too, as its negatives have theirs.
  void add(std::string_view with_title, std::string_view text) {
    std::string passage(trimmed(with_title));
    if (passage.empty()) return;
    auto positive = positives_.find(passage);
    if (positive == positives_.end()) positive = positives_.find(std::string(trimmed(text)));
    if (positive != positives_.end()) {
      if (positive->second != kUnknown) return;
      positive->second = static_cast<uint32_t>(table_.rows());
      titled_ += positive->first != passage;
    } else if (!others_.emplace(hash_(passage), hash_("\n" + passage)).second) {
      return;
    }
    table_.append({.texts = {std::move(passage)}});
  }

  uint32_t number(std::string_view positive) const {
    return positives_.at(std::string(trimmed(positive)));
  }

  // Says how many positives got a title, and how many were not added yet, which a corpus should
  // hold.
  void say_positives(const std::string& corpus) const {
    if (titled_ > 0) {
      log_info(cat("the titles of ", corpus, " stand before its passages, and now before ", titled_,
                   " of ", counted(positives_.size(), "positive"),
                   ", too; without its column \"title\", no passage has one"));
    }
    const auto absent = static_cast<size_t>(
        std::ranges::count(positives_, kUnknown, [](const auto& entry) { return entry.second; }));
    if (absent == 0) return;
    const std::string line = cat(corpus, " lacks ", absent, " of ",
                                 counted(positives_.size(), "positive"), ", which are added to it");
    if (absent * 2 <= positives_.size()) return log_info(line);
    log_warning(cat(line, "; if it holds them in other words, they are found as negatives"));
  }

  ExampleTable take() {
    table_.finish();
    return std::move(table_);
  }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  const std::hash<std::string> hash_{};
  std::unordered_map<std::string, uint32_t> positives_;
  std::set<std::pair<size_t, size_t>> others_;  // two hashes of each
  ExampleTable table_;
  size_t titled_ = 0;  // positives that are in the corpus with a title
};

// The texts that are compared: each first text once, with the numbers of its positives.
std::unique_ptr<RetrievalSet> make_set(Storage& storage, const Settings& settings,
                                       const LoadedTable& pairs) {
  const ExampleTable& table = *pairs.table;
  const auto rows = static_cast<uint32_t>(table.rows());
  Passages passages;
  for (uint32_t row = 0; row < rows; ++row) passages.expect(table.read(row).texts.at(1));
  std::vector<Source> sources = pairs.sources;
  if (!settings.mining.corpus.empty()) {
    const TextForm form{.encoding = settings.data.text_form.encoding};
    for (Source& source : read_passages(storage, settings.mining.corpus, form,
                                        [&](const std::string&passage, const std::string&text) {
                                          passages.add(passage, text);
                                        })) {
      sources.push_back(std::move(source));
    }
    passages.say_positives(settings.mining.corpus);
  }
  for (uint32_t row = 0; row < rows; ++row) {
    const std::string positive = table.read(row).texts.at(1);
    passages.add(positive, positive);
  }
  std::vector<RetrievalQuery> queries;
  std::unordered_map<std::string, size_t> numbers;
  for (uint32_t row = 0; row < rows; ++row) {
    const Example pair = table.read(row);
    if (trimmed(pair.texts[0]).empty() || trimmed(pair.texts[1]).empty()) {
      throw Error(Code::kBadData, cat("row ", table.source_row(row), " has an empty text"),
                  pairs.name, "leave such rows out");
    }
    const auto [found, is_new] = numbers.try_emplace(pair.texts[0], queries.size());
    if (is_new)
      queries.push_back({.id = cat("row ", table.source_row(row)), .text = pair.texts[0]});
    const uint32_t positive = passages.number(pair.texts[1]);
    std::vector<Judgement>& own = queries[found->second].judgements;
    if (std::ranges::find(own, positive, &Judgement::document) == own.end()) {
      own.push_back({.document = positive, .grade = 1});
    }
  }
  return std::make_unique<RetrievalSet>(pairs.name, std::move(queries), passages.take(),
                                        std::move(sources));
}

// A query and a passage, by their numbers.
struct NumberedPair {
  uint32_t query = 0, document = 0;
};

// Pairs as rows for a cross-encoder. Borrows the set.
class PairRows final : public StoredExamples {
 public:
  PairRows(const RetrievalSet& set, std::vector<NumberedPair> pairs)
      : set_(set), pairs_(std::move(pairs)) {}

  size_t rows() const override { return pairs_.size(); }
  Example read(uint32_t row) const override {
    const auto [query, document] = pairs_[row];
    return {.texts = {set_.queries()[query].text, set_.document(document).texts[0]}};
  }
  size_t size_bytes() const override { return SIZE_MAX; }  // so that no features are kept

 private:
  const RetrievalSet& set_;
  const std::vector<NumberedPair> pairs_;
};

// Replaces all scores by the scores of the cross-encoder that --mine-reranker names.
void rescore(const Job& job, const RetrievalSet& set, FoundPassages& found) {
  CommandLine line = job.command_line;
  line.settings.mode = Mode::kPredict;
  line.settings.model = {.model = job.command_line.settings.mining.reranker};
  line.settings.embedding = {};
  line.settings.output.job_dir.clear();
  line.settings.data.task = task_name(Task::kReranking);
  // A flag of the length is the encoder's.
  line.settings.data.max_seq_length = DataOptions().max_seq_length;
  std::erase(line.given, "max-seq-length");
  Job ranking = job.with(line);
  FinishedModel reranker(ranking);
  std::vector<NumberedPair> pairs;
  for (uint32_t query = 0; query < found.rankings.size(); ++query) {
    for (const FoundDocument& passage : found.rankings[query]) {
      pairs.push_back({query, passage.document});
    }
    for (const Judgement& positive : set.queries()[query].judgements) {
      pairs.push_back({query, positive.document});
    }
  }
  LoadedTable loaded{.table = std::make_unique<ExampleTable>(),
                     .task = Task::kReranking,
                     .columns = {},
                     .name = set.name(),
                     .sources = {}};
  loaded.table->adopt(std::make_unique<PairRows>(set, std::move(pairs)));
  const LabelledData rows(loaded, loaded.task, /*labels=*/{}, /*wants_labels=*/false,
                          reranker.settings(), reranker.tokenizer());
  warn_of_tokens(loaded, reranker.config(), reranker.settings(), reranker.tokenizer());
  Dataset data = rows.all_rows();
  std::vector<float> scores;
  const bool is_logit = reranker.config().reranking.form == ScoreForm::kLogit;
  const auto keep = [&](int64_t index, std::span<const float> logits) {
    require_finite(data, index, logits);
    scores.push_back(is_logit ? logits[0] : static_cast<float>(sigmoid(logits[0])));
    job.output.on(Evaluating{.done = index + 1, .total = data.size()});
  };
  const int64_t batch_size = reranker.settings().training.examples_per_evaluation_batch();
  if (!run_forward(reranker.engine_for(loaded, data), data, batch_size, job.stop, keep,
                   job.ranks)) {
    throw_stopped();
  }
  size_t next = 0;
  for (size_t query = 0; query < found.rankings.size(); ++query) {
    for (FoundDocument& passage : found.rankings[query]) passage.score = scores[next++];
    for (float& score : found.judged[query]) score = scores[next++];
  }
}

// Where the vectors of a job are kept until its rows are written. nullopt: the rows go to standard
// output, or several workers compute them.
std::optional<Uri> place_of_vectors(const Job& job, const Settings& settings) {
  const std::string& file = job.command_line.tool.predictions_file;
  if (job.ranks != nullptr || file == "-") return std::nullopt;
  if (!settings.output.job_dir.empty()) return JobDirectory(settings.output).mining();
  if (file.empty()) return std::nullopt;
  return Uri::parse(file + ".mining");
}

// A text that differs where the vectors of the texts would.
std::string identity_of_vectors(FinishedModel& finished, const RetrievalSet& set,
                                const RetrievalReading& reading) {
  std::string text = cat(
      to_config_json(finished.config()), " pooling ", static_cast<int>(finished.config().pooling),
      " ", tokenizer_checksum(finished.tokenizer()), " length ", reading.max_seq_length,
      " batches ", reading.limits.tokens, ":", reading.limits.sequences, " ",
      finished.engine_info().description, " prompts ", quoted(reading.prompts.query),
      quoted(reading.prompts.passage));
  for (const std::vector<Source>& sources : {finished.files(), set.sources()}) {
    for (const Source& source : sources) {
      text += cat(" ", source.checksum.size, ":", crc_text(source.checksum.crc));
    }
  }
  return text;
}

// What the search found, scored by the cross-encoder where there is one. Completes the rules. Fills
// `saved` where vectors are kept.
FoundPassages find_passages(Job& job, FinishedModel& finished, const RetrievalSet& set,
                            MiningRules& rules, std::optional<SavedVectors>& saved) {
  size_t positives = 0;
  for (const RetrievalQuery& query : set.queries()) {
    positives = std::max(positives, query.judgements.size());
  }
  const bool rescores = !finished.settings().mining.reranker.empty();
  if (rules.last == 0) rules.last = rules.usual_last(static_cast<int64_t>(positives), rescores);
  FinishedModel::Search search = finished.search(set);
  if (const auto place = place_of_vectors(job, finished.settings())) {
    saved.emplace(
        job.storage, *place,
        cat(identity_of_vectors(finished, set, search.reading), " passages ", set.documents()));
    search.reading.saved = &*saved;
  }
  auto found =
      search_passages(search.engine, set, search.reading,
                      static_cast<size_t>(rules.last) + positives, job.output, job.stop, job.ranks);
  if (!found) throw_stopped();
  if (saved && saved->loaded() > 0) {
    log_info(
        cat("the vectors of ", counted(saved->loaded(), "text"), " are taken from an earlier run"));
  }
  if (rescores) rescore(job, set, *found);
  return std::move(*found);
}

// The negatives of each query.
class Mined {
 public:
  Mined(const RetrievalSet& set, const FoundPassages& found, const MiningRules& rules)
      : set_(set), rules_(rules) {
    for (uint32_t query = 0; query < set.queries().size(); ++query) {
      std::vector<ScoredPassage> passages;
      for (const FoundDocument& passage : found.rankings[query]) {
        passages.push_back({passage.document, static_cast<double>(passage.score)});
      }
      std::vector<uint32_t> positives;
      for (const Judgement& own : set.queries()[query].judgements) {
        positives.push_back(own.document);
      }
      const double worst = static_cast<double>(*std::ranges::min_element(found.judged[query]));
      negatives_.push_back(choose_negatives(passages, positives, worst, rules, query, refused_));
      (negatives_.back().empty() ? without_ : pairs_) += std::ssize(positives);
      if (negatives_.back().empty()) continue;
      for (const float score : found.judged[query]) of_positives_ += static_cast<double>(score);
      for (const ScoredPassage& passage : negatives_.back()) {
        of_negatives_ += passage.score * static_cast<double>(positives.size());
      }
    }
  }

  int64_t pairs() const { return pairs_; }

  // Warns of negatives that are the query itself, as where a corpus holds the queries.
  void write(const ColumnChoice& columns, std::string_view file, ByteSink& sink) const {
    size_t equal = 0;
    std::vector<std::string> names = {columns.text, columns.text_pair};
    for (int64_t i = 1; i <= rules_.negatives; ++i) names.push_back(cat("negative_", i));
    const auto writer = make_text_table_writer(file, names, sink);
    for (size_t query = 0; query < negatives_.size(); ++query) {
      if (negatives_[query].empty()) continue;
      std::vector<std::string> row = {set_.queries()[query].text, ""};
      for (const ScoredPassage& negative : negatives_[query]) {
        row.push_back(text(negative.document));
        equal += row.back() == trimmed(row.front());
      }
      for (const Judgement& positive : set_.queries()[query].judgements) {
        row[1] = text(positive.document);
        writer->add(row);
      }
    }
    writer->finish();
    if (equal == 0) return;
    log_warning(cat(counted(equal, "negative"), equal == 1 ? " is its" : " are their",
                    " own query; take the queries out of the passages, or give --mine-max-score"));
  }

  std::string summary() const {
    const auto mean = [](double sum, int64_t count) {
      return number_text("%.4f", count > 0 ? sum / static_cast<double>(count) : 0);
    };
    std::string line =
        cat("mined ", rules_.negatives, rules_.negatives == 1 ? " negative" : " negatives",
            " for each of ", counted(static_cast<size_t>(pairs_), "pair"), " among ",
            counted(set_.documents(), "passage"), "; mean score of positives ",
            mean(of_positives_, pairs_), ", of negatives ",
            mean(of_negatives_, pairs_ * rules_.negatives));
    if (without_ > 0) {
      line += cat("; left out, as too few passages are left: ",
                  counted(static_cast<size_t>(without_), "pair"));
    }
    // Each count belongs to one rule, and each rule to one flag.
    for (const auto& [flag, count] : {std::pair("--mine-margin", refused_.margin),
                                      std::pair("--mine-relative-margin", refused_.relative_margin),
                                      std::pair("--mine-max-score", refused_.max_score),
                                      std::pair("--mine-min-score", refused_.min_score)}) {
      if (count > 0) line += cat("; refused by ", flag, ": ", count);
    }
    return line;
  }

 private:
  std::string text(uint32_t document) const { return set_.document(document).texts[0]; }

  const RetrievalSet& set_;
  const MiningRules& rules_;
  std::vector<std::vector<ScoredPassage>> negatives_;
  MiningCounts refused_;
  int64_t pairs_ = 0, without_ = 0;
  double of_positives_ = 0, of_negatives_ = 0;
};

}  // namespace

void run_mining(Job& job) {
  const std::string& file = job.command_line.tool.predictions_file;
  if (!file.empty() && file != "-") require_text_table(file);
  MiningRules rules = rules_of(job.command_line.settings);
  FinishedModel finished(job);
  const Settings& settings = finished.settings();
  const LoadedTable pairs = load_pairs(DataPaths(job.storage), finished.sources().predict);
  if (!pairs.columns.others.empty()) {
    log_warning(cat("the negatives that the rows have already (", quoted_list(pairs.columns.others),
                    ") are left out; the new ones take their place"));
  }
  const std::unique_ptr<RetrievalSet> set = make_set(job.storage, settings, pairs);
  std::optional<SavedVectors> saved;
  const FoundPassages found = find_passages(job, finished, *set, rules, saved);
  const Mined mined(*set, found, rules);
  if (mined.pairs() == 0) {
    throw Error(Code::kBadData, cat("no pair has negatives: ", mined.summary()), pairs.name,
                "give more passages by --mine-corpus, or weaker rules");
  }
  const bool goes_to_output = file == "-" || (file.empty() && settings.output.job_dir.empty());
  if (job.leads() && goes_to_output) {
    StandardOutput output;
    mined.write(pairs.columns, ".jsonl", output);
    output.close();
  } else if (job.leads()) {
    const Uri place = file.empty() ? JobDirectory(settings.output).mined() : Uri::parse(file);
    store_object(job.storage, place,
                 [&](ByteSink& sink) { mined.write(pairs.columns, place.to_string(), sink); });
    if (saved) saved->remove();
    job.progress.set_results({.predictions = place.to_string()});
  }
  job.output.on(JobFinished{});
  log_info(mined.summary());
}

}  // namespace berth
