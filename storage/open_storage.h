#pragma once

#include <memory>

#include "storage/storage.h"

namespace berth {

// The program's storage: each call goes to the implementation of the URI's scheme. Throws kUsage,
// naming the scheme, where there is none.
std::unique_ptr<Storage> open_storage();

}  // namespace berth
