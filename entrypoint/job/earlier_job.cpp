#include "entrypoint/job/earlier_job.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/platform/program_files.h"
#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/data/dataset.h"
#include "trainer/data/features.h"
#include "trainer/data/label_form.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/load_model.h"

namespace berth {
namespace {

constexpr uint64_t kLargestVector = 1'000'000;

// The settings that these values of flags make. A value that this version refuses is left out, with
// a warning.
Settings settings_in(const std::map<std::string, std::string, std::less<>>& values) {
  CommandLine line;
  for (const Flag& flag : flag_table()) {
    const auto value = values.find(flag.name);
    if (value == values.end() || value->second.empty()) continue;
    try {
      flag.value.set(line, value->second);
    } catch (const Error& error) {
      log_warning(cat("--", flag.name, " ", value->second,
                      " of the earlier job is not taken over: ", error.what()));
    }
  }
  return line.settings;
}

}  // namespace

std::optional<EarlierJob> EarlierJob::find(Storage& storage, const Uri& directory) {
  const std::optional<std::string> text = read_text(storage, JobDirectory(directory).record());
  if (!text) return std::nullopt;
  return EarlierJob(directory, *text);
}

EarlierJob::EarlierJob(const Uri& directory, std::string_view job_json) : directory_(directory) {
  const auto require = [&](bool holds) {
    if (holds) return;
    throw Error(Code::kIncompatible, "the file is not a job.json of berth",
                directory_.record().to_string());
  };
  const Json parsed = parse_json(job_json);
  const JsonObject record(parsed), settings = record.within("settings");
  require(settings.is_there() && record.list("labels") != nullptr);
  try {
    require_known_format(parsed);
  } catch (const Error& error) {
    throw error.at(directory_.record().to_string());
  }
  values_ = settings.all_texts();
  // The length may have come from a meta data file that no longer exists, so job.json stores it
  // separately.
  if (const auto length = record.count("max_seq_length"); length.value_or(0) > 0) {
    values_["max-seq-length"] = std::to_string(*length);
  }
  if (const auto rows = record.count("embedding_mini_batch_size")) {
    mini_batch_ = static_cast<int64_t>(*rows);
  }
  if (const auto size = record.count("vector_size")) {
    require(*size > 0 && *size < kLargestVector);
    vector_size_ = static_cast<int64_t>(*size);
  }
  for (const Json& label : record.values("labels")) {
    require(label.is_string());
    labels_.push_back(label);
  }
  for (const Json& source : record.values("sources")) take_source(JsonObject(source));
  settings_ = settings_in(values_);
  take_reading(record.within("reading"));
  task_ = record.text("task").value_or(setting("task"));
}

// Leaves out what is not of the form of a source, so that it is none of the job's.
void EarlierJob::take_source(const JsonObject& source) {
  const std::string role = source.text("role").value_or(""), uri = source.text("uri").value_or(""),
                    crc = source.text("crc32c").value_or("");
  const auto size = source.count("size");
  if (role.empty() || uri.empty() || !size) return;
  Source read{.role = role, .uri = uri, .checksum = {.size = *size}};
  std::from_chars(crc.data(), crc.data() + crc.size(), read.checksum.crc, 16);
  sources_.push_back(std::move(read));
}

// Takes what job.json says of how the job has read its rows and its tokenizer.
void EarlierJob::take_reading(const JsonObject& reading) {
  for (const Json& rule : reading.values("tokenizer")) {
    has_own_decoder_ |= rule == kOwnDecoderRule;
    has_space_rule_ |= rule == kSpaceRule;
  }
  if (const Json* form = reading.find("labels")) label_form_ = label_form_of(*form);
  const JsonObject columns = reading.within("columns");
  const auto column = [&](const char* name) { return columns.text(name).value_or(""); };
  words_ = column("words");
  tags_ = column("tags");
  if (!column("text").empty()) {
    const Json* cuts = columns.find("cuts_words");
    columns_ = {.text = column("text"),
                .text_pair = column("text_pair"),
                .label = column("label"),
                .cuts_words = cuts != nullptr && *cuts == true};
  }
  const JsonObject scores = reading.within("scores");
  const auto largest = scores.number("largest"), upper_third = scores.number("upper_third");
  if (largest && upper_third) scores_ = {.largest = *largest, .upper_third = *upper_third};
  // An earlier version has recorded the columns in the rule "columns 2 and 3 of CoNLL" alone. Where
  // columns are known, the rule may be of another file.
  for (const Json& rule : reading.values("rules")) {
    has_runs_rule_ |= rule == kRunsRule;
    has_blank_rule_ |= rule == kBlankRule;
    has_pair_rule_ |= rule == kPairRule;
    const auto parts = parted(rule.is_string() ? rule.get<std::string>() : "", " ");
    if (parts.size() != 6 || parts[0] != "columns" || parts[5] != "CoNLL" || !words_.empty() ||
        columns_) {
      continue;
    }
    words_ = parts[1];
    tags_ = parts[3];
  }
}

std::string EarlierJob::setting(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second : "";
}

LoraOptions EarlierJob::lora() const {
  const LoraOptions& trained = settings_.training.optimization.lora;
  return {.rank = trained.rank, .alpha = trained.alpha, .target_modules = trained.target_modules};
}

ElectraOptions EarlierJob::electra(ElectraOptions options) const {
  if (options.generator.empty()) options.generator = settings_.electra.generator;
  options.generator_hidden_fraction = settings_.electra.generator_hidden_fraction;
  return options;
}

EmbeddingOptions EarlierJob::embedding() const {
  const EmbeddingOptions& own = settings_.embedding;
  return {.pooling = own.pooling,
          .normalizes = own.normalizes,
          .query_prompt = own.query_prompt,
          .passage_prompt = own.passage_prompt};
}

Task EarlierJob::task() const {
  // A job's record may also hold a task that no flag can name.
  for (const TaskTraits& row : task_table()) {
    if (is_named(row.task, task_)) return row.task;
  }
  return kDefaultTask;
}

Uri EarlierJob::place(std::string_view name, const Uri& part) const {
  const std::string elsewhere = setting(name);
  return elsewhere.empty() ? part : Uri::parse(elsewhere);
}

Uri EarlierJob::model() const { return place("export-dir", directory_.model()); }

Uri EarlierJob::checkpoints() const { return place("checkpoint-dir", directory_.checkpoints()); }

ModelOptions EarlierJob::first_model(ModelOptions options) const {
  const ModelOptions& begun = settings_.model;
  for (const auto file :
       {&ModelOptions::model, &ModelOptions::model_config, &ModelOptions::vocab_file}) {
    if ((options.*file).empty()) options.*file = begun.*file;
  }
  if (!options.do_lower_case) options.do_lower_case = begun.do_lower_case;
  options.init = Init::kRandom;
  if (options.model.empty() && options.model_config.empty()) {
    if (const auto bundled = find_bundled_model()) options.model = bundled->string();
  }
  return options;
}

namespace {

constexpr const char* kLineByLine = "line-by-line";

}  // namespace

void keep_reading_of(const EarlierJob& earlier, CommandLine& command_line) {
  DataOptions& data = command_line.settings.data;
  data.reads_in_order = !earlier.has_runs_rule();
  data.holds_out_blank = !earlier.has_blank_rule();
  if (!earlier.setting(kLineByLine).empty()) return;
  data.words_end_at_spaces = true;
  if (find_task(data.task) != Task::kMaskedLm) return;
  const bool asks_for_joining = command_line.gives(kLineByLine) && !data.line_by_line;
  if (asks_for_joining || data.attends_across_documents) {
    throw Error(Code::kIncompatible,
                "an earlier version began the job, which reads each row as a sequence of its own",
                earlier.directory().to_string(),
                "go on with --line-by-line, or start a new job in another --job-dir");
  }
  data.line_by_line = true;
}

CommandLine with_reading_of_job(Storage& storage, const JobDirectory& directory,
                                CommandLine command_line) {
  if (const auto begun = EarlierJob::find(storage, directory.root())) {
    keep_reading_of(*begun, command_line);
  }
  return command_line;
}

bool has_files_of(Storage& storage, const EarlierJob& earlier, const Settings& asked) {
  for (const Setting& setting : settings_table(asked)) {
    if (setting.effect == Effect::kPlace && earlier.setting(setting.name) != setting.value) {
      return false;
    }
  }
  for (const Source& source : earlier.sources()) {
    if (source.uri.ends_with(kOfTexts)) continue;
    try {
      if (stored_checksum(storage, Uri::parse(source.uri)) != source.checksum) return false;
    } catch (const Error&) {
      return false;
    }
  }
  return !earlier.sources().empty();
}

namespace {

constexpr std::array kOfTrainings = {Precision::kAuto, Precision::kFp32, Precision::kBf16};

std::optional<Precision> find_precision(std::string_view name) {
  for (const Precision precision : kOfTrainings) {
    if (name_of(precision) == name) return precision;
  }
  return std::nullopt;
}

bool device_multiplies_bf16(const Job& job) {
  switch (job.device.kind) {
    case DeviceKind::kTpu:
    case DeviceKind::kGpu:
      return true;
    case DeviceKind::kXlaCpu:
      return false;  // it does, but has never used it for --precision auto
    case DeviceKind::kAuto:
    case DeviceKind::kCpu:
      break;
  }
  return host_multiplies_bf16(job);
}

// What a worker tells the others, as bytes.
struct Told {
  Precision precision = Precision::kAuto;
  bool is_given = false;  // by a flag
  bool device_has_bf16 = false, host_has_bf16 = false;
  bool reads_in_order = false, words_end_at_spaces = false, holds_out_blank = false;

  std::array<std::byte, 7> bytes() const {
    return {std::byte(precision),      std::byte(is_given),       std::byte(device_has_bf16),
            std::byte(host_has_bf16),  std::byte(reads_in_order), std::byte(words_end_at_spaces),
            std::byte(holds_out_blank)};
  }
  static Told of(const std::vector<std::byte>& bytes) {
    return {.precision = static_cast<Precision>(bytes.at(0)),
            .is_given = bytes.at(1) != std::byte{0},
            .device_has_bf16 = bytes.at(2) != std::byte{0},
            .host_has_bf16 = bytes.at(3) != std::byte{0},
            .reads_in_order = bytes.at(4) != std::byte{0},
            .words_end_at_spaces = bytes.at(5) != std::byte{0},
            .holds_out_blank = bytes.at(6) != std::byte{0}};
  }
};

std::optional<int64_t> first_without(const std::vector<Told>& workers, bool Told::*has_bf16) {
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (!(workers[rank].*has_bf16)) return static_cast<int64_t>(rank);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Precision> precision_of_job(Storage& storage, const JobDirectory& directory) {
  const auto begun = EarlierJob::find(storage, directory.root());
  if (!begun) return std::nullopt;
  const std::string name = begun->setting("precision");
  return name.empty() ? Precision::kFp32 : find_precision(name);
}

CommandLine with_precision_of_job(const Job& job, const JobDirectory& directory) {
  CommandLine line = job.command_line;
  if (line.gives("precision")) return line;
  line.settings.precision =
      precision_of_job(job.storage, directory).value_or(line.settings.precision);
  return line;
}

SettingsTable unnamed_settings() {
  Settings settings;
  settings.precision = Precision::kFp32;
  SettingsTable table = settings_table(settings);
  table.push_back({kLineByLine, "true"});
  return table;
}

SharedPrecision share_precision(const Job& job, Communicator& ranks) {
  const Told own{.precision = job.command_line.settings.precision,
                 .is_given = job.command_line.gives("precision"),
                 .device_has_bf16 = device_multiplies_bf16(job),
                 .host_has_bf16 = host_multiplies_bf16(job),
                 .reads_in_order = job.command_line.settings.data.reads_in_order,
                 .words_end_at_spaces = job.command_line.settings.data.words_end_at_spaces,
                 .holds_out_blank = job.command_line.settings.data.holds_out_blank};
  std::vector<Told> workers;
  for (const std::vector<std::byte>& bytes : gather_bytes(ranks, own.bytes())) {
    workers.push_back(Told::of(bytes));
  }
  const Precision precision = workers.front().precision;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (!workers[rank].is_given || workers[rank].precision == precision) continue;
    throw Error(Code::kIncompatible,
                cat("worker 0 goes on with a job that was begun with --precision ",
                    name_of(precision), ", and worker ", rank, " was started with --precision ",
                    name_of(workers[rank].precision)),
                "", "give all workers the same flags");
  }
  return {.precision = precision,
          .without_bf16 = {.device = first_without(workers, &Told::device_has_bf16),
                           .host = first_without(workers, &Told::host_has_bf16)},
          .reads_in_order = workers.front().reads_in_order,
          .words_end_at_spaces = workers.front().words_end_at_spaces,
          .holds_out_blank = workers.front().holds_out_blank};
}

CommandLine with_checkpoint_limit_of_job(Storage& storage, const JobDirectory& directory,
                                         CommandLine command_line) {
  constexpr const char* kFlag = "save-total-limit";
  TrainingOptions& options = command_line.settings.training;
  if (command_line.gives(kFlag)) {
    options.gives_up_checkpoints = options.save_total_limit > 0;
    return command_line;
  }
  const auto begun = EarlierJob::find(storage, directory.root());
  if (!begun) return command_line;
  const auto limit = parse_number(begun->setting(kFlag));
  if (!limit || static_cast<int64_t>(*limit) == options.save_total_limit) return command_line;
  options.save_total_limit = static_cast<int64_t>(*limit);
  log_info(cat("--", kFlag, " ", options.save_total_limit,
               ", because the job began with it and no flag names another"));
  return command_line;
}

CommandLine with_mini_batch_of_job(Storage& storage, const JobDirectory& directory,
                                   CommandLine command_line) {
  constexpr const char* kFlag = "embedding-mini-batch-size";
  if (command_line.gives(kFlag)) return command_line;
  const auto begun = EarlierJob::find(storage, directory.root());
  const auto rows = begun ? parse_number(begun->setting(kFlag)) : std::nullopt;
  if (rows) command_line.settings.training.embedding_mini_batch_size = static_cast<int64_t>(*rows);
  return command_line;
}

}  // namespace berth
