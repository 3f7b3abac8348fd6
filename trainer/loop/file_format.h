#pragma once

#include <cstdint>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

// The number in "format" of job.json and state.json.
inline constexpr int64_t kFileFormat = 1;

// Throws kIncompatible where a JSON object of the job directory has a newer format. The files of
// the first versions have none.
template <typename Object>
void require_known_format(const Object& object) {
  const auto format = object.find("format");
  if (format == object.end()) return;
  if (format->is_number_integer() && format->template get<int64_t>() == kFileFormat) return;
  throw Error(Code::kIncompatible, "was written by a newer version of berth", "",
              "go on with that version, or use another --job-dir");
}

}  // namespace berth
