#include "entrypoint/explain/devices.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {
namespace {

constexpr int64_t kMostProcesses = 100'000;

std::optional<int64_t> count_in(const std::string& text) {
  const std::optional<uint64_t> number = parse_number(text);
  if (!number || *number == 0 || *number > kMostProcesses) return std::nullopt;
  return static_cast<int64_t>(*number);
}

// Finds the devices step by step: their kind, then how many machines and how many devices each.
class DeviceFinder {
 public:
  DeviceFinder(const Launch& launch, const TrainingScript* script, const TypedCommand& typed,
               std::optional<int64_t> said)
      : launch_(launch), script_(script), typed_(typed), said_(said) {}

  TrainingDevices find() {
    choice_.kind = launch_.device;
    if (typed_.is_on("no_cuda") || typed_.is_on("use_cpu")) choice_.kind = AskedDevice::kCpu;
    const bool names_tpu = typed_.value("tpu") && counts_each_device();
    if (typed_.is_on("use_tpu") || typed_.value("tpu_num_cores") || names_tpu) {
      choice_.kind = AskedDevice::kTpu;
    }
    find_machines();
    if (launch_.launcher.empty()) {
      see_devices();
    } else {
      count_processes();
    }
    check_machines();
    return std::move(choice_);
  }

 private:
  void remark(std::string word, std::string text, bool refused) {
    choice_.remarks.push_back({std::move(word), std::move(text), refused});
  }

  void refuse_unknown_count(std::string_view why) {
    remark("the number of devices",
           cat("is not in the line, and the batch depends on it", why,
               "; say it in front of the line: berth explain --devices N '...'"),
           true);
  }

  bool counts_each_device() const {
    return script_ != nullptr && script_->batch == BatchOf::kDevice;
  }

  // The batch of a script that counts the examples of each device or process grows with their
  // number.
  bool batch_depends() const {
    if (script_ == nullptr) return true;
    const bool is_evaluation = script_->devices == ScriptDevices::kAllGpus &&
                               !typed_.is_on("do_train") &&
                               (typed_.is_on("do_eval") || typed_.is_on("do_predict"));
    if (is_evaluation) return false;
    return script_->batch == BatchOf::kDevice ||
           (script_->batch == BatchOf::kProcess && !launch_.launcher.empty());
  }

  void take_count(int64_t count) {
    choice_.count = count;
    if (batch_depends()) choice_.processes = count * choice_.machines;
  }

  void find_machines() {
    if (launch_.machines.empty()) return;
    if (const auto machines = count_in(launch_.machines)) {
      choice_.machines = *machines;
    } else if (launch_.machines != "1:1") {
      remark("the number of machines",
             cat("is ", quoted(launch_.machines), ", and the batch depends on it; write it out"),
             true);
    }
  }

  void count_processes() {
    const std::optional<int64_t> typed = count_in(launch_.processes);
    // accelerate starts a process for each GPU that it sees.
    const bool sees_one =
        launch_.launcher == "accelerate" && launch_.processes.empty() && launch_.visible == "1";
    const bool is_one = launch_.processes.empty() &&
                        (launch_.launcher == "torchrun" || launch_.launcher == "xla_spawn.py" ||
                         choice_.kind == AskedDevice::kCpu);
    if (typed) {
      const bool is_split = launch_.counts_all && *typed % choice_.machines == 0;
      const int64_t here = is_split ? *typed / choice_.machines : *typed;
      if (*typed > 1 && choice_.kind == AskedDevice::kNotSaid) assume_gpus(here);
      take_count(here);
      if (launch_.counts_all) choice_.processes = batch_depends() ? *typed : 1;
    } else if (said_) {
      take_count(*said_);
      if (*said_ > 1 && choice_.kind == AskedDevice::kNotSaid) choice_.kind = AskedDevice::kGpu;
    } else if (sees_one) {
      take_count(1);
    } else if (is_one) {
      if (batch_depends()) choice_.processes = choice_.machines;
    } else if (!batch_depends()) {
      return;
    } else if (launch_.processes.empty()) {
      refuse_unknown_count(
          cat(": ", launch_.launcher, " takes it from a file of its own or from the machine"));
    } else {
      refuse_unknown_count(cat(": it is ", quoted(launch_.processes)));
    }
  }

  void assume_gpus(int64_t count) {
    choice_.kind = AskedDevice::kGpu;
    remark(launch_.launcher,
           cat("starts ", count, " processes, one for each GPU: --device gpu --devices ", count,
               "; for a line that trains on CPUs add --use_cpu to it"),
           false);
  }

  // Without a launcher the script takes the devices that it sees.
  void see_devices() {
    if (choice_.kind == AskedDevice::kCpu) return;
    if (choice_.kind == AskedDevice::kTpu) {
      if (const auto cores = count_in(typed_.value("tpu_num_cores").value_or(""))) {
        take_count(*cores);
      } else if (said_) {
        take_count(*said_);
      } else if (counts_each_device() && batch_depends()) {
        refuse_unknown_count(cat(": ", script_->name, " takes all cores of the TPU"));
      }
      return;
    }
    const std::optional<int64_t> visible = count_in(launch_.visible);
    const ScriptDevices devices = script_ == nullptr ? ScriptDevices::kOne : script_->devices;
    if (said_ && devices != ScriptDevices::kOne) return take_count(*said_);
    if (devices == ScriptDevices::kOne) {
      if (choice_.kind == AskedDevice::kGpu && script_ != nullptr) take_count(1);
      if (said_) take_count(1);
      return;
    }
    if (visible) return take_count(*visible);
    if (!batch_depends()) return;
    if (devices == ScriptDevices::kAll) {
      refuse_unknown_count(cat(": ", script_->name, " takes all devices of the machine"));
    } else if (choice_.kind == AskedDevice::kGpu) {
      refuse_unknown_count(cat(": ", script_->name, " takes all GPUs that it sees"));
    }
  }

  // berth trains on the devices of one machine, or on the CPUs of several.
  void check_machines() {
    if (choice_.machines == 1) return;
    if (choice_.kind != AskedDevice::kCpu) {
      remark("the number of machines",
             cat("is ", choice_.machines,
                 ", and berth trains on the GPUs or TPUs of one; give that one as many devices, or "
                 "train on the CPUs of several with --world-size"),
             true);
      choice_.count.reset();
      return;
    }
    remark("--world-size",
           "needs a --rank for each machine, from 0, or a variable such as RANK says it", false);
  }

  const Launch& launch_;
  const TrainingScript* script_;
  const TypedCommand& typed_;
  const std::optional<int64_t> said_;
  TrainingDevices choice_;
};

bool names_device(const OwnCommand& own) {
  return own.has("device") || own.has("tpu") || own.has("num-gpus") ||
         own.value("distribution-strategy").value_or("") == "tpu";
}

}  // namespace

TrainingDevices choose_devices(const Launch& launch, const TrainingScript* script,
                               const TypedCommand& typed, std::optional<int64_t> said) {
  return DeviceFinder(launch, script, typed, said).find();
}

void name_devices(const TrainingDevices& choice, OwnCommand& own) {
  if (!names_device(own)) {
    if (choice.kind == AskedDevice::kCpu) own.set("device", "cpu");
    if (choice.kind == AskedDevice::kGpu) own.set("device", "gpu");
    if (choice.kind == AskedDevice::kTpu) own.set("device", "tpu");
  }
  const bool is_cpu = own.value("device").value_or("") == "cpu";
  if (choice.count && !is_cpu && !own.has("devices") && !own.has("num-gpus")) {
    if (*choice.count > 1 || own.has("device")) own.set("devices", std::to_string(*choice.count));
  }
  if (is_cpu && choice.machines > 1 && !own.has("world-size")) {
    own.set("world-size", std::to_string(choice.machines));
  }
}

}  // namespace berth
