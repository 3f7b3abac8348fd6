#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// The devices on which a command trains, and the batch that follows from them.
struct TrainingDevices {
  AskedDevice kind = AskedDevice::kNotSaid;
  std::optional<int64_t> count{};  // of one machine; nullopt: berth takes all
  int64_t processes = 1;           // a batch has the examples of one device this many times
  int64_t machines = 1;
  std::vector<Remark> remarks{};
};

// `said` is the number of devices that `berth explain --devices N` says.
TrainingDevices choose_devices(const Launch& launch, const TrainingScript* script,
                               const TypedCommand& typed, std::optional<int64_t> said);

// Adds the flags for them, unless the line names a device already.
void name_devices(const TrainingDevices& choice, OwnCommand& own);

}  // namespace berth
