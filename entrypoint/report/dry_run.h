#pragma once

#include <optional>
#include <string>

#include "storage/base/memory_limit.h"
#include "trainer/loop/memory_estimate.h"
#include "trainer/loop/observer.h"

namespace berth {

// What --dry-run finds out about a job.
struct DryRun {
  JobReport job{};
  MemoryEstimate memory{};
  std::optional<MemoryLimit> limit{};
};

// For people: one name and one number a line.
std::string to_text(const DryRun& dry_run);
// For machines: one JSON object on one line.
std::string to_json(const DryRun& dry_run);

}  // namespace berth
