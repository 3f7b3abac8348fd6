#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode report: writes a page that compares the jobs in several directories, from their job.json,
// metrics.json and report.html, to --report-file. Throws kNotFound, naming the directory, where one
// has no job.json, kIncompatible where that is no job.json, and what writing throws.
void run_comparison(Job& job);

}  // namespace berth
