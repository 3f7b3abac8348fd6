#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/training_memory.h"
#include "entrypoint/platform/this_process.h"
#include "storage/file_lock.h"
#include "storage/storage.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/load_model.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/probes.h"

namespace berth {

// The places of probes, in a temporary directory: they run one after the other, and use the same.
struct ProbePlaces {
  explicit ProbePlaces(const std::filesystem::path& directory)
      : model(directory / "model"),
        job(directory / "job"),
        temporary(directory / "temporary"),
        cache(directory / "cache"),
        log(directory / "log.txt") {}

  std::filesystem::path model;      // the encoder, in Hugging Face layout
  std::filesystem::path job;        // the job directory of the fine-tuning
  std::filesystem::path temporary;  // its TMPDIR
  std::filesystem::path cache;      // of remote files, which are fetched once for all probes
  std::filesystem::path log;        // what it prints
};

// A probe that was checked: what to run, and the facts about it that do not depend on the encoder.
struct ProbePlan {
  ProbeFacts facts{};
  std::string metric{};   // the main one
  CommandLine command{};  // of the fine-tuning
  ModelConfig config{};   // of the fine-tuned model
  DataMemory memory{};    // of its rows
};

// The probes of a pre-training job. Each exports the encoder to a temporary directory and
// fine-tunes it there in a process of its own, for which the training waits. So the training's
// state does not change, and the scores depend only on the encoder and the rows. Borrows the job.
class JobProbes final : public Probes {
 public:
  // Checks the files of --probe and plans the probes. Throws kBadData where rows have no labels or
  // are too few, and what the readers throw. Errors name the probe.
  JobProbes(const Job& job, const Settings& settings, const ModelDescription& model);

  std::vector<ProbeFacts> facts() const;
  // The most memory that a probe needs beside the training. `device` stands for the CPU's kernels,
  // and `program_bytes` is the memory of this process without rows.
  size_t memory_bytes(size_t program_bytes, Device& device) const;

  // To be called before run(). Borrows `model`, which is the job's, and `observer`, which hears
  // of each probe that begins. Probes may use `memory_bytes`; 0: there is no limit. The output of a
  // failed probe is stored below `logs`.
  void begin(const ModelDescription& model, uint64_t memory_bytes, const Uri& logs,
             Observer& observer);

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
  Observer* observer_ = nullptr;
  Uri logs_;
};

}  // namespace berth
