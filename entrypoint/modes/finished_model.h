#pragma once

#include <optional>
#include <string>

#include "entrypoint/modes/data_sources.h"
#include "entrypoint/modes/job.h"
#include "entrypoint/modes/resolve_settings.h"
#include "trainer/cpu/network/model.h"
#include "trainer/cpu/parameters.h"
#include "trainer/data/dataset.h"
#include "trainer/loop/load_data.h"
#include "trainer/loop/load_model.h"

namespace berth {

// A fine-tuned model, loaded and ready to run over rows: what --mode eval and predict share.
// Borrows `job`. One thread uses it.
class FinishedModel {
 public:
  // Resolves the settings, checks that all inputs are there, and loads the model. Throws kUsage
  // where the model was not fine-tuned (its configuration names no labels), else what its parts
  // throw.
  explicit FinishedModel(Job& job);

  const Settings& settings() const { return resolved_.settings; }
  const DataSources& sources() const { return resolved_.sources; }
  const ModelConfig& config() const { return model_.config; }
  const Tokenizer& tokenizer() const { return *model_.tokenizer; }
  const std::string& name() const { return folder_.name(); }  // for messages
  Kernels& kernels() { return *machine_.kernels; }

  // Loads a table by the rules of the model's task.
  LoadedTable load(DataRequest request) const;

  // The network, sized for batches of `data`, which holds rows of `loaded`. It is valid until the
  // next call. Throws kMemory where they need more memory than there is.
  Model& network_for(const LoadedTable& loaded, Dataset& data);

 private:
  Job& job_;
  const ResolvedJob resolved_;
  Machine machine_;
  ModelFolder folder_;
  ModelDescription model_;
  size_t program_bytes_ = 0;  // as program_bytes() counts them
  std::optional<Parameters> parameters_;
  std::optional<Model> network_;
};

// Throws kStopped: a signal ended the job, which has nothing to save.
[[noreturn]] void throw_stopped();

}  // namespace berth
