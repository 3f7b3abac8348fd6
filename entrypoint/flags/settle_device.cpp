#include "entrypoint/flags/settle_device.h"

#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// A device, and the flag that asks for it.
struct Wish {
  DeviceKind kind;
  std::string flag;
};

[[noreturn]] void refuse(const std::string& one, const std::string& other) {
  throw Error(Code::kUsage, cat(one, " and ", other, " ask for different devices"), "",
              "leave one of them out");
}

std::string text_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kAuto:
      return "--device auto";
    case DeviceKind::kCpu:
      return "--device cpu";
    case DeviceKind::kTpu:
      return "--device tpu";
    case DeviceKind::kGpu:
      return "--device gpu";
    case DeviceKind::kXlaCpu:
      return "--device xla-cpu";
  }
  return "";
}

// The devices that the flags of TensorFlow ask for. --num-gpus 0 comes last: with a TPU it asks for
// nothing.
std::vector<Wish> wishes(const DeviceOptions& options) {
  std::vector<Wish> found;
  const std::string strategy = "--distribution-strategy ";
  if (options.strategy == Strategy::kTpu) found.push_back({DeviceKind::kTpu, strategy + "tpu"});
  if (options.strategy == Strategy::kGpu) found.push_back({DeviceKind::kGpu, strategy + "gpu"});
  if (!options.tpu.empty()) found.push_back({DeviceKind::kTpu, "--tpu"});
  if (options.num_gpus > 0) {
    found.push_back({DeviceKind::kGpu, cat("--num-gpus ", *options.num_gpus)});
  }
  const bool wants_tpu = !found.empty() && found[0].kind == DeviceKind::kTpu;
  if (options.num_gpus == 0 && !wants_tpu) found.push_back({DeviceKind::kCpu, "--num-gpus 0"});
  return found;
}

DeviceKind settled_kind(const CommandLine& command_line) {
  const DeviceKind asked = command_line.settings.device;
  const std::vector<Wish> wanted = wishes(command_line.device);
  for (const Wish& wish : wanted) {
    if (wish.kind != wanted[0].kind) refuse(wanted[0].flag, wish.flag);
    const bool is_no_gpu = wish.kind == DeviceKind::kCpu && asked != DeviceKind::kGpu;
    if (asked != DeviceKind::kAuto && asked != wish.kind && !is_no_gpu) {
      refuse(wish.flag, text_of(asked));
    }
  }
  return asked == DeviceKind::kAuto && !wanted.empty() ? wanted[0].kind : asked;
}

int64_t settled_count(const DeviceOptions& options) {
  int64_t count = options.devices;
  const auto also = [&](int64_t other, const std::string& flag) {
    if (count > 0 && count != other) {
      throw Error(Code::kUsage, cat(flag, " asks for ", other, ", and another flag for ", count),
                  "--devices", "leave one of them out");
    }
    count = other;
  };
  if (options.num_gpus > 0) also(*options.num_gpus, "--num-gpus");
  if (options.strategy == Strategy::kOneDevice) also(1, "--distribution-strategy");
  return count;
}

}  // namespace

void settle_device(CommandLine& command_line) {
  command_line.settings.device = settled_kind(command_line);
  command_line.device.devices = settled_count(command_line.device);
}

}  // namespace berth
