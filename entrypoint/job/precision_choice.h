#pragma once

#include <optional>

#include "entrypoint/job/job.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/job_record.h"
#include "trainer/model/precision.h"

namespace berth {

// Each machine resolves --precision auto for its own device (make_device()). These functions decide
// what one machine cannot decide alone: the precision of a job that an earlier process began, and
// the precision of workers that compute together.

// The precision in the job.json of `directory`, which is kAuto if the job began with "auto".
// nullopt: the directory has no job.json, or it names no precision of a
// training. Throws kIncompatible where the file is not a job.json of berth.
std::optional<Precision> precision_of_job(Storage& storage, const JobDirectory& directory);

// The command line of `job`. If no flag names a precision and `directory` holds a job, the
// precision is the one in its job.json. Throws what precision_of_job() throws.
CommandLine with_precision_of_job(const Job& job, const JobDirectory& directory);

// The values of the settings that an older job.json does not name: the defaults, but fp32 as the
// precision, which was what such a job computed in, and the reading of earlier versions
// (earlier_reading.h).
SettingsTable unnamed_settings();

// The precision of all workers.
struct SharedPrecision {
  Precision precision;       // worker 0's, because only worker 0 may know the precision in the
                             // job's directory
  WithoutBf16 without_bf16;  // the first worker that does not multiply it
};

// Compares the workers of a job, which all call it. Throws kIncompatible on all of them where a
// flag of one names another precision than worker 0 goes on with.
SharedPrecision share_precision(const Job& job, Communicator& ranks);

}  // namespace berth
