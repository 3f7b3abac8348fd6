#include "trainer/inputs/job_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/label_form.h"
#include "trainer/inputs/job_directory.h"

namespace berth {
namespace {

OrderedJson parse(std::string_view json) {
  OrderedJson object = parse_ordered_json(json);
  if (!object.is_object() || !object.contains("settings") || !object["settings"].is_object() ||
      !object.contains("sources") || !object["sources"].is_array()) {
    throw Error(Code::kIncompatible, "is not a job.json of berth", "",
                "use another --job-dir, or remove it");
  }
  require_known_format(object);
  return object;
}

constexpr const char* kOtherContents = "its input files had other contents";

[[noreturn]] void refuse(const std::string& differences, bool only_of_the_export = false) {
  const char* const hint =
      only_of_the_export
          ? "repeat the job's own command to go on with it; --mode export_only then writes its "
            "model to another --export-dir in this format"
          : "repeat the job's own command to go on with it, or train its model further in another "
            "--job-dir, with --model JOB_DIR/model";
  throw Error(Code::kIncompatible, "the job directory belongs to another job: " + differences, "",
              hint);
}

OrderedJson source_object(const Source& source) {
  return {{"role", source.role},
          {"uri", source.uri},
          {"size", source.checksum.size},
          {"crc32c", crc_text(source.checksum.crc)}};
}

// A text that identifies the bytes of a source. `source` may be any JSON value, because the file
// may be damaged.
std::string identity(const OrderedJson& source) {
  std::string text;
  for (const char* key : {"role", "size", "crc32c"}) {
    if (source.is_object() && source.contains(key)) text += to_text(source[key]);
    text += " ";
  }
  return text;
}

OrderedJson source_objects(const JobRecord& record) {
  OrderedJson sources = OrderedJson::array();
  for (const Source& source : record.sources) sources.push_back(source_object(source));
  return sources;
}

// The identities of all sources, sorted. The identity of a table's file contains the file's number,
// because the order of the files is the order of the rows.
std::vector<std::string> identities(const OrderedJson& sources) {
  std::vector<std::string> found;
  std::map<std::string, int> files;
  for (const OrderedJson& source : sources) {
    const std::string role =
        source.is_object() && source.contains("role") ? to_text(source["role"]) : "";
    found.push_back(identity(source));
    if (role != "\"model\"") found.back() += std::to_string(files[role]++);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The length in job.json may have come from a meta data file, so the record has it apart.
constexpr std::string_view kSequenceLength = "max-seq-length";

// "tokenizer.json" of such a file's place; "" of other files.
std::string tokenizer_file(const std::string& uri) {
  constexpr std::array<std::string_view, 6> kFiles = {
      "vocab.txt",         "tokenizer.json",          "tokenizer_config.json",
      "added_tokens.json", "special_tokens_map.json", "Normalize/config.json"};
  const auto found = std::ranges::find_if(kFiles, [&](std::string_view name) {
    return uri == name || uri.ends_with(cat("/", name)) ||
           (name.front() == 'N' && uri.ends_with(name));
  });
  return found == kFiles.end() ? "" : std::string(*found);
}

std::string setting_in(const OrderedJson& job, const std::string& name) {
  const OrderedJson& settings = job.at("settings");
  return settings.contains(name) && settings[name].is_string() ? settings[name] : "";
}

}  // namespace

std::string job_identity(const JobRecord& record, IdentityOf of) {
  std::string text = cat(record.task, "\n");
  for (const std::string& label : record.labels) text += cat(label, "\n");
  for (const Setting& setting : record.settings) {
    const bool counts = setting.effect == Effect::kDecides ||
                        (setting.effect == Effect::kLength && of == IdentityOf::kOneLength);
    if (!counts) continue;
    const bool is_known = setting.name == kSequenceLength && record.max_seq_length > 0;
    text += cat(setting.name, "=", is_known ? std::to_string(record.max_seq_length) : setting.value,
                "\n");
  }
  for (const std::string& rule : record.reading.rules) text += cat("rule ", rule, "\n");
  for (const std::string& rule : record.reading.tokenizer) text += cat("tokenizer ", rule, "\n");
  for (const std::string& source : identities(source_objects(record))) text += source + "\n";
  return crc_text(crc32c(as_bytes(text)));
}

std::string common_settings(const SettingsTable& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    if (setting.effect == Effect::kPlace || setting.has(kOwnToWorker)) continue;
    text += cat(setting.name, "=", setting.value, "\n");
  }
  return crc_text(crc32c(as_bytes(text)));
}

void add_table(JobRecord& record, const LoadedTable& loaded) {
  const bool is_first = record.reading.rows.empty();
  if (is_first && loaded.label_form.is_settled) record.reading.labels = loaded.label_form;
  record.sources.insert(record.sources.end(), loaded.sources.begin(), loaded.sources.end());
  for (const Finding& found : loaded.findings) {
    std::vector<std::string>& rules = record.reading.rules;
    const bool is_new = std::ranges::find(rules, found.rule) == rules.end();
    if (is_new && !found.rule.empty()) rules.push_back(found.rule);
  }
  const bool is_of_words = traits(loaded.task).inputs == InputKind::kWords;
  RecordedReading& reading = record.reading;
  if (is_of_words && reading.words.empty() && parse_number(loaded.columns.text)) {
    reading.words = loaded.columns.text;
    reading.tags = loaded.columns.label;
  } else if (is_first) {
    reading.columns = {.text = loaded.columns.text,
                       .text_pair = loaded.columns.text_pair,
                       .label = loaded.columns.label,
                       .cuts_words = loaded.columns.cuts_words};
  }
  if (is_first) reading.scores = loaded.scale.range();
  std::string& rows = record.reading.rows;
  rows += cat(rows.empty() ? "" : " ", crc_text(loaded.table->digest()));
}

std::string to_json(const JobRecord& record) {
  OrderedJson settings = OrderedJson::object();
  for (const Setting& setting : record.settings) settings[setting.name] = setting.value;
  OrderedJson object = {{"format", kFileFormat},
                        {"version", record.version},
                        {"settings", settings},
                        {"sources", source_objects(record)},
                        {"labels", record.labels},
                        {"task", record.task},
                        {"max_seq_length", record.max_seq_length},
                        {"machine", record.machine},
                        {"kernels", record.kernels}};
  if (record.vector_size > 0) object["vector_size"] = record.vector_size;
  if (record.mini_batch) object["embedding_mini_batch_size"] = *record.mini_batch;
  const RecordedReading& reading = record.reading;
  if (!reading.rows.empty() || !reading.tokenizer.empty()) {
    object["reading"] = {
        {"rules", reading.rules}, {"rows", reading.rows}, {"tokenizer", reading.tokenizer}};
  }
  if (reading.labels) object["reading"]["labels"] = to_json(*reading.labels);
  if (!reading.words.empty()) {
    object["reading"]["columns"] = {{"words", reading.words}, {"tags", reading.tags}};
  } else if (const auto& [text, pair, label, cuts_words] = reading.columns; !text.empty()) {
    object["reading"]["columns"] = {{"text", text}, {"text_pair", pair}, {"label", label}};
    if (cuts_words) object["reading"]["columns"]["cuts_words"] = true;
  }
  if (const auto& scores = reading.scores) {
    object["reading"]["scores"] = {{"largest", scores->largest},
                                   {"upper_third", scores->upper_third}};
  }
  return to_text(object, 2) + "\n";
}

void check_settings_match(std::string_view existing_json, const JobRecord& record,
                          InputPlaces places) {
  const OrderedJson existing = parse(existing_json);
  std::string differences;
  bool only_of_the_export = true;
  for (const Setting& setting : record.settings) {
    const std::string &name = setting.name, &value = setting.value;
    if (setting.effect == Effect::kFree || setting.effect == Effect::kLength) continue;
    const std::string old = setting_in(existing, name);
    if (old == value) continue;
    // With or without an input, it is another job.
    const bool is_moved = setting.effect == Effect::kPlace && !old.empty() && !value.empty();
    if (is_moved && places == InputPlaces::kMayDiffer) continue;
    if (!name.starts_with("export-")) only_of_the_export = false;
    differences += (differences.empty() ? "" : ", ") +
                   cat("--", name, " was ", quoted(old), " and is now ", quoted(value));
  }
  if (!differences.empty()) refuse(differences, only_of_the_export);
}

JobRecord with_length_of(std::string_view existing_json, JobRecord record) {
  const OrderedJson existing = parse(existing_json);
  for (Setting& setting : record.settings) {
    if (setting.effect == Effect::kLength) setting.value = setting_in(existing, setting.name);
  }
  return record;
}

bool has_length_of(std::string_view existing_json, const JobRecord& record) {
  return with_length_of(existing_json, record).settings == record.settings;
}

JobRecord as_known_to(std::string_view existing_json, JobRecord record,
                      const SettingsTable& defaults) {
  const OrderedJson existing = parse(existing_json);
  std::erase_if(record.settings, [&](const Setting& setting) {
    return !existing["settings"].contains(setting.name) &&
           std::ranges::any_of(defaults, [&](const Setting& preset) {
             return preset.name == setting.name && preset.value == setting.value;
           });
  });
  return record;
}

void check_reading_matches(std::string_view existing_json, const RecordedReading& reading,
                           const std::string& where) {
  const OrderedJson existing = parse(existing_json);
  const OrderedJson before = existing.value("reading", OrderedJson());
  const bool is_known = before.is_object();
  const OrderedJson rows = is_known ? before.value("rows", OrderedJson()) : OrderedJson();
  // Versions of 2026-11 recorded the rules of the tokenizer separately.
  const OrderedJson tokenizer = is_known && before.contains("tokenizer")
                                    ? before["tokenizer"]
                                    : existing.value("tokenizer_rules", OrderedJson::array());
  std::string what, rules;
  const auto differs = [&](const char* name, const std::vector<std::string>& own) {
    what += cat(what.empty() ? "" : " and ", name);
    for (const std::string& rule : own) rules += (rules.empty() ? ": " : ", ") + rule;
  };
  const bool same_rows = is_known ? rows == OrderedJson(reading.rows) : reading.rules.empty();
  if (!same_rows) differs("rows", reading.rules);
  if (tokenizer != OrderedJson(reading.tokenizer)) {
    differs("tokenizer or model", reading.tokenizer);
  }
  if (what.empty()) return;
  const OrderedJson version = existing.value("version", OrderedJson());
  throw Error(
      Code::kIncompatible,
      cat(version.is_string() ? version.get<std::string>() : "another version of berth",
          ", which began the job, read its ", what, " in another way than this version", rules),
      where, "go on with that version, or begin the job again in another --job-dir");
}

JobRecord with_tokenizer_files_of(std::string_view existing_json, JobRecord record) {
  const OrderedJson existing = parse(existing_json);
  std::vector<Source> sources;
  std::vector<std::string> names;  // of the tokenizer's files that the job read
  for (const OrderedJson& source : existing["sources"]) {
    const auto text = [&](const char* key) {
      const bool is_text = source.is_object() && source.contains(key) && source[key].is_string();
      return is_text ? source[key].get<std::string>() : "";
    };
    const std::string name = tokenizer_file(text("uri"));
    if (text("role") != "model" || name.empty()) continue;
    names.push_back(name);
    const bool is_read = std::ranges::any_of(record.sources, [&](const Source& own) {
      return own.role == "model" && tokenizer_file(own.uri) == name;
    });
    const OrderedJson& size = source.contains("size") ? source["size"] : OrderedJson();
    if (is_read || !size.is_number_unsigned()) continue;
    Source read{.role = "model", .uri = text("uri"), .checksum = {}};
    read.checksum.size = size.get<uint64_t>();
    const std::string crc = text("crc32c");
    std::from_chars(crc.data(), crc.data() + crc.size(), read.checksum.crc, 16);
    sources.push_back(std::move(read));
  }
  std::erase_if(record.sources, [&](const Source& own) {
    const std::string name = tokenizer_file(own.uri);
    return own.role == "model" && !name.empty() && std::ranges::find(names, name) == names.end();
  });
  record.sources.insert(record.sources.end(), sources.begin(), sources.end());
  return record;
}

void check_sources_match(std::string_view existing_json, const JobRecord& record) {
  if (identities(parse(existing_json)["sources"]) != identities(source_objects(record))) {
    refuse(kOtherContents);
  }
}

void check_sources_known(std::string_view existing_json, const JobRecord& record) {
  const OrderedJson existing = parse(existing_json);
  std::vector<std::string> known;
  for (const OrderedJson& source : existing["sources"]) known.push_back(identity(source));
  for (const Source& source : record.sources) {
    const std::string own = identity(source_object(source));
    if (std::ranges::find(known, own) == known.end()) refuse(kOtherContents);
  }
}

}  // namespace berth
