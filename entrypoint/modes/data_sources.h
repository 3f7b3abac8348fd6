#pragma once

#include <optional>
#include <string>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "storage/storage.h"
#include "trainer/loop/load_data.h"
#include "trainer/loop/options.h"
#include "trainer/model/task.h"

namespace berth {

// What a job's data flags come to: a GLUE task's files and columns, a meta data file's numbers.
struct DataSources {
  std::optional<Task> task{};              // empty: the data tells
  std::vector<std::string> labels{};       // known beforehand; empty: the data's
  std::string metric{};                    // the benchmark's; empty: the task's
  DataRequest train{}, eval{}, predict{};  // an empty path: not given
  DataRequest mismatched{};                // MNLI's second evaluation
};

// Completes `settings` with what the flags imply: the files of --data-dir, the length and the task
// of --input-meta-data-path where `command_line` gives none, the examples of an evaluation batch
// where there is a token budget. Throws kUsage on a task that is none, kNotFound or kBadData where
// the meta data are not as run_classifier.py's.
DataSources resolve_data(Storage& storage, const CommandLine& command_line, Settings& settings);

// The same without looking into storage: whether the task is one, what --data-dir stands for, and
// that the tutorial predicts what it evaluates on, where it names nothing else.
void complete_data_files(DataOptions& data, Mode mode);

}  // namespace berth
