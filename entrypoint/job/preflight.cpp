#include "entrypoint/job/preflight.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/probe_list.h"
#include "storage/archived_storage.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "trainer/inputs/data_source.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/model_folder.h"

namespace berth {
namespace {

// Whether `uri` lies in an archive that exists. What the archive holds is known only once it is
// fetched.
bool is_in_archive(Storage& storage, const Uri& uri) {
  return find_archive(storage, uri).has_value();
}

// Whether the rows for a role are found.
auto check_table(const DataPaths& paths, const char* role) {
  return [&paths, role](Storage&, const Uri& uri) {
    const DataSource& data = paths.at(uri.url());
    if (!data.is_archived()) data.files(role);
  };
}

void check_file(Storage& storage, const Uri& uri) {
  if (is_in_archive(storage, uri) || storage.stat(uri)) return;
  const std::string similar = similar_name(storage, uri);
  throw Error(Code::kNotFound, "no such file", uri.to_string(),
              similar.empty() ? "check the spelling" : similar);
}

// A folder that holds something, or an archive.
void check_place(Storage& storage, const Uri& uri) {
  if (is_in_archive(storage, uri) || !storage.list(uri, 1).empty()) return;
  const std::string similar = similar_name(storage, uri);
  throw Error(Code::kNotFound, "no such folder or archive", uri.to_string(),
              similar.empty() ? "check the spelling" : similar);
}

// The directory, or what exists of the path to it. So a job that ends before it writes anything
// leaves no empty directory behind.
Uri existing_part(const Uri& directory) {
  if (!directory.is_local()) return directory;
  std::string path = directory.path();
  std::error_code unknown;
  while (!std::filesystem::exists(path, unknown)) {
    const std::string parent = directory_of(path);
    if (parent == path) break;
    path = parent;
  }
  return directory.with_path(path);
}

// Refuses a local file where a directory will be. In object storage both may have one name.
void check_not_a_file(const Uri& directory) {
  std::error_code unknown;
  const auto status = std::filesystem::status(directory.path(), unknown);
  if (!directory.is_local() || !exists(status) || is_directory(status)) return;
  throw Error(Code::kNotFound, "this is a file, and a directory is needed here",
              directory.to_string(), "name another place, or move the file away");
}

void check_writable(Storage& storage, const Uri& directory) {
  const Uri existing = existing_part(directory);
  check_not_a_file(existing);
  const Uri probe = existing / cat(".berth-write-test-", random_letters(12));
  store_object(storage, probe, [](ByteSink&) {}, {.if_generation = 0, .size_hint = {}});
  storage.remove(probe);
}

// The checks of a job, in the order in which they are added.
class Checks {
 public:
  explicit Checks(Storage& storage) : storage_(storage) {}

  // Starts a check of the place that `flag` names. Does nothing where `path` is empty.
  void add(std::string_view flag, const std::string& path,
           std::function<void(Storage&, const Uri&)> check) {
    if (path.empty()) return;
    const Uri uri = Uri::parse(path);
    const auto when = uri.is_local() ? std::launch::deferred : std::launch::async;
    pending_.push_back(
        {flag, uri.to_string(), std::async(when, std::move(check), std::ref(storage_), uri)});
  }

  // Waits for all checks, and throws the first failure.
  void finish() {
    for (auto& [flag, path, result] : pending_) {
      try {
        result.get();
      } catch (const Error& error) {
        throw Error(error.code(), error.problem(),
                    cat("--", flag, " ", error.where().empty() ? path : error.where()),
                    error.hint());
      }
    }
  }

 private:
  struct Pending {
    std::string_view flag;
    std::string path;
    std::future<void> result;
  };
  Storage& storage_;
  std::vector<Pending> pending_;
};

// A table of rows: the need (mode.h) by which its flag is known, and what its rows are for.
struct RowTable {
  unsigned need, rows;
  const char* role;
};
constexpr RowTable kRowTables[] = {{kNeedsTrainData, kTrainRows, "train"},
                                   {kNeedsEvalData, kEvalRows, "eval"},
                                   {kNeedsPredictData, kPredictRows, "predict"}};

// Adds a check of each table whose flag is_wanted(flag, table).
template <typename IsWanted>
void check_tables(Checks& checks, const DataPaths& paths, const CommandLine& line,
                  IsWanted is_wanted) {
  for (const Flag& flag : flag_table()) {
    const auto table = std::ranges::find(kRowTables, flag.role.need, &RowTable::need);
    if (table == std::end(kRowTables) || !is_wanted(flag, *table)) continue;
    checks.add(flag.name, flag.value.get(line), check_table(paths, table->role));
  }
}

// One text for all the names of a place.
std::string canonical(const Uri& uri) {
  if (!uri.is_local()) return uri.url();
  std::error_code unknown;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(uri.path()), unknown).string();
}

std::vector<Uri> files_of_results(const Settings& settings, const std::string& file) {
  if (file == "-") return {};
  if (!file.empty()) return {Uri::parse(file)};
  if (settings.output.job_dir.empty()) return {};
  const JobDirectory directory(settings.output);
  if (settings.mode == Mode::kEmbed) return {directory.embeddings(settings.embedding.format)};
  if (settings.mode == Mode::kMine) return {directory.mined()};
  return {directory.predictions(), directory.test_results()};
}

// Whether a file of results would replace a file in the folder of the model. Results of earlier
// runs may be there, too, and no model has files of these formats.
bool is_of_model(Storage& storage, const std::string& model, const Uri& results) {
  if (model.empty()) return false;
  const std::string folder = canonical(Uri::parse(model)), file = canonical(results);
  if (file == folder) return true;
  constexpr std::string_view kResults[] = {".tsv", ".csv", ".npy", ".parquet", ".jsonl"};
  const auto is_named = [&](std::string_view suffix) { return file.ends_with(suffix); };
  return file.starts_with(folder + "/") && std::ranges::none_of(kResults, is_named) &&
         storage.stat(results).has_value();
}

// The objects that a data path names. A path that names nothing is refused where it is read.
std::vector<Uri> objects_of(const DataPaths& paths, const std::string& path, const char* role) {
  const DataSource& data = paths.at(path);
  if (const auto archive = find_archive(paths.storage(), data.uri())) return {archive->archive};
  try {
    return data.files(role);
  } catch (const Error&) {
    return {data.uri()};
  }
}

}  // namespace

void require_own_place(const DataPaths& paths, const Settings& settings, const std::string& file) {
  const std::vector<Uri> results = files_of_results(settings, file);
  if (results.empty() || !traits(settings.mode).runs_finished_model()) return;
  const auto refuse = [&](const Uri& place, std::string_view what) {
    throw Error(Code::kUsage, cat("the results would replace ", what), place.to_string(),
                "name another file with --predictions-file");
  };
  const DataOptions& data = settings.data;
  const bool mines = settings.mode == Mode::kMine;
  for (const auto& [path, role] :
       {std::pair(data.predict_data_file, "predict"), std::pair(data.eval_data_file, "eval"),
        std::pair(mines ? settings.mining.corpus : "", "train")}) {
    if (path.empty()) continue;
    for (const Uri& input : objects_of(paths, path, role)) {
      for (const Uri& place : results) {
        if (canonical(input) == canonical(place)) refuse(place, "the rows that the job reads");
      }
    }
  }
  for (const Uri& place : results) {
    if (is_of_model(paths.storage(), settings.model.model, place)) {
      refuse(place, "a file of the model");
    }
  }
}

void preflight_unused(const DataPaths& paths, const CommandLine& command_line) {
  Checks checks(paths.storage());
  check_tables(checks, paths, command_line, [&](const Flag& flag, const RowTable&) {
    return command_line.gives(flag.name) && !flag.role.is_used(command_line.settings);
  });
  checks.finish();
}

void preflight(const DataPaths& paths, const Settings& settings) {
  const ModeTraits& mode = traits(settings.mode);
  const OutputOptions& output = settings.output;
  Checks checks(paths.storage());
  check_tables(checks, paths, {.settings = settings, .highest_instruction_set = ""},
               [&](const Flag&, const RowTable& table) { return mode.reads(table.rows); });
  if (mode.reads(kEvalRows) && !mode.prepares_rows()) {
    checks.add("eval-retrieval", settings.data.eval_retrieval, check_place);
  }
  if (!settings.probes.files.empty()) {
    for (const ProbeFile& probe : parse_probes(settings.probes.files)) {
      checks.add("probe", probe.file, check_table(paths, "eval"));
    }
  }
  checks.add("input-meta-data-path", settings.data.input_meta_data_path, check_file);
  // --mode prepare needs only the tokenizer of the model.
  const std::string model = mode.needs_any(kNeedsTokenizer) ? "" : settings.model.model;
  checks.add("model", model, [&settings](Storage& where, const Uri& uri) {
    if (!is_in_archive(where, uri)) require_model(where, settings.model);
  });
  checks.add("generator", settings.electra.generator, [](Storage& where, const Uri& uri) {
    if (!is_in_archive(where, uri)) require_model(where, {.model = uri.url()});
  });
  checks.add("model-config", settings.model.model_config, check_file);
  checks.add("vocab-file", settings.model.vocab_file, check_file);
  if (mode.writes_job_dir(!output.export_dir.empty())) {
    checks.add("job-dir", output.job_dir, check_writable);
  }
  if (mode.writes_export_dir()) checks.add("export-dir", output.export_dir, check_writable);
  if (mode.trains() && output.export_dir.empty()) {
    checks.add("job-dir", output.job_dir,
               [](Storage&, const Uri& job_dir) { check_not_a_file(job_dir / "model"); });
  }
  if (mode.trains()) {
    checks.add("checkpoint-dir", output.checkpoint_dir, check_writable);
    checks.add("summary-dir", output.summary_dir, check_writable);
  }
  checks.finish();
}

}  // namespace berth
