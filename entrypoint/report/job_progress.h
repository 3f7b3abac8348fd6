#pragma once

#include <cstdint>
#include <string>

namespace berth {

// How far a job has come. The final report says it, whether the job succeeded or failed.
struct JobProgress {
  int64_t step = 0;          // updates done
  std::string checkpoint{};  // the newest complete checkpoint; empty: there is none
};

}  // namespace berth
