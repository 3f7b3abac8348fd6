#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "storage/storage.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/label_form.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/load_data.h"
#include "trainer/loop/options.h"
#include "trainer/model/lora.h"
#include "trainer/model/task.h"

namespace berth {

// The job in a directory, as job.json describes it. A value.
class EarlierJob {
 public:
  // nullopt: `directory` has no job.json. Throws as the constructor does.
  static std::optional<EarlierJob> find(Storage& storage, const Uri& directory);
  // Throws kIncompatible where `job_json` is not a job.json of berth.
  EarlierJob(const Uri& directory, std::string_view job_json);

  const Uri& directory() const { return directory_.root(); }
  // The value of a flag, by its canonical name; empty where an older version did not know the flag.
  std::string setting(std::string_view name) const;
  const std::vector<std::string>& labels() const { return labels_; }
  // The files that it has read, with their checksums.
  const std::vector<Source>& sources() const { return sources_; }
  // How the labels of its rows are written. nullopt: an older version did not record it.
  const std::optional<LabelForm>& label_form() const { return label_form_; }
  // The columns of CoNLL that the job has used, by their numbers; empty: none are known.
  const std::string& words() const { return words_; }
  const std::string& tags() const { return tags_; }
  // The columns of another table that it was trained on. nullopt: none are known.
  const std::optional<ColumnChoice::Trained>& columns() const { return columns_; }
  LoraOptions lora() const;  // describes the adapters in its checkpoints
  Task task() const;
  // The generator of the job, if it had one. A generator in `options` has priority.
  ElectraOptions electra(ElectraOptions options) const;
  EmbeddingOptions embedding() const;  // pooling and normalization, as the job asked for them
  int32_t max_seq_length() const;      // in tokens
  int64_t vector_size() const { return vector_size_; }  // ModelConfig::vector_size

  // Whether its decoder has weights of its own beside the word embeddings (resolve_decoder()).
  bool has_own_decoder() const { return has_own_decoder_; }

  Uri model() const;        // the directory of its finished model
  Uri checkpoints() const;  // the directory of its checkpoints

  // The model that the job began with, without its parameters (Init::kRandom). A model in `options`
  // has priority.
  ModelOptions first_model(ModelOptions options) const;

 private:
  void take_reading(const Json& reading);
  void take_sources(const Json& sources);

  Uri place(std::string_view setting, const Uri& part) const;
  double number(std::string_view name) const;

  JobDirectory directory_;
  std::map<std::string, std::string, std::less<>> settings_;
  std::vector<std::string> labels_;
  std::vector<Source> sources_;
  std::optional<LabelForm> label_form_;
  std::string task_, words_, tags_;
  std::optional<ColumnChoice::Trained> columns_;
  int64_t vector_size_ = 0;
  bool has_own_decoder_ = false;
};

}  // namespace berth
