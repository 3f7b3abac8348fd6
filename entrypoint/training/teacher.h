#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "entrypoint/job/job.h"
#include "entrypoint/job/labelled_data.h"
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
  // Reads the configuration and the tokenizer of --teacher. `settings`, `task` and `labels` are the
  // job's, `tokenizer` is the student's. Throws kUsage if the teacher has other labels, or if the
  // task has no teacher. Also throws kUsage if the job wants hidden states and the teacher has
  // another tokenizer or fewer positions. Also throws what the readers throw.
  Teacher(const Job& job, const Settings& settings, Task task,
          const std::vector<std::string>& labels, const Tokenizer& tokenizer);

  // Whether it makes a vector for each token, and not one for each text.
  bool is_of_tokens() const;
  // The numbers of a vector. Where an encoder is distilled, the teacher's hidden size.
  int64_t num_outputs() const { return model_.config.num_outputs(); }
  // The type in which the vectors are stored, and the memory that `vectors` of them take.
  DType dtype() const { return makes_vectors() ? DType::kBF16 : DType::kF32; }
  size_t memory_bytes(size_t vectors) const;
  const std::vector<Source>& sources() const { return folder_.sources(); }
  // A text of its configuration and its tokenizer. Workers whose teachers differ in it would not
  // make the same outputs.
  std::string description() const;

  // Fills the targets of `saved` with the teacher's outputs for rows of the table `loaded`:
  //   - For the distillation of embeddings, vectors of length 1: the mean of the hidden states of a
  //     text's tokens, as sentence-transformers computes it. Texts are cut at --max-seq-length, or
  //     where the teacher's positions end.
  //   - For the distillation of hidden states, the last hidden state of each token. A document
  //     longer than --max-seq-length is read in the same windows as in `student`, which is the same
  //     table as the student reads it.
  //   - Else the logits, in the order of the job's labels.
  // Parts of which `saved` has files are taken from there, and the others are computed and saved.
  // Every part has batches of its own, so its outputs are the same bits after a resume. Reads the
  // teacher's parameters, and frees them at the end.
  //
  // Several workers call it together and share the batches. Worker 0 alone reads the parameters and
  // the files, and writes them. All have all outputs afterwards. Throws kMemory if the memory does
  // not suffice, and kUsage if the student has other tokens. Throws kStopped, and what the readers
  // throw.
  void fill(const LoadedTable& loaded, const LabelledData& student, SavedTargets& saved);

 private:
  bool makes_vectors() const;
  std::vector<float> target_of(std::span<const float> logits) const;
  // Takes the first parts from files. Returns their number.
  size_t restore(SavedTargets& saved) const;
  // Computes the outputs of the parts from `first` on.
  void run(const LoadedTable& loaded, const LabelledData& student, size_t first,
           SavedTargets& saved);
  void require_student(const Settings& settings, const Tokenizer& tokenizer) const;
  std::unique_ptr<Engine> make_engine(Device& device, int64_t most_examples);

  const Job& job_;
  const Settings settings_;  // the teacher's
  ModelFolder folder_;
  ModelDescription model_;
  std::vector<size_t> order_;  // for each label of the job, its place among the teacher's
};

}  // namespace berth
