#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "entrypoint/report/html/job_history.h"
#include "trainer/inputs/job_record.h"
#include "trainer/loop/observer.h"
#include "trainer/model/task.h"
#include "trainer/tasks/evaluator.h"

namespace berth {

// How many tokens the texts of the training data have.
struct TokenLengths {
  std::vector<double> lengths{};  // of some rows, evenly spaced
  int64_t max_seq_length = 0;     // longer ones are cut or make several sequences
  bool are_windows = false;       // the lengths are of sequences that were already cut to it
  int64_t texts = 0;              // or sequences, those without a length included
};

// The facts that do not change while a job runs.
struct JobFacts {
  std::string name{};  // of the job directory
  Task task = kDefaultTask;
  JobRecord record{};
  SettingsTable defaults{};  // the settings of a job without flags
  JobReport plan{};
  std::string eval_split{};  // "validation" or "eval"
  std::optional<TokenLengths> lengths{};
};

// How the job is doing.
struct JobOutcome {
  enum class State { kRunning, kFinished, kStopped, kFailed };
  State state = State::kRunning;
  std::string sentence{};  // of kStopped and kFailed: what happened, and what to do
  int code = 0;            // the exit code
};

// An evaluation with all that it found.
struct ShownEvaluation {
  int64_t step = 0, examples = 0;
  double loss = 0;
  TaskScores scores{};
  bool is_of_result = false;  // it evaluates the finished model
};

// All that a job's page shows. A value type.
struct JobPage {
  JobFacts facts{};
  JobHistory history{};
  JobOutcome outcome{};
  std::optional<ShownEvaluation> evaluation{};
  std::optional<ShownEvaluation> second_evaluation{};  // of the finished model on MNLI's second set
  double written_s = 0;                                // by the wall clock
};

// The page: headline, curves, results, data, settings.
std::string job_page(const JobPage& page);

std::string curve_section(const JobHistory& history, const std::optional<double>& majority_rate);

// The queries of a retrieval set with the lowest nDCG: what was wanted, and what came first. Empty
// where there are none.
std::string missed_query_table(std::span<const MissedQuery> missed);

}  // namespace berth
