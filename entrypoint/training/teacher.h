#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "entrypoint/job/job.h"
#include "entrypoint/training/saved_targets.h"
#include "trainer/data/row_targets.h"
#include "trainer/engine/device.h"
#include "trainer/loop/load_data.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/options.h"

namespace berth {

// Another model, from whose outputs the trained one learns (Hinton et al. 2015, arXiv:1503.02531).
// It runs once over the rows, before training, on the CPU's own kernels; products are in bf16 where
// the CPU multiplies it. Training then reads its outputs at no cost, in every epoch. Borrows the
// job. One thread uses it.
class Teacher {
 public:
  // Reads the configuration and the tokenizer of --teacher. `settings`, `task` and `labels` are
  // those of the job. Throws kUsage where the teacher has other labels or the task has no teacher,
  // and what the readers throw.
  Teacher(const Job& job, const Settings& settings, Task task,
          const std::vector<std::string>& labels);

  // How many numbers it makes of a text. For the distillation of embeddings: its hidden size.
  int64_t num_outputs() const { return model_.config.num_outputs(); }
  // The type in which they are kept, and the memory that they take for so many rows.
  DType dtype() const { return is_of_embeddings() ? DType::kBF16 : DType::kF32; }
  size_t memory_bytes(size_t rows) const;
  const std::vector<Source>& sources() const { return folder_.sources(); }

  // What it makes of the table's rows `rows`.
  //   - For the distillation of embeddings, vectors of length 1: the mean of the hidden states of a
  //     text's tokens, as sentence-transformers computes it.
  //   - Else the logits, in the order of the job's labels.
  // Texts are cut at --max-seq-length, or where the teacher's positions end. Outputs that `saved`
  // has are taken from there, and the others are added to it. Reads the teacher's parameters, and
  // frees them at the end. Throws kMemory where there is no room, kStopped, and what the readers
  // throw.
  RowTargets outputs(const LoadedTable& loaded, const std::vector<uint32_t>& rows,
                     SavedTargets& saved);

 private:
  bool is_of_embeddings() const { return model_.config.task == Task::kTextEmbedding; }
  std::vector<float> target_of(std::span<const float> logits) const;
  // Computes the outputs of the rows behind the first `done`.
  void run(const LoadedTable& loaded, const std::vector<uint32_t>& rows, size_t done,
           RowTargets& targets, SavedTargets& saved);
  std::unique_ptr<Engine> make_engine(Device& device, int64_t most_examples);

  const Job& job_;
  const Settings settings_;  // those of the teacher
  ModelFolder folder_;
  ModelDescription model_;
  std::vector<size_t> order_;  // for each label of the job, its place among the teacher's
};

}  // namespace berth
