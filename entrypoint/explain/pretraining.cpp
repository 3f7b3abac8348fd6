#include "entrypoint/explain/pretraining.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

constexpr std::string_view kTrains = "run_pretraining.py", kWrites = "create_pretraining_data.py";
constexpr uint64_t kLargestCount = 1'000'000'000;

// A script of another project, by flags that only it has.
struct OtherPretraining {
  std::string_view flag, text;
};
constexpr OtherPretraining kOthers[] = {
    {"--model-name",
     "ELECTRA's script reads its sizes and its schedule from --hparams; --task electra pre-trains "
     "on the text itself"},
    {"--hparams",
     "ELECTRA's script reads its sizes and its schedule from --hparams; --task electra pre-trains "
     "on the text itself"},
    {"--albert_config_file",
     "explain does not know the defaults of ALBERT's script. --task mlm_sop trains on the same "
     "records: name them with --train-data-file"},
    {"--input_dir",
     "this script reads HDF5 files, and berth does not; --task mlm_nsp reads the TFRecords of "
     "create_pretraining_data.py, or the text itself with --train-data-file"},
    {"--input_files_dir",
     "NVIDIA's script has an optimizer and a schedule of its own. --task mlm_nsp trains on the "
     "same records: name their folder with --train-data-file"},
};

class PretrainingReader {
 public:
  explicit PretrainingReader(Launch& launch) : launch_(launch), typed_(launch.flags) {}

  void read() {
    if (launch_.script == kTrains) read_training();
    if (launch_.script == kWrites) read_records();
    launch_.flags = std::move(flags_);
  }

 private:
  void read_training() {
    const bool is_garden = typed_.value("input_files").has_value();
    const std::string rows = is_garden ? "input_files" : "input_file";
    if (is_garden) {
      keep_all_but({"input_files", "max_predictions_per_seq", "use_next_sentence_label",
                    "num_steps_per_epoch", "epochs"});
    } else {
      keep_all_but({"input_file", "max_predictions_per_seq", "max_eval_steps"});
    }
    const bool is_alone = is_garden && typed_.value("use_next_sentence_label") &&
                          !typed_.is_on("use_next_sentence_label");
    add("task", is_alone ? "mlm" : "mlm_nsp");
    name_rows(rows, is_garden || typed_.is_on("do_train"));
    if (is_garden) count_steps();
    if (typed_.value("max_predictions_per_seq")) {
      launch_.remark("--max_predictions_per_seq",
                     "has no effect: the records say which tokens are masked");
    }
  }

  // Names the records to train on, and to evaluate on: the first records of the same files.
  void name_rows(const std::string& flag, bool trains) {
    const std::optional<std::string> files = typed_.value(flag);
    if (typed_.value("train-data-file")) return;
    if (!files) {
      return launch_.refuse(cat("--", flag), "is missing; name the records with it");
    }
    if (files->find(',') != std::string::npos)
      return launch_.refuse(cat("--", flag), kSeveralFiles);
    if (trains) add("train-data-file", *files);
    if (launch_.script != kTrains || !typed_.is_on("do_eval")) return;
    add("eval-data-file", *files);
    const auto batches = count_of("max_eval_steps", 100), rows = count_of("eval-batch-size", 8);
    if (!batches || !rows) {
      return launch_.refuse("--max_eval_steps",
                            "counts batches of --eval_batch_size records; write both out");
    }
    add("max-eval-samples", std::to_string(*batches * *rows));
    launch_.remark("--do_eval", cat("scores the first ", *batches * *rows,
                                    " records of the files that it trains on"));
  }

  // Model Garden's script counts the updates of an epoch, and never evaluates.
  void count_steps() {
    add("mode", "train");
    const auto epochs = count_of("epochs", 3), steps = count_of("num_steps_per_epoch", 1000);
    if (!epochs || !steps) {
      return launch_.refuse("--num_steps_per_epoch",
                            "is multiplied by --num_train_epochs; write both out as numbers");
    }
    add("max-steps", std::to_string(*epochs * *steps));
    launch_.remark("--max-steps",
                   cat("is --num_train_epochs ", *epochs, " x --num_steps_per_epoch ", *steps));
    if (lower_ascii(typed_.value("optimizer").value_or("")) == "lamb") add("max-grad-norm", "0");
  }

  // create_pretraining_data.py writes records, as --mode prepare does.
  void read_records() {
    keep_all_but({"input_file", "output_file", "max_predictions_per_seq"});
    add("mode", "prepare");
    add("task", "mlm_nsp");
    add("validation-split", "0");
    name_rows("input_file", true);
    if (!typed_.value("dupe_factor")) {
      launch_.refuse("--dupe_factor",
                     "is 10 in create_pretraining_data.py without the flag, and --mode prepare "
                     "writes one copy. Training on the text itself needs none: --task mlm_nsp "
                     "makes new pairs and masks in every epoch");
    }
    name_records();
    check_masked_tokens();
  }

  void name_records() {
    const std::optional<std::string> typed = typed_.value("output_file");
    if (!typed) return;
    const std::vector<std::string> files = parted(*typed, ",");
    const size_t slash = files.empty() ? std::string::npos : files[0].rfind('/');
    const std::string folder = slash == std::string::npos ? "." : files[0].substr(0, slash);
    add("export-dir", folder);
    const bool is_hdf5 = std::ranges::any_of(files, [](const std::string& file) {
      return file.ends_with(".hdf5") || file.ends_with(".h5");
    });
    if (is_hdf5)
      return launch_.refuse("--output_file", "is an HDF5 file, and berth writes TFRecords");
    if (files.size() > 1) add("num-shards", std::to_string(files.size()));
    launch_.remark("--output_file", cat("is not the name of berth's records: they are ", folder,
                                        "/train.tf_record", files.size() > 1 ? "-00000-of-N" : ""));
  }

  // A limit below the share of masked tokens changes the masks.
  void check_masked_tokens() {
    const std::optional<double> most =
        parse_real(typed_.value("max_predictions_per_seq").value_or("20"));
    const std::optional<double> length = parse_real(typed_.value("max-seq-length").value_or("128"));
    const std::optional<double> share =
        parse_real(typed_.value("mlm-probability").value_or("0.15"));
    if (most && length && share && *most + 1 >= *length * *share) return;
    launch_.refuse("--max_predictions_per_seq",
                   "is 20 without the flag, and limits the masked tokens to fewer than "
                   "--masked_lm_prob does. berth has no such limit; raise it to this share");
  }

  // The number of a flag, or what it is without one; nullopt: it is no number.
  std::optional<uint64_t> count_of(std::string_view flag, uint64_t without) const {
    const std::optional<std::string> typed = typed_.value(flag);
    if (!typed) return without;
    const std::optional<uint64_t> count = parse_number(*typed);
    return count && *count <= kLargestCount ? count : std::nullopt;
  }

  void add(std::string_view flag, std::string_view value) {
    flags_.push_back(cat("--", flag, "=", value));
  }

  // Takes over the words of the line but for the flags that this reader translates.
  void keep_all_but(std::initializer_list<std::string_view> names) {
    flags_.clear();
    for (const TypedArgument& argument : typed_.arguments()) {
      std::string_view name;
      if (argument.own != nullptr) name = argument.own->name;
      if (argument.foreign != nullptr) name = argument.foreign->name;
      if (std::ranges::find(names, name) != names.end()) continue;
      flags_.insert(flags_.end(), argument.tokens.begin(), argument.tokens.end());
    }
  }

  Launch& launch_;
  const TypedCommand typed_;
  std::vector<std::string> flags_;
};

}  // namespace

std::string_view refused_pretraining(std::string_view script, std::span<const std::string> flags) {
  if (script != kTrains) return "";
  for (const OtherPretraining& row : kOthers) {
    const bool has_flag = std::ranges::any_of(flags, [&](const std::string& word) {
      return word == row.flag || word.starts_with(cat(row.flag, "="));
    });
    if (has_flag) return row.text;
  }
  return "";
}

void read_pretraining(Launch& launch) {
  const bool is_read = launch.script == kTrains || launch.script == kWrites;
  if (!is_read || !refused_pretraining(launch.script, launch.flags).empty()) return;
  PretrainingReader(launch).read();
}

}  // namespace berth
