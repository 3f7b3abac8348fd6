#pragma once

#include <memory>
#include <string>

#include "entrypoint/job/job.h"
#include "entrypoint/job/resolve_settings.h"
#include "trainer/data/dataset.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/data_source.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/load_model.h"
#include "trainer/loop/evaluate_retrieval.h"

namespace berth {

// A fine-tuned model, loaded and ready to run over rows: the common part of --mode eval, predict
// and embed. Borrows `job`. One thread uses it.
class FinishedModel {
 public:
  // Resolves the settings, checks that all inputs are there, and reads the model's configuration
  // and tokenizer. The task is the model's. For --mode embed it is text embeddings, and the pooling
  // and the longest text are the model's unless flags name others. Throws kUsage if the model was
  // not fine-tuned (its configuration names no labels), else what its parts throw.
  explicit FinishedModel(Job& job);

  const Settings& settings() const { return resolved_.settings; }
  const DataSources& sources() const { return resolved_.sources; }
  const ModelConfig& config() const { return model_.config; }
  const SentenceFiles& sentences() const { return model_.sentences; }
  const Tokenizer& tokenizer() const { return *model_.tokenizer; }
  const std::string& name() const { return folder_.name(); }  // for messages
  // The files of the model that were read so far. Only worker 0 reads the parameters.
  const std::vector<Source>& files() const { return folder_.sources(); }
  const EngineInfo& engine_info() const { return device_->info(); }

  // Loads a table by the rules of the model's task. If the table has no labels, the task becomes
  // its TaskTraits::unlabelled, if there is one.
  LoadedTable load(DataRequest request);
  // join_rows() of all rows, for the model's task.
  void join(LoadedTable& loaded);

  // The engine with the model in it, for batches of `data`, which holds rows of `loaded`. It is
  // valid until the next call. Throws kMemory where they need more memory than there is, kBadData
  // where the model's file lacks the head's parameters.
  Engine& engine_for(const LoadedTable& loaded, Dataset& data);

  // An engine with the model in it for the texts of a retrieval set, and how they are read. It is
  // valid until the next call of this or of engine_for(). Throws as that does.
  struct Search {
    Engine& engine;
    RetrievalReading reading;
  };
  Search search(const RetrievalSet& set);

  // From now on, engines compute in fp32 on the CPU. The one that engine_for() returned is gone.
  void compute_in_fp32();

 private:
  void make_engine(const EngineOptions& options);
  // Reads the parameters. If there are several workers, only worker 0 does.
  void fill(ParameterTensors& values);

  Job& job_;
  const DataPaths paths_;
  ResolvedJob resolved_;  // a constant once this is made
  ModelFolder folder_;
  ModelDescription model_;
  std::unique_ptr<ModelFolder> generator_;  // null: the task has none
  size_t program_bytes_ = 0;                // as program_bytes() counts them
  std::unique_ptr<Device> device_;
  std::unique_ptr<Engine> engine_;
  int64_t sequences_ = 0;  // The largest batch that fits the engine.
};

// Throws kStopped: a signal ended the job, which has nothing to save.
[[noreturn]] void throw_stopped();

}  // namespace berth
