#pragma once

#include <string>

#include "storage/base/error.h"

namespace berth {

// What a failed system call means to the user: `number` is its errno, `action` completes "cannot
// ..." where the errno alone says too little ("open for writing"), `path` is what it was about.
Error file_error(int number, const std::string& action, const std::string& path);

}  // namespace berth
