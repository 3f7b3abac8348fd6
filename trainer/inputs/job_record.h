#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/inputs/load_data.h"
#include "trainer/inputs/setting.h"

namespace berth {

// How the program reads the inputs of a job. A version that reads them in another way must not go
// on with the job. Only rules that earlier versions did not have are recorded.
struct RecordedReading {
  std::vector<std::string> rules{};  // of the rows (Finding)
  std::string rows{};                // their checksum; empty: the job has no rows of texts
  // How the labels of the rows to train on are written. Empty: the task has no such labels.
  std::optional<LabelForm> labels{};
  // The numbers of CoNLL's columns of words and tags; empty: the first and the last one.
  std::string words{}, tags{};
  ColumnChoice::Trained columns{};       // of other tables to train on; empty: they have no columns
  std::optional<ScoreRange> scores{};    // of the rows to train on; empty: there are few or none
  std::vector<std::string> tokenizer{};  // the rules of the tokenizer (load_tokenizer())
};

// The content of job.json: the settings, the inputs that were read, and the machine and kernels.
struct JobRecord {
  SettingsTable settings{};
  std::vector<Source> sources{};
  std::vector<std::string> labels{};
  std::string task{};  // its name, given or inferred
  RecordedReading reading{};
  int64_t max_seq_length = 0;  // from the flag or a meta data file; 0 if unknown
  int64_t vector_size = 0;     // ModelConfig::vector_size
  // What --embedding-mini-batch-size auto became. Empty: texts are not compared, or a flag says it.
  std::optional<int64_t> mini_batch{};
  std::string version{}, machine{}, kernels{};
};

// Adds the sources of a table, and how its rows were read. The first table holds the rows to train
// on.
void add_table(JobRecord& record, const LoadedTable& loaded);

std::string to_json(const JobRecord& record);

// A short text that identifies the job of a checkpoint. It depends on the settings and inputs that
// change the result of an update, and not on the number of updates. kOneLength: it depends on that
// number, too, as in the checkpoints of earlier versions.
enum class IdentityOf { kAnyLength, kOneLength };
std::string job_identity(const JobRecord& record, IdentityOf of = IdentityOf::kAnyLength);

// A short text that identifies the settings in which the workers of a job must agree: all settings
// except the paths of files and the number of threads, which may differ between machines.
std::string common_settings(const SettingsTable& settings);

// Throws kIncompatible if this job cannot continue the job that left `existing_json`, because
// settings that change the result differ. The error names each difference. The number of updates,
// the places to write to, the intervals of saving and logging, the device and the number of threads
// may differ. kMayDiffer: the places of inputs may differ, too, because check_sources_match() will
// compare their bytes.
enum class InputPlaces { kMayDiffer, kMustMatch };
void check_settings_match(std::string_view existing_json, const JobRecord& record,
                          InputPlaces places = InputPlaces::kMayDiffer);

// Whether this job is as long as the job that left `existing_json`, by its settings; and `record`
// with the length of that job. Both throw kIncompatible if that is no job.json.
bool has_length_of(std::string_view existing_json, const JobRecord& record);
JobRecord with_length_of(std::string_view existing_json, JobRecord record);

// `record` without the settings that `existing_json` does not name and that have the value in
// `defaults`: the record as the program's version that left the job would have written it. So a
// newer version, which has more flags, can compare its record with that job. Throws kIncompatible
// if that is no job.json.
JobRecord as_known_to(std::string_view existing_json, JobRecord record,
                      const SettingsTable& defaults);

// Checks the job that left `existing_json`, which an earlier version of the program may have begun.
// Throws kIncompatible, naming `where`, if this program reads the job's rows or tokenizer in
// another way than that version. A job.json without a "reading" knows no rules of rows, and may
// have the tokenizer's rules as "tokenizer_rules".
void check_reading_matches(std::string_view existing_json, const RecordedReading& reading,
                           const std::string& where);

// `record` with the tokenizer's files of the job that left `existing_json`. Another version of the
// program may have read other files of the tokenizer. Throws kIncompatible if that is no job.json.
JobRecord with_tokenizer_files_of(std::string_view existing_json, JobRecord record);

// The same as check_settings_match() for the bytes of the inputs. Compares the role, size and CRC
// of each source, but not its place. The files of one table must be in the same order.
void check_sources_match(std::string_view existing_json, const JobRecord& record);

// The same where `record` has only some of the job's sources, whose order is not compared.
void check_sources_known(std::string_view existing_json, const JobRecord& record);

}  // namespace berth
