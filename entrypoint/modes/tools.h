#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/job/job.h"
#include "entrypoint/report/html/compare_page.h"
#include "storage/storage.h"

namespace berth {

// A file to copy, and its path below the directory that it is copied to.
struct FileToFetch {
  Uri from;
  std::string name;
};

// The files that `places` name; each place is a file, a pattern, a folder or an archive, as
// expand() reads it. A file keeps its name. A file in a folder, in an archive or below a pattern's
// fixed part also keeps its path there. Throws what expand() throws, kUsage if two files would get
// the same path, and kBadData if a path would lead out of the directory.
std::vector<FileToFetch> files_to_fetch(Storage& storage, std::span<const std::string> places);

// The files of the job in the directory `name`: job.json, metrics.json and report.html. Throws
// kNotFound if there is no job.json, and kIncompatible if berth did not write it.
ComparedJob compared_job(Storage& storage, const std::string& name);

// The rule that decides whether a heartbeat belongs to a living job.
struct HeartbeatRule {
  double now_s = 0;      // of the wall clock
  double max_age_s = 0;  // the longest time without a sign of life
  std::function<bool(std::string_view process)> is_running;  // is_process_running()
};

// Returns a sentence about the job if the heartbeat `text` (entrypoint/report/heartbeat.h) belongs
// to a living or a finished job. A living job has a running process on this system. In the phases
// training and evaluating, it also gave a sign of life not long ago. Throws kHung if the job is
// neither living nor finished, and kCorrupt if the text is not a heartbeat.
std::string judge_heartbeat(std::string_view text, const HeartbeatRule& rule);

}  // namespace berth
