#include "entrypoint/job/token_survey.h"

#include <algorithm>
#include <optional>

#include "entrypoint/report/bar_line.h"
#include "storage/base/text.h"
#include "trainer/data/dataset.h"
#include "trainer/data/word_starts.h"
#include "trainer/model/task.h"

namespace berth {
namespace {

constexpr size_t kMostRows = 1000, kMostSequences = 10'000;
constexpr size_t kMostBytes = size_t{2} << 20;  // of texts, so that counting takes a moment
constexpr double kFewCut = 0.05, kFewUnknownTexts = 0.05, kFewUnknownTokens = 0.2;
constexpr int64_t kRounding = 8;  // of a length that is proposed

// Rows that are evenly spaced over `all`, as many as have kMostBytes together.
std::vector<uint32_t> sampled_rows(const ExampleTable& table, std::span<const uint32_t> all) {
  const size_t count = std::min(all.size(), kMostRows);
  std::vector<uint32_t> sample;
  size_t bytes = 0;
  for (size_t i = 0; i < count && bytes < kMostBytes; ++i) {
    const uint32_t row = all[i * all.size() / count];
    const Example example = table.read(row);
    for (const std::string& text : example.texts) bytes += text.size();
    bytes += example.token_ids.size();
    if (bytes < kMostBytes || sample.empty()) sample.push_back(row);
  }
  return sample;
}

int64_t share_of(double part, size_t all) {
  return static_cast<int64_t>(part * static_cast<double>(all));
}

// "37 of 300 texts (12 %)", or "about 12 % of the texts" where only some were looked at.
std::string part_of_texts(int64_t part, const TokenLengths& lengths) {
  const auto seen = static_cast<int64_t>(lengths.lengths.size());
  const std::string percent = number_text(
      "%.0f %%", 100 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, seen)));
  if (seen < lengths.texts) {
    return cat("about ", percent, " of the texts (", part, " of ", seen, " that were looked at)");
  }
  return cat(part, " of ", seen, " texts (", percent, ")");
}

}  // namespace

TokenSurvey survey_tokens(const LoadedTable& loaded, Task task,
                          const std::vector<std::string>& labels, const Settings& settings,
                          const Tokenizer& tokenizer, std::span<const uint32_t> rows) {
  TokenSurvey found{.lengths = {.max_seq_length = settings.data.max_seq_length},
                    .are_cut = !become_windows(task)};
  Settings uncut = settings;
  uncut.data.max_seq_length = kLongestSequence;
  const LabelledData examples(loaded, task, labels, /*wants_labels=*/false, uncut, tokenizer);
  Dataset data = examples.rows(sampled_rows(*loaded.table, rows));
  std::vector<TokenRole> roles;  // none where rows hold token ids and there is no vocabulary
  if (tokenizer.vocab_size() > 0) roles = token_roles(tokenizer);
  const std::optional<int32_t> unknown = unknown_id(tokenizer);
  for (int64_t i = 0; i < data.size(); ++i) {
    const Features& features = data.features(i);
    std::vector<int32_t> ends = features.ends;
    if (ends.empty()) ends.push_back(static_cast<int32_t>(features.input_ids.size()));
    int32_t begin = 0;
    for (const int32_t end : ends) {
      found.lengths.lengths.push_back(static_cast<double>(end - begin));
      int64_t tokens = 0, unknown_tokens = 0;
      for (int32_t at = begin; at < end; ++at) {
        const int32_t id = features.input_ids[static_cast<size_t>(at)];
        const auto place = static_cast<size_t>(id);
        const bool is_special = place >= roles.size() || roles[place] == TokenRole::kSpecial;
        unknown_tokens += id == unknown;
        tokens += id == unknown || !is_special;
      }
      found.unknown_texts += tokens > 0 && tokens == unknown_tokens;
      found.tokens += tokens;
      found.unknown_tokens += unknown_tokens;
      begin = end;
    }
  }
  const bool has_all = data.rows() == static_cast<int64_t>(rows.size());
  const auto texts = static_cast<int64_t>(found.lengths.lengths.size());
  found.lengths.texts = has_all || data.rows() == 0 ? texts
                                                    : texts * static_cast<int64_t>(rows.size()) /
                                                          data.rows();  // a row may be a group
  return found;
}

std::string cut_texts(const TokenSurvey& survey, int64_t positions) {
  std::vector<double> lengths = survey.lengths.lengths;
  const int64_t limit = survey.lengths.max_seq_length;
  if (!survey.are_cut || lengths.empty()) return "";
  const auto longer = std::ranges::count_if(
      lengths, [&](double length) { return length > static_cast<double>(limit); });
  if (longer <= share_of(kFewCut, lengths.size())) return "";
  std::ranges::sort(lengths);
  const size_t held = lengths.size() - 1 - static_cast<size_t>(share_of(kFewCut, lengths.size()));
  const auto needed = static_cast<int64_t>(lengths[held]);
  const int64_t rounded = (needed + kRounding - 1) / kRounding * kRounding;
  const std::string cut = cat(part_of_texts(longer, survey.lengths), longer == 1 ? " is" : " are",
                              " longer than --max-seq-length ", limit, " and cut; ");
  if (needed <= positions) {
    return cat(cut, "--max-seq-length ", std::min(rounded, positions), " would hold 95 %");
  }
  return cat(cut, needed, " would hold 95 %, and the model has ", positions, " positions");
}

std::string unknown_texts(const TokenSurvey& survey) {
  const size_t texts = survey.lengths.lengths.size();
  const double tokens = static_cast<double>(std::max<int64_t>(1, survey.tokens));
  const double unknown = static_cast<double>(survey.unknown_tokens) / tokens;
  constexpr const char* kCheck =
      ": check that the tokenizer belongs to the model and to this language";
  if (survey.unknown_texts > share_of(kFewUnknownTexts, texts)) {
    return cat(part_of_texts(survey.unknown_texts, survey.lengths),
               " hold nothing that the vocabulary can write ([UNK])", kCheck);
  }
  if (unknown <= kFewUnknownTokens) return "";
  return cat(number_text("%.0f %%", 100 * unknown),
             " of the tokens are [UNK], which the vocabulary cannot write", kCheck);
}

void warn_of_tokens(const std::string& name, const std::vector<std::string>& sentences) {
  std::vector<Finding> found;
  for (const std::string& said : sentences) {
    if (!said.empty()) found.push_back({"", said, /*is_warning=*/true});
  }
  log_findings(name, found);
}

void warn_of_tokens(const LoadedTable& loaded, const ModelConfig& config, const Settings& settings,
                    const Tokenizer& tokenizer) {
  const TokenSurvey survey =
      survey_tokens(loaded, config.task, config.labels, settings, tokenizer, all_rows(loaded));
  warn_of_tokens(loaded.name,
                 {cut_texts(survey, config.max_sequence_length()), unknown_texts(survey)});
}

TokenLengths window_lengths(Dataset& train, int64_t max_seq_length) {
  TokenLengths found{.max_seq_length = max_seq_length, .are_windows = true, .texts = train.size()};
  const int64_t all = train.size(), count = std::min<int64_t>(all, kMostSequences);
  for (int64_t i = 0; i < count; ++i) {
    found.lengths.push_back(static_cast<double>(train.length(i * all / count)));
  }
  return found;
}

bool become_windows(Task task) {
  const InputKind kind = traits(task).inputs;
  return kind == InputKind::kQuestion || kind == InputKind::kDocument;
}

}  // namespace berth
