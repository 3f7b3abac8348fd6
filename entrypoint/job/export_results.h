#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/job.h"
#include "storage/storage.h"
#include "trainer/inputs/load_model.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/results.h"

namespace berth {

// The file whose rows a training evaluates on, or from which it holds them out.
std::string evaluated_file(const DataOptions& data);

// Throws kUsage where the trained model could not be exported, or the model cannot be adapted, as
// `settings` ask: called before hours of work.
void require_exportable(const Settings& settings, const ModelConfig& config);

// Writes the finished model into `directory`, in the formats that `settings.output` asks for, with
// the adapters of `settings` merged into it. Where --export-adapter is given, `directory`/adapter
// holds them as PEFT's files, which name `settings.model` as their base model. If it ends early,
// the folder does not load, whatever model was there before. Throws kBadData, with nothing written,
// where a number does not fit --export-dtype.
void export_results(Storage& storage, const Settings& settings, const Uri& directory,
                    const ModelDescription& model, const ParameterTensors& values,
                    const JobMetrics& metrics);

// The export of one checkpoint of an earlier job, in the formats that the flags ask for. Borrows
// the job, and `earlier` while it is constructed.
class CheckpointExport {
 public:
  // Reads the model's folder for its configuration and tokenizer, but no rows. Throws kUsage where
  // the model cannot be exported as asked, and what storage throws. Writes nothing.
  CheckpointExport(Job& job, const EarlierJob& earlier);

  // Writes the model of the checkpoint of `step` into `directory`, which the caller holds.
  // `evaluation` is the evaluation in the model's README.md. Throws kNotFound and kCorrupt where
  // the checkpoint is not complete, kBadData where a number does not fit --export-dtype, and what
  // storage throws. Called once.
  void write(CheckpointStore& checkpoints, int64_t step, const Uri& directory,
             const std::optional<EvaluationResult>& evaluation = std::nullopt);
  // The same for the best checkpoint, or for another one if it is damaged
  // (CheckpointStore::restore_best).
  void write_best(
      CheckpointStore& checkpoints, int64_t best, const Uri& directory,
      const std::function<std::optional<EvaluationResult>(int64_t step)>& evaluation_of);

 private:
  void write(const ParameterTensors& values, const std::string& from, int64_t step,
             const Uri& directory, const std::optional<EvaluationResult>& evaluation);

  Job& job_;
  const Settings settings_;
  ModelDescription model_;
  JobMetrics metrics_;
};

}  // namespace berth
