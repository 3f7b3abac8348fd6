#pragma once

#include <span>

#include "storage/base/known_keys.h"

namespace berth {

// The keys of config.json, of all architectures. docs/models.md has the table for people.
std::span<const KnownKey> config_keys();

}  // namespace berth
