#include <algorithm>

#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"

namespace berth {
namespace {

auto device(auto member) { return place(&CommandLine::device, member); }

// The names of TensorFlow's strategies, as its tutorials and other trainers write them.
FlagValue strategy_value() {
  FlagValue value = choice_value<Strategy>(device(&DeviceOptions::strategy),
                                           {{"mirrored", Strategy::kAny},
                                            {"one_device", Strategy::kOneDevice},
                                            {"tpu", Strategy::kTpu},
                                            {"gpu", Strategy::kGpu},
                                            {"off", Strategy::kOneDevice}});
  value.hint = "NAME";
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    std::string word = lower_ascii(given);
    std::erase(word, '_');
    std::erase(word, '-');
    if (word.ends_with("strategy")) word.erase(word.size() - 8);
    if (word == "onedevice") return set(line, "one_device");
    if (word == "multiworkermirrored" || word == "parameterserver") {
      line.notes.push_back(cat("--distribution-strategy ", given,
                               " is for several machines, which berth takes from --world-size or "
                               "the environment (TF_CONFIG and others)"));
      return set(line, "mirrored");
    }
    set(line, word == "mirrored" || word == "tpu" ? word : std::string(given));
  };
  return value;
}

}  // namespace

std::vector<Flag> device_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {"device",
       {},
       kMachine,
       "The device that computes. auto takes a TPU, else a GPU, else the CPU. xla-cpu runs the "
       "programs for "
       "TPUs and GPUs on the CPU, through a plugin, for comparison; it is slower than cpu.",
       choice_value<DeviceKind>(place(&CommandLine::settings, &Settings::device),
                                {{"auto", DeviceKind::kAuto},
                                 {"cpu", DeviceKind::kCpu},
                                 {"tpu", DeviceKind::kTpu},
                                 {"gpu", DeviceKind::kGpu},
                                 {"xla-cpu", DeviceKind::kXlaCpu}}),
       {kFree, kEverywhere}},
      {.name = "devices",
       .aliases = {},
       .group = kMachine,
       .help = "How many TPUs or GPUs of this machine share the work of every batch.",
       .value = integer_value(device(&DeviceOptions::devices), {1, 1024}),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "all; one for xla-cpu"},
      {.name = "pjrt-plugin",
       .aliases = {},
       .group = kMachine,
       .help = "The PJRT plugin that drives the device: a shared library, such as libtpu.so.",
       .value = path_value("FILE", device(&DeviceOptions::plugin)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "found where it is usually installed"},
      {.name = "dropout-generator",
       .aliases = {},
       .group = kMachine,
       .help = "The generator of dropout's random numbers on TPUs and GPUs. philox drops the same "
               "elements as the CPU does. threefry needs no 64-bit products, which are slow on "
               "some devices.",
       .value = choice_value<DropoutGenerator>(
           device(&DeviceOptions::generator),
           {{"philox", DropoutGenerator::kPhilox}, {"threefry", DropoutGenerator::kThreefry}}),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "distribution-strategy",
       .aliases = {},
       .group = kMachine,
       .help = "TensorFlow's name for the devices: tpu and gpu mean --device tpu and gpu, "
               "one_device and off mean --devices 1, and mirrored means all devices.",
       .value = strategy_value(),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "mirrored"},
      {.name = "tpu",
       .aliases = {"tpu-name", "tpu-address"},
       .group = kMachine,
       .help = "Means --device tpu, whatever the name. berth uses the TPU of the machine on which "
               "it runs.",
       .value = text_value("NAME", device(&DeviceOptions::tpu)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "num-gpus",
       .aliases = {},
       .group = kMachine,
       .help = "Means --device gpu and --devices N; 0 means --device cpu.",
       .value = optional_integer_value(device(&DeviceOptions::num_gpus), {0, 1024}),
       .role = {kUnrecorded, kEverywhere}},
  };
}

}  // namespace berth
