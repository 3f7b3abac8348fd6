#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "entrypoint/job/job.h"
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
  // Reads the configuration and the tokenizer of --teacher. `settings` are those of the job. Throws
  // what the readers throw, naming the teacher.
  Teacher(const Job& job, const Settings& settings);

  // The numbers that it makes of a text: its hidden size.
  int64_t vector_size() const { return model_.config.num_outputs(); }
  const std::vector<Source>& sources() const { return folder_.sources(); }

  // The embeddings of the table's rows `rows`, each of length 1: the mean of the hidden states of a
  // text's tokens, as sentence-transformers computes it. Texts are cut at --max-seq-length, or
  // where the teacher's positions end. Reads the teacher's parameters, and frees them at the end.
  // Throws kMemory where there is no room, kStopped, and what the readers throw.
  RowTargets embeddings(const LoadedTable& loaded, std::vector<uint32_t> rows);

 private:
  std::unique_ptr<Engine> make_engine(Device& device, int64_t most_examples);

  const Job& job_;
  const Settings settings_;  // those of the teacher
  ModelFolder folder_;
  ModelDescription model_;
};

}  // namespace berth
