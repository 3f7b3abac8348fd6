#include "entrypoint/job/token_survey.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "entrypoint/report/progress_lines.h"
#include "storage/base/text.h"
#include "trainer/data/dataset.h"
#include "trainer/data/joined_documents.h"
#include "trainer/data/masking.h"
#include "trainer/model/task.h"

namespace berth {
namespace {

constexpr size_t kMostRows = 1000, kMostSequences = 10'000;
constexpr size_t kMostSampleBytes = size_t{2} << 20;  // of texts, so that counting takes a moment
constexpr double kFewCut = 0.05, kFewUnknownTexts = 0.05, kFewUnknownTokens = 0.2;
constexpr int64_t kRounding = 8;  // of a length that is proposed

// Rows that are evenly spaced over `all`, as many as have kMostSampleBytes together.
std::vector<uint32_t> sampled_rows(const ExampleTable& table, std::span<const uint32_t> all) {
  const size_t count = std::min(all.size(), kMostRows);
  std::vector<uint32_t> sample;
  size_t bytes = 0;
  for (size_t i = 0; i < count && bytes < kMostSampleBytes; ++i) {
    const uint32_t row = all[i * all.size() / count];
    const Example example = table.read(row);
    for (const std::string& text : example.texts) bytes += text.size();
    bytes += example.token_ids.size();
    if (bytes < kMostSampleBytes || sample.empty()) sample.push_back(row);
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
  const bool are_records =
      !roles.empty() && !holds_texts(*loaded.table) && traits(task).labels != LabelKind::kMaskedId;
  for (int64_t i = 0; i < data.size(); ++i) {
    const Features& features = data.features(i);
    std::vector<int32_t> ends = features.ends;
    if (ends.empty()) ends.push_back(static_cast<int32_t>(features.input_ids.size()));
    int32_t begin = 0;
    if (are_records && !features.input_ids.empty()) {
      const auto first = static_cast<size_t>(features.input_ids.front());
      found.headless += first < roles.size() && roles[first] != TokenRole::kSpecial;
    }
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
  if (survey.headless * 2 > static_cast<int64_t>(texts)) {
    return cat(part_of_texts(survey.headless, survey.lengths),
               " do not begin with a token such as [CLS]: check that the records were made with "
               "this model's vocabulary");
  }
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
    if (!said.empty()) found.push_back(warning(said));
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
  return kind == InputKind::kQuestion || kind == InputKind::kDocument ||
         kind == InputKind::kSentences;
}

namespace {

constexpr size_t kShownRows = 3;
constexpr size_t kTextBytes = 300, kTokenBytes = 40;
constexpr size_t kTokens = 48, kWords = 24, kLabels = 10;
constexpr size_t kCountedBytes = size_t{1} << 20;  // longer texts are not tokenized as a whole
constexpr int64_t kWindows = 1000;                 // of a row, in which its answer is looked for

// Joins what `text` makes of the first `most` of `count` things.
template <typename Text>
std::string joined(size_t count, size_t most, const char* separator, const Text& text) {
  std::string all;
  for (size_t i = 0; i < std::min(count, most); ++i) all += (i == 0 ? "" : separator) + text(i);
  return count > most ? cat(all, separator, "… ", count - most, " more") : all;
}

std::string tokens_text(const Features& features, const Tokenizer& tokenizer) {
  return joined(features.input_ids.size(), kTokens, " ", [&](size_t i) {
    const int32_t id = features.input_ids[i];
    const std::string token = tokenizer.token(id);
    const auto at = static_cast<int32_t>(i + 1);
    const bool ends = at < static_cast<int32_t>(features.input_ids.size()) &&
                      std::ranges::find(features.ends, at) != features.ends.end();
    return cat(token.empty() ? cat("#", id) : shortened(token, kTokenBytes), ends ? " |" : "");
  });
}

// Makes the label of a row.
class LabelText {
 public:
  LabelText(const std::vector<std::string>& labels, const Settings& settings, Dataset& train)
      : labels_(labels), settings_(settings), train_(train) {}

  // The row has `count` features, from `first` on.
  std::string of(const Example& example, int64_t first, int64_t count) {
    const LabelKind kind = traits(train_.task()).labels;
    const bool has_labels = train_.labelled() || !traits(train_.task()).has_label_column;
    if (!has_labels) return "none";
    std::string text = named(kind, example, first, count);
    if (example.weight != 1) text += cat(", weight ", number_text("%.6g", example.weight));
    return text;
  }

 private:
  std::string named(LabelKind kind, const Example& example, int64_t first, int64_t count) {
    switch (kind) {
      case LabelKind::kClass:
        return class_text(first);
      case LabelKind::kNumber:
        return number(first);
      case LabelKind::kSet:
        return set(first);
      case LabelKind::kTagPerWord:
        return tags(example, first);
      case LabelKind::kSpan:
        return answer(example, first, count);
      case LabelKind::kMaskedId:
        return cat(next_text(first), example.masked.empty() ? chosen_text() : masked_text(example));
      case LabelKind::kVector:
      case LabelKind::kVectorPerToken:
        return "what the teacher makes of it";
      case LabelKind::kPlaceInBatch:
        if (ranks_passages(train_.task())) return "the second text answers the first one";
        return "the second text belongs to the first one";
      default:  // the number of a text of the row, which has a name in predictions.tsv
        return cat(traits(train_.task()).other_texts, example.labels.at(0));
    }
  }

  // Whether the second text of a pair follows the first one; empty where the row is no pair.
  std::string next_text(int64_t index) {
    const Features& features = train_.features(index);
    if (features.classes.empty()) return "";
    return features.classes.front() == 1 ? "the second text does not follow the first one, and "
                                         : "the second text follows the first one, and ";
  }
  std::string chosen_text() const {
    return cat(number_text("%.3g %%", 100 * settings_.data.mlm_probability),
               " of the tokens, which are hidden anew in every epoch");
  }
  static std::string masked_text(const Example& example) {
    return cat(counted(example.masked.size() / 2, "token"), ", which the record hides");
  }

  std::string class_text(int64_t index) {
    const Features& features = train_.features(index);
    if (features.classes.empty() || features.classes.front() < 0) return "none";
    const int32_t number = features.classes.front();
    return cat(quoted(labels_.at(static_cast<size_t>(number))), ", class ", number);
  }

  std::string number(int64_t index) {
    const Features& features = train_.features(index);
    if (features.targets.empty()) return "none";
    const double learnt = features.targets.front(), read = train_.example(index).score;
    const std::string text = number_text("%.6g", read);
    return learnt == read ? text : cat(text, ", learnt as ", number_text("%.6g", learnt));
  }

  std::string set(int64_t index) {
    const Features features = train_.features(index);
    std::vector<size_t> in;
    for (size_t i = 0; i < features.targets.size(); ++i) {
      if (features.targets[i] > 0) in.push_back(i);
    }
    if (in.empty()) return cat("none of the ", counted(labels_.size(), "label"));
    return joined(in.size(), kLabels, ", ",
                  [&](size_t i) { return cat(quoted(labels_.at(in[i])), " (", in[i], ")"); });
  }

  std::string tags(const Example& example, int64_t index) {
    const std::vector<std::string> names = train_.label_names(index);
    const Features& features = train_.features(index);
    std::vector<int32_t> classes(names.size(), -1);
    for (size_t token = 0; token < features.words.size(); ++token) {
      const int32_t word = features.words[token];
      if (word < 0 || static_cast<size_t>(word) >= classes.size()) continue;
      if (token < features.classes.size()) {
        classes[static_cast<size_t>(word)] = features.classes[token];
      }
    }
    return joined(names.size(), kWords, " ", [&](size_t word) {
      const std::string what =
          word < example.texts.size() ? shortened(example.texts[word], kTokenBytes) : "";
      const int32_t number = classes[word];
      const std::string tag = names[word].empty() ? "none" : shortened(names[word], kTokenBytes);
      return cat(what, "/", tag, number < 0 ? "" : cat(" (", number, ")"));
    });
  }

  std::string answer(const Example& example, int64_t first, int64_t count) {
    if (example.answers.empty()) return "no answer";
    const Answer& read = example.answers.front();
    std::string text = cat(quoted(read.text, kTextBytes), " from character ", read.start);
    for (int64_t i = 0; i < std::min(count, kWindows); ++i) {
      const Features& window = train_.features(first + i);
      if (window.classes.size() < 2 || window.classes[1] == 0) continue;
      text += cat(", tokens ", window.classes[0], " to ", window.classes[1]);
      return count > 1 ? cat(text, " of window ", i + 1) : text;
    }
    return text + ", which no window holds";
  }

  const std::vector<std::string>& labels_;
  const Settings& settings_;
  Dataset& train_;
};

// What the model does not see of a row, and what it sees in parts; empty: it sees all of it at
// once.
class CutText {
 public:
  CutText(const LoadedTable& loaded, Task task, const Settings& settings,
          const Tokenizer& tokenizer)
      : task_(task),
        limit_(settings.data.max_seq_length),
        uncut_(with_length(settings, kLongestSequence)),
        whole_(loaded, task, {}, /*wants_labels=*/false, uncut_, tokenizer) {}

  std::string of(const Example& example, uint32_t row, size_t tokens, int64_t count) const {
    if (become_windows(task_)) {
      const bool is_question = traits(task_).inputs == InputKind::kQuestion;
      if (traits(task_).inputs == InputKind::kSentences) {
        return cat("becomes ", counted(static_cast<size_t>(count), "pair"), " of at most ", limit_,
                   " tokens, others in every epoch");
      }
      if (count == 1) return "";
      return cat("becomes ", count, is_question ? " windows" : " sequences", " of at most ", limit_,
                 " tokens");
    }
    size_t bytes = 0;
    for (const std::string& text : example.texts) bytes += text.size();
    if (bytes > kCountedBytes) {
      return cat("at --max-seq-length ", limit_, ": the text has ", human_bytes(bytes));
    }
    const size_t all = whole_.make(row).input_ids.size();
    if (all <= tokens) return "";
    return cat(all - tokens, " of ", counted(all, "token"), " at --max-seq-length ", limit_);
  }

 private:
  static Settings with_length(Settings settings, int32_t length) {
    settings.data.max_seq_length = length;
    return settings;
  }

  const Task task_;
  const int32_t limit_;
  const Settings uncut_;
  const LabelledData whole_;
};

}  // namespace

std::vector<ShownRow> preview_rows(const LoadedTable& loaded, Dataset& train,
                                   const std::vector<std::string>& labels, const Settings& settings,
                                   const Tokenizer& tokenizer) {
  LabelText label(labels, settings, train);
  const CutText cut(loaded, train.task(), settings, tokenizer);
  const bool is_of_words = traits(train.task()).inputs == InputKind::kWords;
  std::vector<ShownRow> rows;
  for (int64_t first = 0; first < train.size() && rows.size() < kShownRows;) {
    int64_t count = 1;
    while (first + count < train.size() &&
           train.row_index(first + count) == train.row_index(first)) {
      ++count;
    }
    const Example example = train.example(first);
    const Features features = train.features(first);
    ShownRow& row = rows.emplace_back(ShownRow{.row = train.source_row(first)});
    if (is_of_words) {
      row.texts.push_back(joined(example.texts.size(), kWords, " ", [&](size_t i) {
        return shortened(example.texts[i], kTokenBytes);
      }));
    } else {
      for (const std::string& text : example.texts)
        row.texts.push_back(shortened(text, kTextBytes));
    }
    row.tokens = tokens_text(features, tokenizer);
    row.token_count = static_cast<int64_t>(features.input_ids.size());
    row.label = label.of(example, first, count);
    if (example.token_ids.empty()) {
      row.cut = cut.of(example, train.row(first), features.input_ids.size(), count);
    }
    first += count;
  }
  return rows;
}

std::string row_text(const ShownRow& row) {
  std::string text = cat("row ", row.row, ": ");
  for (size_t i = 0; i < row.texts.size(); ++i) {
    text += cat(i == 0 ? "" : " and ", quoted(row.texts[i], kTextBytes + 8));
  }
  text += cat(row.texts.empty() ? "" : " becomes ", row.tokens, " (",
              counted(row.token_count, "token"), "); label: ", row.label);
  return row.cut.empty() ? text : cat(text, "; cut: ", row.cut);
}

}  // namespace berth
