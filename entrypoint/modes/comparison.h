#pragma once

#include <string>

#include "entrypoint/job/job.h"
#include "entrypoint/report/html/compare_page.h"
#include "storage/storage.h"

namespace berth {

// The files of the job in the directory `name`: job.json, metrics.json and report.html. Throws
// kNotFound if there is no job.json, and kIncompatible if berth did not write it.
ComparedJob compared_job(Storage& storage, const std::string& name);

// --mode report: writes a page that compares the jobs in several directories, from their job.json,
// metrics.json and report.html, to --report-file. Throws kNotFound, naming the directory, where one
// has no job.json, kIncompatible where that is no job.json, and what writing throws.
void run_comparison(Job& job);

}  // namespace berth
