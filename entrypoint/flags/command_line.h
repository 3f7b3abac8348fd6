#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "storage/base/log.h"
#include "storage/open_storage.h"
#include "trainer/corpus/cleaning_rules.h"
#include "trainer/inputs/options.h"
#include "trainer/model/update.h"
#include "trainer/text/training/tokenizer_trainer.h"

namespace berth {

enum class RecordFormat { kTfRecord, kJsonl };

// How --mode prepare lays out the files of a data set.
struct PreparedFileOptions {
  RecordFormat format = RecordFormat::kTfRecord;
  int64_t num_shards = 1;
  bool gzip = false;
  int64_t shard_mebibytes = 64;  // of shards of tokens
};

// The flags of the modes that compute nothing, and where predictions go.
struct ToolOptions {
  std::string predictions_file{};      // --mode predict; "-": standard output; empty: by --job-dir
  bool predictions_with_text = false;  // --mode predict: each line has its text, too
  // --mode predict: no field is one that a spreadsheet computes.
  bool predictions_safe_for_spreadsheets = false;
  std::string id_column{};  // --mode predict; empty: found by its name
  // inspect, tokenize, fetch: a file. tokenize: "-" is standard input. report: a job directory.
  std::string input{};
  std::vector<std::string> further_inputs{};    // inspect, fetch, report: what follows `input`
  std::string report_file = "comparison.html";  // report; "-": standard output
  std::optional<std::string> text{};            // tokenize: the text, instead of a file
  bool add_special_tokens = true;               // tokenize
  bool json = false;                            // inspect
  int64_t max_age_s = 600;                      // heartbeat
  PreparedFileOptions prepared{};               // prepare
  TokenizerTrainingOptions tokenizer{};  // train_tokenizer; lower case is set by --do-lower-case
  CleaningOptions cleaning{};            // prepare, of a corpus
};

// TensorFlow's --distribution_strategy: only the kind and the number of devices count.
enum class Strategy { kAny, kOneDevice, kTpu, kGpu };

// Which devices compute, besides Settings::device. A job may continue with other ones.
struct DeviceOptions {
  std::string plugin{};  // the path of a PJRT plugin; empty: it is looked for
  int64_t devices = 0;   // how many devices compute together; 0: all that there are
  DropoutGenerator generator = DropoutGenerator::kPhilox;
  // The words of TensorFlow's tutorials, which settle_device() turns into a device.
  Strategy strategy = Strategy::kAny;
  std::string tpu{};  // the name of a TPU; only the wish for one counts
  std::optional<int64_t> num_gpus{};
  AcceleratorEnvironment environment{};
};

// The workers that train one model together, and how they find each other. A job may continue with
// another number of them.
struct ClusterOptions {
  std::optional<int64_t> size{}, rank{};  // empty: what the platform says, else one worker
  std::string leader_host{};              // of worker 0; empty: it says so in the job directory
  std::optional<int64_t> leader_port{};
  std::string worker_address{};  // of this worker; empty: the address of its route to worker 0
  // The secret that only the workers know, or the file that holds it, which has priority.
  std::string secret{}, secret_file{};
  // The fewest workers that go on after others were lost, and the most that there are. 0: no worker
  // goes on without the others.
  int64_t least = 0, most = 0;
  int64_t rendezvous_timeout_s = 600;
  int64_t peer_timeout_s = 15;
};

// One invocation: the settings of the job, and how the program itself behaves. Flags and platform
// are in it. Settings that follow from files are not; see resolve_settings().
struct CommandLine {
  Settings settings;  // as asked
  // How the user calls this program: "berth", or a path. Empty: it is what a container runs, and
  // the user gives it arguments only.
  std::string program = "berth";
  std::string home{};               // the user's home directory; empty: not known
  std::string log_format = "auto";  // "text", "json", or "auto": text on a terminal, else json
  LogLevel log_level = LogLevel::kInfo;
  std::optional<Mode> help_mode{};  // with `help`: the mode that the help is of; empty: all
  bool help = false, version = false, help_markdown = false, help_json = false;
  bool dry_run = false;  // stop before the first update
  ToolOptions tool{};
  DeviceOptions device{};
  ClusterOptions cluster{};
  std::vector<std::string> given{};  // the canonical names of the flags that were given
  std::vector<std::string> notes{};  // about flags that have no effect; the log says them once
  StorageOptions storage{};          // how to reach remote objects; it does not change results
  MlflowOptions mlflow{};            // where the platform wants the metrics, too
  Tuning tuning{};                   // what the platform says of hyperparameter tuning
  // The CPU computes without the instructions above these, for tests; empty: with all that it has.
  std::string highest_instruction_set;
  bool log_histograms = false;             // of the parameters, for TensorBoard
  bool row_preview = true;                 // whether the log, --dry-run and the report show rows
  int64_t profiled_updates = 0;            // of a training; 0: none
  std::optional<double> price_per_hour{};  // of the machine, in any currency
  int64_t memory_limit = 0;                // in bytes; 0: what the machine and the container say
  int64_t parent_process = 0;              // of a run inside a job (run_self()); 0: there is none
  int64_t owner_process = 0;               // which started the program and waits for it; 0: any

  // Whether a tuning service waits for a metric: the platform named a trial or a file, or the user
  // named a metric.
  bool is_tuned() const {
    return !tuning.trial.empty() || !tuning.metric_file.empty() ||
           !settings.output.hypertune_metric.empty();
  }
  bool gives(std::string_view flag) const {
    return std::find(given.begin(), given.end(), flag) != given.end();
  }
};

}  // namespace berth
