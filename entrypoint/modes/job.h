#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/report/job_output.h"
#include "storage/base/thread_pool.h"
#include "storage/storage.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/network/model.h"
#include "trainer/loop/load_model.h"

namespace berth {

// What every mode works with.
struct Job {
  const CommandLine& command_line;
  Settings settings;  // with the model resolved
  Storage& storage;
  JobOutput& output;
  RunResult& reached;
  const std::atomic<bool>& stop;
  std::atomic<bool>&
      has_work_to_save;  // from the first update on storage is waited for, stop or not

  // Throws kStopped once a signal asked for it; between the phases before training.
  void stop_point() const;
};

// The modes. Each throws what run() promises.
void run_training(Job& job);      // --mode train, train_and_eval
void run_seeds(Job& job);         // the same with several --seeds, one after the other
void run_evaluation(Job& job);    // --mode eval
void run_prediction(Job& job);    // --mode predict
void run_export(Job& job);        // --mode export_only
void run_preparation(Job& job);   // --mode prepare
void run_tokenization(Job& job);  // --mode tokenize
void run_inspection(Job& job);    // --mode inspect
void run_conversion(Job& job);    // --mode convert

// A model in memory, where its backend computes.
struct Machine {
  explicit Machine(const CommandLine& command_line);

  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
};

// The tokens and sequences that a micro-batch or an evaluation batch can hold, of data sets of at
// most `most_examples`.
BatchLimits batch_limits(const Settings& settings, bool training,
                         int64_t most_examples = INT64_MAX);

// The most tokens of an update, where one batch makes it and its optimizer takes gradients as
// factors; else 0.
int64_t update_tokens(const Settings& settings);

}  // namespace berth
