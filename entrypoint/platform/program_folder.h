#pragma once

#include <filesystem>

namespace berth {

// The folder that holds this program's file; empty where /proc does not say.
std::filesystem::path program_folder();

}  // namespace berth
