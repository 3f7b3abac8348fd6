#include "entrypoint/job/earlier_reading.h"

#include <utility>
#include <vector>

#include "entrypoint/flags/flags.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"

namespace berth {
namespace {

constexpr const char* kFlag = "line-by-line";

}  // namespace

void keep_reading_of(const EarlierJob& earlier, CommandLine& command_line) {
  if (!earlier.setting(kFlag).empty()) return;
  DataOptions& data = command_line.settings.data;
  data.words_end_at_spaces = true;
  if (find_task(data.task) != Task::kMaskedLm) return;
  const bool asks_for_joining = command_line.gives(kFlag) && !data.line_by_line;
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
    Checksum now;
    try {
      ChecksumSource file(storage.open(Uri::parse(source.uri)), now);
      std::vector<std::byte> buffer(size_t{1} << 18);
      while (file.read(buffer) > 0) {
      }
    } catch (const Error&) {
      return false;
    }
    if (now != source.checksum) return false;
  }
  return !earlier.sources().empty();
}

SettingsTable settings_of_older_readings() { return {{kFlag, "true"}}; }

}  // namespace berth
