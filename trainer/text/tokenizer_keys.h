#pragma once

#include <span>

#include "storage/base/known_keys.h"

namespace berth {

// The keys of tokenizer_config.json, of all classes that berth knows.
std::span<const KnownKey> tokenizer_keys();

}  // namespace berth
