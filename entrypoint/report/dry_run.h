#pragma once

#include <string>

#include "entrypoint/memory/disk_budget.h"
#include "entrypoint/memory/memory_budget.h"
#include "trainer/loop/memory_estimate.h"
#include "trainer/loop/observer.h"

namespace berth {

// What --dry-run finds out about a job.
struct DryRun {
  JobReport job{};
  MemoryEstimate memory{};
  MemoryLimits limits{};
  DiskBudget disk{};
};

// For people: one name and one number a line.
std::string to_text(const DryRun& dry_run);
// For machines: one JSON object on one line.
std::string to_json(const DryRun& dry_run);

}  // namespace berth
