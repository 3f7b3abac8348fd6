#pragma once

#include <string>

#include "storage/base/error.h"

namespace berth {

// Converts the errno of a failed system call (`number`) to an Error. `action` completes the
// sentence "cannot ..." ("open for writing"). `path` is the file concerned.
Error file_error(int number, const std::string& action, const std::string& path);

}  // namespace berth
