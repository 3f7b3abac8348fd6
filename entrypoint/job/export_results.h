#pragma once

#include "storage/storage.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/results.h"

namespace berth {

// Throws kUsage where the trained model could not be exported, or the model cannot be adapted, as
// `settings` ask: called before hours of work.
void require_exportable(const Settings& settings, const ModelConfig& config);

// Writes the finished model into `directory`, in the formats that `settings.output` asks for, with
// the adapters of `settings` merged into it. Where --export-adapter is given, `directory`/adapter
// holds them as PEFT's files, which name `settings.model` as their base model. Throws kBadData,
// with nothing written, where a number does not fit --export-dtype.
void export_results(Storage& storage, const Settings& settings, const Uri& directory,
                    const ModelDescription& model, const ParameterTensors& values,
                    const JobMetrics& metrics);

}  // namespace berth
