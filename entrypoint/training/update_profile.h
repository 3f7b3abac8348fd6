#pragma once

#include <cstdint>

#include "storage/base/profiler.h"
#include "storage/storage.h"
#include "trainer/engine/device.h"
#include "trainer/loop/profile_window.h"

namespace berth {

// Records some updates of a training for --profile. When they are made, it writes a trace for
// Perfetto to `file` and logs the largest costs. Borrows the device and the storage, and must not
// outlive them.
class UpdateProfile {
 public:
  // `asked` updates, from the third one on, because the first ones warm up memory and caches. If a
  // process makes only `left` updates, it profiles the last ones. Both are above 0.
  UpdateProfile(Device& device, Storage& storage, Uri file, int64_t asked, int64_t left);
  ~UpdateProfile();
  UpdateProfile(const UpdateProfile&) = delete;
  UpdateProfile& operator=(const UpdateProfile&) = delete;

  const ProfileWindow& window() const { return window_; }

 private:
  void write();

  Device& device_;
  Storage& storage_;
  const Uri file_;
  Profiler profiler_;
  ProfileWindow window_;
};

}  // namespace berth
