#pragma once

#include <filesystem>
#include <optional>

namespace berth {

// The folder of the model with which a job starts if it names none. It is installed with the
// program (../share/berth/model from bin/), or it is examples/model of the checkout in which the
// program was built. nullopt: both are absent.
std::optional<std::filesystem::path> find_bundled_model();

}  // namespace berth
