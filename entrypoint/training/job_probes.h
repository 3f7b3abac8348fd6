#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/job/job.h"
#include "entrypoint/platform/run_self.h"
#include "entrypoint/training/probe_plan.h"
#include "storage/storage.h"
#include "storage/temporary_directory.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/probes.h"

namespace berth {

// The probes of a pre-training job. Each exports the encoder to a temporary directory and
// fine-tunes it there in a process of its own, for which the training waits. So the training's
// state does not change, and the scores depend only on the encoder and the rows. Borrows the job.
class JobProbes final : public Probes {
 public:
  // Checks the files of --probe and plans the probes. Throws what plan_probe() throws.
  JobProbes(const Job& job, const Settings& settings, const ModelDescription& model);

  const std::vector<ProbePlan>& plans() const { return plans_; }
  std::vector<ProbeFacts> facts() const;
  // The most memory that a probe needs beside the training; see probe_memory().
  size_t memory_bytes(size_t program_bytes, Device& device) const;

  // To be called before run(). `model` is the job's model and is borrowed. Probes may use
  // `memory_bytes`; 0: there is no limit. The output of a failed probe is stored below `logs`.
  void begin(const ModelDescription& model, uint64_t memory_bytes, const Uri& logs);

  std::optional<std::vector<ProbeReport>> run(const Engine& engine, int64_t step) override;

 private:
  void export_encoder(const Engine& engine);
  std::optional<ProbeReport> run(const ProbePlan& plan, int64_t step);
  std::optional<ProbeReport> report_of(const ProbePlan& plan, int64_t step);
  void warn(const ProbePlan& plan, int64_t step, const std::string& problem);

  const Job& job_;
  const Settings settings_;
  const TemporaryDirectory directory_;
  const ProbePlaces places_;
  const std::unique_ptr<Storage> storage_;  // keeps remote files in the directory
  std::vector<ProbePlan> plans_;
  const ModelDescription* model_ = nullptr;
  Uri logs_;
};

}  // namespace berth
