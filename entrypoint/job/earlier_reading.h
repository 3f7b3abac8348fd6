#pragma once

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/earlier_job.h"
#include "storage/storage.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/job_record.h"

namespace berth {

// A job keeps its way of reading rows to its end, even if a later version reads them in another
// way. Its job.json lacks the flag --line-by-line if it is older than the joining of documents.

// Lets `command_line` read rows as `earlier` does: line by line, and with spaces alone between
// words, if it is older. Throws kIncompatible where a flag asks for something else.
void keep_reading_of(const EarlierJob& earlier, CommandLine& command_line);

// The command line with the reading of the job in `directory`, if there is one.
CommandLine with_reading_of_job(Storage& storage, const JobDirectory& directory,
                                CommandLine command_line);

// Whether the files that job.json names have the bytes that the job has read, and `asked` names the
// same places. If this version refuses them, then another version has begun the job.
bool has_files_of(Storage& storage, const EarlierJob& earlier, const Settings& asked);

// The values of settings that an older job.json does not name, if they differ from the defaults.
SettingsTable settings_of_older_readings();

}  // namespace berth
