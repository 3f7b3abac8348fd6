#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "entrypoint/job/labelled_data.h"
#include "entrypoint/report/html/job_page.h"
#include "trainer/data/dataset.h"
#include "trainer/inputs/options.h"
#include "trainer/loop/observer.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// What some rows of a table are as tokens: at most a thousand, evenly spaced, and fewer where texts
// are long. A value.
struct TokenSurvey {
  TokenLengths lengths{};     // of texts that are not cut to --max-seq-length
  bool are_cut = true;        // longer texts are cut; else they become several sequences
  int64_t unknown_texts = 0;  // of nothing but the token for unknown characters
  int64_t tokens = 0, unknown_tokens = 0;  // without special tokens
  int64_t headless = 0;                    // records of token ids that begin with no special token
};

// Looks at `rows` of the table. Throws what making features throws.
TokenSurvey survey_tokens(const LoadedTable& loaded, Task task,
                          const std::vector<std::string>& labels, const Settings& settings,
                          const Tokenizer& tokenizer, std::span<const uint32_t> rows);

// One sentence that says how many texts are cut, and the length that would hold 95 % of them. Empty
// where at most 5 % are. The model has `positions`.
std::string cut_texts(const TokenSurvey& survey, int64_t positions);
// One sentence where more than 5 % of the texts, or a fifth of all tokens, are unknown to the
// vocabulary. Also where half of the records begin with no token such as [CLS]. Else empty.
std::string unknown_texts(const TokenSurvey& survey);

// Warns by these sentences of the table of this name; empty ones say nothing.
void warn_of_tokens(const std::string& name, const std::vector<std::string>& sentences);
// Warns by both sentences of all rows of a table that a model reads.
void warn_of_tokens(const LoadedTable& loaded, const ModelConfig& config, const Settings& settings,
                    const Tokenizer& tokenizer);

// The lengths of the sequences of `train`, where long contexts or documents become several: of at
// most ten thousand of them.
TokenLengths window_lengths(Dataset& train, int64_t max_seq_length);
// Whether rows of this task become several sequences where they are long.
bool become_windows(Task task);

// The first three rows of `train`, a part of the table, as the model takes them: a wrong column, a
// wrong vocabulary, labels in another order and texts that are cut are seen at a glance. `labels`
// are the names of the classes. Throws what making features throws.
std::vector<ShownRow> preview_rows(const LoadedTable& loaded, Dataset& train,
                                   const std::vector<std::string>& labels, const Settings& settings,
                                   const Tokenizer& tokenizer);

// One line for the log: `row 0: "A goal" becomes [CLS] a goal [SEP] (4 tokens); label "sport",
// class 3`.
std::string row_text(const ShownRow& row);

}  // namespace berth
