#pragma once

#include <string>
#include <vector>

namespace berth {

// What a resumed job may do with a setting. It decides whether the setting is part of the job's
// identity; see job_identity().
enum class Effect {
  kDecides,     // It may change weights or results, so a resumed job must have the same value.
  kFree,        // A resumed job may have another value, because weights and results stay the same.
  kPlace,       // It says where an input lies. The input may move, because its bytes are compared.
  kLength,      // It says how many updates the job makes. A resumed job may have another length.
  kUnrecorded,  // It is about one run of the program. job.json does not have it.
};

// What else holds for a setting, as bits.
inline constexpr unsigned kOwnToWorker = 1u << 0;  // Each worker of a job may have its own value.
inline constexpr unsigned kVaried = 1u << 1;       // People vary it, so hparams always have it.
inline constexpr unsigned kNoHparam = 1u << 2;     // Each job has its own, so hparams lack it.

// The canonical name of a flag and its value, as job.json records it. Records that were read from
// a file have no effects and no marks.
struct Setting {
  std::string name, value;
  Effect effect = Effect::kDecides;
  unsigned marks = 0;

  bool has(unsigned mark) const { return (marks & mark) != 0; }
  bool operator==(const Setting&) const = default;
};
using SettingsTable = std::vector<Setting>;

}  // namespace berth
