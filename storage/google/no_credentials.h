#pragma once

#include <string>

#include "storage/base/error.h"

namespace berth {

// Returns the error for the case that no credentials were found. `tried` lists the places that were
// searched.
inline Error no_credentials(const std::string& tried) {
  return Error(Code::kNotPermitted, "no credentials for Google Cloud: " + tried, "",
               "set GOOGLE_APPLICATION_CREDENTIALS to a credential file, run on Google Cloud, or "
               "pass --anonymous for public data");
}

}  // namespace berth
