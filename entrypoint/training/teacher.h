#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "entrypoint/job/job.h"
#include "entrypoint/job/labelled_data.h"
#include "storage/base/bytes.h"
#include "storage/storage.h"
#include "trainer/data/dataset.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/load_model.h"
#include "trainer/inputs/options.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/loop/saved_tensors.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The texts of rows that are compared, each once, as a table of its own. So another model embeds a
// text that many rows share once.
class RowTexts {
 public:
  // The texts of `rows` of the table, with the prompts before them. Throws what ExampleTable
  // throws.
  RowTexts(const LoadedTable& loaded, std::span<const uint32_t> rows, const SearchPrompts& prompts);

  const LoadedTable& table() const { return texts_; }
  size_t texts() const { return texts_.table->rows(); }
  // The vectors of the rows, where `vectors` has a vector for each text. Called once.
  TextVectors take_vectors(RowTargets vectors) {
    return {std::move(vectors), group_, std::move(places_)};
  }

 private:
  LoadedTable texts_;
  size_t group_ = 0;              // the texts of a row
  std::vector<uint32_t> places_;  // as in TextVectors
};

// A teacher's outputs for rows, in files of a job directory, so that a resumed job does not run the
// teacher again. Each file holds the outputs of a part of the rows. Files of another teacher or
// other rows, and damaged ones, are passed over and made again. Not thread-safe.
class SavedTargets {
 public:
  // A part ends when it has this number of rows or bytes. It has at least one row.
  static constexpr size_t kRowsOfFile = 16384, kBytesOfFile = size_t{64} << 20;

  // Files lie in `directory` and are called NAME-00000.safetensors, ... `identity` is a text that
  // differs where the outputs would. They hold the outputs of `rows` in this order. Borrows
  // `targets`, whose rows have their sizes already.
  SavedTargets(Storage& storage, Uri directory, std::string name, std::string identity,
               std::vector<uint32_t> rows, RowTargets& targets,
               size_t bytes_of_file = kBytesOfFile);

  RowTargets& targets() { return targets_; }
  std::span<const uint32_t> rows() const { return rows_; }
  size_t parts() const { return ends_.size(); }
  std::span<const uint32_t> rows_of(size_t part) const;

  // Fills the targets from the files. Returns how many parts were filled: the first ones.
  size_t restore();
  // Writes the file of a part, whose rows are all set.
  void save(size_t part) const;

  // The outputs of a part's rows, one after the other, as set_bytes() takes them.
  std::vector<std::byte> bytes(size_t part) const;
  // Throws kCorrupt if the number of bytes differs from the part's.
  void set_bytes(size_t part, Bytes bytes);

 private:
  std::string file_name(size_t part) const;  // without its suffix
  bool restore_file(size_t part);

  const SavedTensors files_;
  const std::string name_;
  const std::vector<uint32_t> rows_;
  RowTargets& targets_;
  std::vector<size_t> ends_;  // where each part ends among the rows
};

// Another model, from whose outputs the trained one learns (Hinton et al. 2015, arXiv:1503.02531),
// or a guide that finds false negatives (FalseNegativeRule). It runs once over the rows, before
// training, on the CPU's own kernels; products are in bf16 where the CPU multiplies it. Training
// then reads its outputs at no cost, in every epoch. Borrows the job. One thread uses it.
class Teacher {
 public:
  // Reads the configuration and the tokenizer of --teacher. `settings`, `task` and `labels` are the
  // job's, `tokenizer` is the student's. Throws kUsage if the teacher has other labels, or if the
  // task has no teacher. Also throws kUsage if the job wants hidden states and the teacher has
  // another tokenizer or fewer positions. Also throws what the readers throw.
  Teacher(const Job& job, const Settings& settings, Task task,
          const std::vector<std::string>& labels, const Tokenizer& tokenizer);

  // Reads the model at `path`, which embeds texts as SentenceTransformer(path).encode() does.
  // `name` is "guide" or "teacher". Throws what the readers throw.
  Teacher(const Job& job, const Settings& settings, const std::string& path, std::string name);

  // Whether it makes a vector for each token, and not one for each text.
  bool is_of_tokens() const;
  // Whether it embeds each text of a row, and not the row.
  bool embeds_texts() const { return embeds_texts_; }
  // The numbers of a vector. Where an encoder is distilled, the teacher's hidden size.
  int64_t num_outputs() const { return model_.config.num_outputs(); }
  // The type in which the vectors are stored, and the memory that `vectors` of them take.
  DType dtype() const;
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
  //     table as the student reads it. Else `student` may be null.
  //   - Where it embeds texts, their embeddings. The rows are then texts (RowTexts), which are cut
  //     at --max-seq-length, or where the model's own length ends.
  //   - Else the logits, in the order of the job's labels.
  // Parts of which `saved` has files are taken from there, and the others are computed and saved.
  // Every part has batches of its own, so its outputs are the same bits after a resume. Reads the
  // teacher's parameters, and frees them at the end.
  //
  // Several workers call it together and share the batches. Worker 0 alone reads the parameters and
  // the files, and writes them. All have all outputs afterwards. Throws kMemory if the memory does
  // not suffice, and kUsage if the student has other tokens. Throws kStopped, and what the readers
  // throw.
  void fill(const LoadedTable& loaded, const LabelledData* student, SavedTargets& saved);

 private:
  bool makes_vectors() const;
  std::vector<float> target_of(std::span<const float> logits) const;
  // Takes the first parts from files. Returns their number.
  size_t restore(SavedTargets& saved) const;
  // Computes the outputs of the parts from `first` on.
  void run(const LoadedTable& loaded, const LabelledData* student, size_t first,
           SavedTargets& saved);
  void require_student(const Settings& settings, const Tokenizer& tokenizer) const;
  std::unique_ptr<Engine> make_engine(Device& device, int64_t most_examples);

  const Job& job_;
  const std::string name_;  // of what it is, for messages: "teacher" or "guide"
  const bool embeds_texts_;
  Settings settings_;  // the teacher's
  ModelFolder folder_;
  ModelDescription model_;
  std::vector<size_t> order_;  // for each label of the job, its place among the teacher's
};

// A student learns a teacher's hidden states token by token, so both must make the same tokens of
// every text. Both functions throw kUsage where they do not. `teacher_name` is for the error.

// Compares all tokens by their ids, and the ids of a text that shows how case, accents, digits and
// other scripts are treated (tokenizer_checksum()).
void require_same_tokenizer(const Tokenizer& student, const Tokenizer& teacher,
                            const std::string& teacher_name);
// Compares the ids of the same rows as both made them.
void require_same_tokens(Dataset& student, Dataset& teacher, const std::string& teacher_name);

}  // namespace berth
