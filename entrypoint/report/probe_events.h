#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "storage/storage.h"
#include "trainer/loop/probe_report.h"

namespace berth {

// The TensorBoard run of probes: a directory with one event file for each step that was probed.
//   events.out.tfevents.<10-digit step>.probe
// A process that was killed repeats the probes after its last checkpoint. The file of a step is
// then replaced, so the scores of a step are there once. One thread may add while another one
// flushes.
class ProbeEvents {
 public:
  // `storage` outlives this.
  ProbeEvents(Storage& storage, Uri directory);

  // Adds the scores of one step, as probe/NAME/METRIC and probe/NAME/loss. They replace the content
  // of that step's file.
  void add(const std::vector<ProbeReport>& reports, double now_s);
  // Adds the scores that an earlier process found, where their files are missing.
  void restore(const std::vector<ProbeReport>& reports, double now_s);

  // Stores what was added since the last flush. When it throws, the next call writes the rest.
  void flush();

 private:
  struct File {
    std::vector<std::byte> content;
    bool only_if_missing = false;
  };
  void add_file(int64_t step, File file);

  Storage& storage_;
  const Uri directory_;
  std::mutex mutex_;  // guards pending_
  std::map<int64_t, File> pending_;
};

}  // namespace berth
