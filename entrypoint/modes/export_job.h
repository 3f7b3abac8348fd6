#pragma once

#include "entrypoint/modes/job.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/results.h"

namespace berth {

// What cannot be exported or adapted, said before hours of work. Throws kUsage.
void require_exportable(const Settings& settings, const ModelConfig& config);

// Writes the finished model as `job.settings.output` says, adapters merged into it; DIR/adapter has
// them as PEFT's files where that is asked for.
void export_results(Job& job, const Uri& directory, const ModelDescription& model,
                    const Parameters& parameters, Kernels& kernels, const JobMetrics& metrics);

}  // namespace berth
