#include "entrypoint/job/earlier_job.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "entrypoint/flags/flag_value.h"
#include "entrypoint/platform/bundled_model.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/data/label_form_record.h"
#include "trainer/loop/file_format.h"
#include "trainer/loop/load_model.h"

namespace berth {
namespace {

constexpr int64_t kLargestVector = 1'000'000;

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
  const Json record = parse_json(job_json);
  require(record.is_object() && record.contains("settings") && record.contains("labels") &&
          record["settings"].is_object() && record["labels"].is_array());
  try {
    require_known_format(record);
  } catch (const Error& error) {
    throw error.at(directory_.record().to_string());
  }
  for (const auto& [name, value] : record["settings"].items()) {
    if (value.is_string()) settings_[name] = value;
  }
  // The length may have come from a meta data file that no longer exists, so job.json stores it
  // separately.
  if (record.contains("max_seq_length") && record["max_seq_length"].is_number_unsigned()) {
    const auto length = record["max_seq_length"].get<uint64_t>();
    if (length > 0) settings_["max-seq-length"] = std::to_string(length);
  }
  if (record.contains("vector_size") && record["vector_size"].is_number_unsigned()) {
    vector_size_ = record["vector_size"].get<int64_t>();
    require(vector_size_ > 0 && vector_size_ < kLargestVector);
  }
  for (const Json& label : record["labels"]) {
    require(label.is_string());
    labels_.push_back(label);
  }
  take_sources(record.value("sources", Json()));
  const Json reading = record.value("reading", Json());
  if (reading.is_object()) take_reading(reading);
  const bool has_task = record.contains("task") && record["task"].is_string();
  task_ = has_task ? record["task"].get<std::string>() : setting("task");
}

// Leaves out what is not of the form of a source, so that it is none of the job's.
void EarlierJob::take_sources(const Json& sources) {
  if (!sources.is_array()) return;
  for (const Json& source : sources) {
    const auto text = [&](const char* key) -> std::string {
      const Json found = source.is_object() ? source.value(key, Json()) : Json();
      return found.is_string() ? found.get<std::string>() : "";
    };
    const std::string role = text("role"), uri = text("uri"), crc = text("crc32c");
    if (role.empty() || uri.empty() || !source.value("size", Json()).is_number_unsigned()) continue;
    Source read{.role = role, .uri = uri, .checksum = {.size = source.at("size")}};
    std::from_chars(crc.data(), crc.data() + crc.size(), read.checksum.crc, 16);
    sources_.push_back(std::move(read));
  }
}

// Takes what job.json says of how the job has read its rows and its tokenizer.
void EarlierJob::take_reading(const Json& reading) {
  const auto list = [&](const char* name) {
    const Json found = reading.value(name, Json());
    return found.is_array() ? found : Json::array();
  };
  for (const Json& rule : list("tokenizer")) has_own_decoder_ |= rule == kOwnDecoderRule;
  if (reading.contains("labels")) label_form_ = label_form_of(reading["labels"]);
  const Json columns = reading.value("columns", Json());
  const auto column = [&](const char* name) -> std::string {
    const Json found = columns.is_object() ? columns.value(name, Json()) : Json();
    return found.is_string() ? found.get<std::string>() : "";
  };
  words_ = column("words");
  tags_ = column("tags");
  if (!column("text").empty()) {
    columns_ = {.text = column("text"), .text_pair = column("text_pair"), .label = column("label")};
  }
  // An earlier version has recorded them in the rule "columns 2 and 3 of CoNLL" alone.
  for (const Json& rule : list("rules")) {
    const auto parts = parted(rule.is_string() ? rule.get<std::string>() : "", " ");
    if (parts.size() != 6 || parts[0] != "columns" || parts[5] != "CoNLL" || !words_.empty()) {
      continue;
    }
    words_ = parts[1];
    tags_ = parts[3];
  }
}

std::string EarlierJob::setting(std::string_view name) const {
  const auto found = settings_.find(name);
  return found != settings_.end() ? found->second : "";
}

LoraOptions EarlierJob::lora() const {
  return {.rank = static_cast<int64_t>(number("lora-rank")),
          .alpha = number("lora-alpha"),
          .target_modules = setting("lora-target-modules")};
}

ElectraOptions EarlierJob::electra(ElectraOptions options) const {
  if (options.generator.empty()) options.generator = setting("generator");
  const double fraction = number("generator-hidden-fraction");
  if (fraction > 0) options.generator_hidden_fraction = fraction;
  return options;
}

EmbeddingOptions EarlierJob::embedding() const {
  EmbeddingOptions options;
  const std::string pooling = setting("pooling"), normalizes = setting("normalize-embeddings");
  if (pooling == "mean") options.pooling = Pooling::kMean;
  if (pooling == "cls") options.pooling = Pooling::kCls;
  if (pooling == "max") options.pooling = Pooling::kMax;
  if (!normalizes.empty()) options.normalizes = normalizes == "true";
  return options;
}

int32_t EarlierJob::max_seq_length() const {
  const double length = number("max-seq-length");
  const bool is_known = length >= kShortestSequence && length <= kLongestSequence;
  return is_known ? static_cast<int32_t>(length) : DataOptions().max_seq_length;
}

Task EarlierJob::task() const {
  // A job's record may also hold a task that no flag can name.
  for (const TaskTraits& row : task_table()) {
    if (is_named(row.task, task_)) return row.task;
  }
  return kDefaultTask;
}

// The value of a numeric flag. 0 if the version that wrote the record did not know the flag.
double EarlierJob::number(std::string_view name) const {
  const std::string text = setting(name);
  return text.empty() ? 0 : parse_real(text, {0, 1e9, true, true, "a number"});
}

Uri EarlierJob::place(std::string_view name, const Uri& part) const {
  const std::string elsewhere = setting(name);
  return elsewhere.empty() ? part : Uri::parse(elsewhere);
}

Uri EarlierJob::model() const { return place("export-dir", directory_.model()); }

Uri EarlierJob::checkpoints() const { return place("checkpoint-dir", directory_.checkpoints()); }

ModelOptions EarlierJob::first_model(ModelOptions options) const {
  const auto complete = [this](std::string& file, const char* name) {
    if (file.empty()) file = setting(name);
  };
  complete(options.model, "model");
  complete(options.model_config, "model-config");
  complete(options.vocab_file, "vocab-file");
  const std::string lower = setting("do-lower-case");
  if (!options.do_lower_case && !lower.empty()) options.do_lower_case = lower == "true";
  options.init = Init::kRandom;
  if (options.model.empty() && options.model_config.empty()) {
    if (const auto bundled = find_bundled_model()) options.model = bundled->string();
  }
  return options;
}

}  // namespace berth
