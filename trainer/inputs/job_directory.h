#pragma once

#include <cstdint>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "trainer/inputs/options.h"

namespace berth {

// The number in "format" of job.json and state.json.
inline constexpr int64_t kFileFormat = 1;

// Throws kIncompatible where a JSON object of the job directory has a newer format. The files of
// the first versions have none.
template <typename Object>
void require_known_format(const Object& object) {
  const auto format = object.find("format");
  if (format == object.end()) return;
  if (format->is_number_integer() && format->template get<int64_t>() == kFileFormat) return;
  throw Error(Code::kIncompatible, "was written by a newer version of berth", "",
              "go on with that version, or use another --job-dir");
}

// The folder of a job directory that holds the finished model, unless --export-dir moves it.
inline constexpr std::string_view kModelFolderName = "model";
// The folders for checkpoints and event files, unless --checkpoint-dir and --summary-dir move them.
inline constexpr std::string_view kCheckpointsFolderName = "checkpoints";
inline constexpr std::string_view kSummariesFolderName = "summaries";
// The file in each directory of a job by which the process that writes there holds it.
inline constexpr std::string_view kLeaseName = "lease.json";
// The folder of a finished model that holds the generator with which it was pre-trained.
inline constexpr std::string_view kGeneratorFolderName = "generator";

// The end of a file's name.
std::string_view suffix_of(EmbeddingsFormat format);

// The layout of a job directory. This is the only place that knows it:
//
//   JOB_DIR/
//     job.json            the record of the job: its settings, sources and labels (JobRecord)
//     lease.json          held by the process that writes here; there is one in checkpoints/, too,
//                         and in every folder that a flag moves elsewhere
//     heartbeat.json      what that process is doing
//     rendezvous.json     where worker 0 of several listens, until the job is finished
//     report.html         a page about the job for people
//     profile.pftrace     what the threads did in some updates           (--profile)
//     mlflow.json         the run of an MLflow server that receives the metrics
//     checkpoints/        see CheckpointStore                    (or --checkpoint-dir)
//     teacher/            what the teacher made of the rows, until the job is finished
//     probes/             what probes printed that failed
//     summaries/          TensorBoard event files: train, eval, probe   (or --summary-dir)
//     model/              the finished model                     (or --export-dir)
//     model/generator/    the generator beside which it learnt   (--task electra)
//     metrics.json        written last of all; says "finished": true
//     evaluation.json     written by --mode eval, where there are many classes
//     predictions.tsv     written by --mode predict
//     mined.jsonl         written by --mode mine
//     mining/             its vectors, until that file is written
//     embeddings.npy      written by --mode embed, or .parquet or .jsonl
//     embeddings/         the same as several files, with --embeddings-file-rows
//     test_results.tsv    the same in the tutorial's format, if flags ask for it
//     seed-42/ ...        with --seeds, a job directory for each; metrics.json has their mean
//
// A value type. It only names places and does not access them.
class JobDirectory {
 public:
  // The job directory `output.job_dir`, which is not empty. Throws kUsage if a place is not a valid
  // URI.
  explicit JobDirectory(const OutputOptions& output)
      : JobDirectory(Uri::parse(output.job_dir), output) {}
  // The same for the directory `root`, whatever `places.job_dir` says.
  explicit JobDirectory(Uri root, const OutputOptions& places = {});

  const Uri& root() const { return root_; }
  const Uri& model() const { return model_; }
  const Uri& checkpoints() const { return checkpoints_; }
  const Uri& summaries() const { return summaries_; }

  Uri teacher() const { return root_ / "teacher"; }
  Uri probes() const { return root_ / "probes"; }
  Uri record() const { return root_ / "job.json"; }
  Uri heartbeat() const { return root_ / "heartbeat.json"; }
  Uri rendezvous() const { return root_ / "rendezvous.json"; }
  Uri profile() const { return root_ / "profile.pftrace"; }
  Uri mlflow() const { return root_ / "mlflow.json"; }
  Uri mined() const { return root_ / "mined.jsonl"; }
  Uri mining() const { return root_ / "mining"; }
  Uri report() const { return root_ / "report.html"; }
  Uri metrics() const { return root_ / "metrics.json"; }
  Uri evaluation() const { return root_ / "evaluation.json"; }
  Uri predictions() const { return root_ / "predictions.tsv"; }
  Uri embeddings(EmbeddingsFormat format) const {
    return root_ / cat("embeddings", suffix_of(format));
  }
  Uri embeddings() const { return root_ / "embeddings"; }
  Uri test_results() const { return root_ / "test_results.tsv"; }

 private:
  Uri root_, model_, checkpoints_, summaries_;
};

// Where the job of one seed writes: every place of `output` that was given, with a folder for the
// seed below it.
OutputOptions output_of_seed(const OutputOptions& output, uint64_t seed);

}  // namespace berth
