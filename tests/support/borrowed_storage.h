#pragma once

#include "storage/storage.h"

namespace berth {

// Passes every call on to `inner`, which the test owns. For code that takes ownership of a storage.
class BorrowedStorage : public StorageLayer {
 public:
  explicit BorrowedStorage(Storage& inner) : StorageLayer(inner) {}
};

}  // namespace berth
