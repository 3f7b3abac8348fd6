#pragma once

#include <optional>
#include <string>

#include "storage/base/memory_limit.h"
#include "trainer/loop/memory_estimate.h"
#include "trainer/loop/observer.h"

namespace berth {

// What --dry-run found out.
struct DryRun {
  JobReport job{};
  MemoryEstimate memory{};
  std::optional<MemoryLimit> limit{};
};

// For people: lines of a name and a number.
std::string to_text(const DryRun& dry_run);
// For machines: one object on one line.
std::string to_json(const DryRun& dry_run);

}  // namespace berth
