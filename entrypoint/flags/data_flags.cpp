#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

constexpr RealRange kSplit{0, 1, true, false, "a number from 0 up to, not including, 1"};
constexpr RealRange kFraction{0, 1, false, true, "a number above 0, at most 1"};
constexpr RealRange kReal{-1e9, 1e9, true, true, "a number"};

auto data_option(auto member) { return place(&CommandLine::settings, &Settings::data, member); }

std::vector<Flag> file_flags() {
  using enum FlagGroup;
  return {
      {"task",
       {"task-name"},
       kData,
       cat("What rows are made for: ", known_tasks(), "; or a GLUE task: ", known_glue_tasks(),
           "."),
       text_value("NAME", data_option(&DataOptions::task)),
       "as the rows' labels are"},
      {"data-dir",
       {},
       kData,
       "Folder of a GLUE task's files: train.tsv, dev.tsv, test.tsv.",
       text_value("DIR", data_option(&DataOptions::data_dir))},
      {"train-data-file",
       {"train-data-path", "train-file"},
       kData,
       "Rows to train on: a pandas pickle, CSV, TSV, JSONL, CoNLL, SQuAD's JSON or TFRecords, "
       "plain "
       "or .gz .bz2 .xz .zst; several by a pattern or a directory.",
       text_value("FILE", data_option(&DataOptions::train_data_file))},
      {"eval-data-file",
       {"eval-data-path", "validation-file"},
       kData,
       "Rows to evaluate on; without it a part of the training rows is held out.",
       text_value("FILE", data_option(&DataOptions::eval_data_file))},
      {"predict-data-file",
       {"test-file", "predict-data-path"},
       kData,
       "Rows to label, for --mode predict.",
       text_value("FILE", data_option(&DataOptions::predict_data_file))},
      {"input-meta-data-path",
       {},
       kData,
       "The JSON beside run_classifier.py's TFRecords: length, labels, task.",
       text_value("FILE", data_option(&DataOptions::input_meta_data_path))},
  };
}

std::vector<Flag> row_flags() {
  using enum FlagGroup;
  return {
      {"validation-split",
       {},
       kData,
       "Part of the training rows held out for evaluation when there is no --eval-data-file; "
       "0 means no evaluation.",
       real_value(data_option(&DataOptions::validation_split), kSplit)},
      {"data-fraction",
       {},
       kData,
       "Part of the training rows to use, for a quick try.",
       real_value(data_option(&DataOptions::data_fraction), kFraction)},
      {"max-train-samples",
       {},
       kData,
       "Training rows to use at most; 0 means all.",
       integer_value(data_option(&DataOptions::max_train_samples), {0, kAnyCount})},
      {"skip-bad-rows",
       {},
       kData,
       "Rows of each data set that may be left out because they are none; they are counted.",
       integer_value(data_option(&DataOptions::skip_bad_rows), {0, kAnyCount})},
      {"text-column",
       {"text-column-name"},
       kData,
       "Column with the text, the words or the question.",
       text_value("NAME", data_option(&DataOptions::text_column)),
       "found by name: text, sentence, ..."},
      {"text-pair-column",
       {},
       kData,
       "Column with the second text, for tasks on pairs, or the context.",
       text_value("NAME", data_option(&DataOptions::text_pair_column)),
       "found by name: sentence2, ..."},
      {"label-column",
       {"label-column-name"},
       kData,
       "Column with the label, score, tags or answers; of several labels a column of lists (or "
       "joined by |), or the 0/1 columns of all, with commas.",
       text_value("NAME", data_option(&DataOptions::label_column)),
       "found by name: label, target, ..."},
      {"weight-column",
       {},
       kData,
       "Column with the weight that a row has in the loss.",
       text_value("NAME", data_option(&DataOptions::weight_column)),
       "all rows count alike"},
  };
}

std::vector<Flag> question_flags() {
  using enum FlagGroup;
  return {
      {"doc-stride",
       {},
       kData,
       "Tokens that neighbouring windows of a question's context share.",
       optional_integer_value(data_option(&DataOptions::doc_stride), {0, 1'000'000}),
       "128, or half of a window that is shorter"},
      {"n-best-size",
       {},
       kData,
       "Starts and ends of answers that are weighed against each other.",
       integer_value(data_option(&DataOptions::n_best_size), {1, 1'000'000})},
      {"max-answer-length",
       {},
       kData,
       "Longest answer in tokens.",
       integer_value(data_option(&DataOptions::max_answer_length), {1, 1'000'000})},
      {"version-2-with-negative",
       {},
       kData,
       "Questions may have no answer, as in SQuAD 2.0.",
       switch_value(data_option(&DataOptions::has_unanswerable))},
      {"null-score-diff-threshold",
       {},
       kData,
       "There is no answer where its score exceeds the best answer's by more.",
       real_value(data_option(&DataOptions::null_score_diff_threshold), kReal)},
  };
}

}  // namespace

std::vector<Flag> data_flags() {
  std::vector<Flag> flags = file_flags();
  for (Flag& flag : row_flags()) flags.push_back(std::move(flag));
  for (Flag& flag : question_flags()) flags.push_back(std::move(flag));
  return flags;
}

}  // namespace berth
