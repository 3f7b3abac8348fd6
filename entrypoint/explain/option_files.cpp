#include "entrypoint/explain/option_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "entrypoint/explain/launch_prefix.h"
#include "entrypoint/explain/yaml.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Members of a JSON object are looked up one by one, so that large files would take long.
constexpr size_t kLargestOptions = size_t{256} << 10;

bool is_options_name(std::string_view word) {
  return word.ends_with(".json") || word.ends_with(".yaml") || word.ends_with(".yml");
}

class OptionFiles {
 public:
  OptionFiles(const ReadFile& read_file, Launch& launch) : read_file_(read_file), launch_(launch) {}

  void read() {
    read_arguments();
    read_accelerate();
    read_deepspeed();
  }

 private:
  std::optional<OrderedJson> options_in(const std::string& path) {
    return read_options(read_file_, path, launch_);
  }

  bool types(std::string_view name) const {
    return std::ranges::any_of(launch_.flags, [&](const std::string& word) {
      if (!word.starts_with("--")) return false;
      std::string typed = word.substr(2, word.find('=') - 2);
      std::ranges::replace(typed, '-', '_');
      return typed == name;
    });
  }

  void add_flag(const std::string& name, const std::string& value) {
    if (!types(name)) launch_.add_flag(name, value);
  }

  // HfArgumentParser takes a file of arguments where it is the only word.
  void read_arguments() {
    if (launch_.flags.size() != 1 || !is_options_name(launch_.flags[0]) || !read_file_) return;
    const std::string path = launch_.flags[0];
    if (!read_file_(path)) return;
    const std::optional<OrderedJson> options = options_in(path);
    launch_.flags.clear();
    if (!options) return;
    for (const auto& [name, value] : options->items()) {
      if (value.is_null()) continue;
      launch_.add_flag(name, option_text(value));
    }
  }

  void read_accelerate() {
    if (launch_.config_file.empty()) return;
    const std::optional<OrderedJson> config = options_in(launch_.config_file);
    if (!config) return;
    const auto text = [&](const char* key) {
      return config->contains(key) ? option_text(config->at(key)) : std::string();
    };
    if (launch_.processes.empty()) {
      launch_.processes = text("num_processes");
      launch_.counts_all = true;
    }
    if (launch_.machines.empty() && text("num_machines") != "1") {
      launch_.machines = text("num_machines");
    }
    if (launch_.precision.empty()) launch_.precision = text("mixed_precision");
    if (launch_.precision == "false") launch_.precision = "no";  // YAML's no
    if (launch_.device == AskedDevice::kNotSaid) {
      const std::string kind = text("distributed_type");
      const bool is_cpu = lower_ascii(text("use_cpu")) == "true" || kind == "MULTI_CPU";
      if (is_cpu) {
        launch_.device = AskedDevice::kCpu;
      } else if (kind == "TPU" || kind == "XLA") {
        launch_.device = AskedDevice::kTpu;
      } else if (kind == "MULTI_GPU" || kind == "DEEPSPEED" || kind == "FSDP") {
        launch_.device = AskedDevice::kGpu;
      } else if (!kind.empty() && kind != "NO" && kind != "no" && kind != "false") {
        launch_.refuse("distributed_type", cat("is ", quoted(kind),
                                               ", and berth trains on CPUs, TPUs and GPUs of "
                                               "NVIDIA"));
      }
    }
    if (config->contains("deepspeed_config")) take_plugin(config->at("deepspeed_config"));
  }

  // DeepSpeed as accelerate's file sets it.
  void take_plugin(const OrderedJson& plugin) {
    if (!plugin.is_object()) return;
    for (const auto& [name, value] : plugin.items()) {
      const std::string text = option_text(value);
      if (text == "auto" || text == "none" || value.is_null()) continue;
      if (name == "gradient_accumulation_steps" && text != "1") add_flag(name, text);
      if (name == "gradient_clipping") add_flag("max_grad_norm", text);
      if (name == "deepspeed_config_file") {
        if (const auto config = options_in(text)) take_deepspeed(*config);
      }
    }
  }

  void read_deepspeed() {
    for (auto flag = launch_.flags.begin(); flag != launch_.flags.end(); ++flag) {
      if (!flag->starts_with("--deepspeed")) continue;
      const size_t equals = flag->find('=');
      const bool has_value = equals == std::string::npos && flag + 1 != launch_.flags.end();
      const std::string path = equals != std::string::npos ? flag->substr(equals + 1)
                               : has_value                 ? *(flag + 1)
                                                           : "";
      if (!is_options_name(path)) return;
      launch_.flags.erase(flag, flag + (has_value ? 2 : 1));
      if (const auto config = options_in(path)) take_deepspeed(*config);
      return;
    }
  }

  void take_deepspeed(const OrderedJson& config) {
    for (const auto& [name, value] : config.items()) {
      const std::string text = value.is_structured() ? "" : option_text(value);
      if (text == "auto") continue;
      if (name == "train_micro_batch_size_per_gpu") add_flag("per_device_train_batch_size", text);
      if (name == "gradient_accumulation_steps") add_flag(name, text);
      if (name == "gradient_clipping") add_flag("max_grad_norm", text);
      if (name == "train_batch_size" && !config.contains("train_micro_batch_size_per_gpu")) {
        add_flag("train_batch_size", text);
      }
      if (value.is_object() && value.contains("enabled") &&
          (name == "fp16" || name == "bf16" || name == "bfloat16") &&
          option_text(value.at("enabled")) == "true") {
        launch_.precision = "fp16";
      }
      if (name == "optimizer" && value.is_object()) take_optimizer(value);
      if (name == "scheduler" && value.is_object()) take_scheduler(value);
    }
  }

  static const OrderedJson& parameters_of(const OrderedJson& section) {
    static const OrderedJson none = OrderedJson::object();
    const bool has = section.contains("params") && section.at("params").is_object();
    return has ? section.at("params") : none;
  }

  void take_optimizer(const OrderedJson& section) {
    const std::string type =
        section.contains("type") ? lower_ascii(option_text(section.at("type"))) : "";
    if (type == "lamb") {
      add_flag("optim", "lamb");
    } else if (type != "adam" && type != "adamw") {
      launch_.refuse("optimizer", cat("is ", quoted(type), " there; berth has adamw and lamb"));
    }
    for (const auto& [name, value] : parameters_of(section).items()) {
      const std::string text = option_text(value);
      if (text == "auto") continue;
      if (name == "lr") add_flag("learning_rate", text);
      if (name == "eps") add_flag("adam_epsilon", text);
      if (name == "weight_decay") add_flag("weight_decay", text);
      if (name == "betas" && value.is_array() && value.size() == 2) {
        add_flag("adam_beta1", option_text(value[0]));
        add_flag("adam_beta2", option_text(value[1]));
      }
    }
  }

  void take_scheduler(const OrderedJson& section) {
    const std::string type = section.contains("type") ? option_text(section.at("type")) : "";
    if (type == "WarmupLR") {
      add_flag("lr_scheduler_type", "constant_with_warmup");
    } else if (type != "WarmupDecayLR") {
      return launch_.refuse("scheduler",
                            cat("is ", quoted(type), " there, which berth does not have"));
    }
    const OrderedJson& parameters = parameters_of(section);
    std::string steps, shape = "log";
    for (const auto& [name, value] : parameters.items()) {
      const std::string text = option_text(value);
      if (name == "warmup_type") shape = text;
      if (text == "auto") continue;
      if (name == "warmup_num_steps") steps = text;
      if (name == "warmup_max_lr") add_flag("learning_rate", text);
    }
    if (!steps.empty()) add_flag("warmup_steps", steps);
    const bool warms_up = !steps.empty() || types("warmup_steps") || types("warmup_ratio");
    if (warms_up && steps != "0" && shape != "linear") {
      launch_.refuse("scheduler",
                     "has a warm-up that follows a logarithm, as DeepSpeed's does by default; "
                     "berth's is linear, as with \"warmup_type\": \"linear\"");
    }
  }

  const ReadFile& read_file_;
  Launch& launch_;
};

}  // namespace

std::string option_text(const OrderedJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "none";
  if (!value.is_array()) return to_text(value);
  std::string text;
  for (const OrderedJson& item : value) text += (text.empty() ? "" : ",") + option_text(item);
  return text;
}

OrderedJson parse_options(const std::string& path, const std::string& text) {
  OrderedJson options;
  if (text.size() > kLargestOptions) {
    throw Error(Code::kUsage, "a file of options is larger than 256 KiB", path,
                "write them as flags");
  }
  if (path.ends_with(".json")) {
    options = parse_ordered_json(text);
  } else {
    std::vector<OrderedJson> documents = parse_yaml(text);
    if (documents.size() == 1) options = std::move(documents[0]);
  }
  if (!options.is_object()) {
    throw Error(Code::kUsage, "the file does not hold one mapping of options", path,
                "write them as flags");
  }
  return options;
}

std::optional<OrderedJson> read_options(const ReadFile& read_file, const std::string& path,
                                        Launch& launch) {
  const std::optional<std::string> text = read_file ? read_file(path) : std::nullopt;
  if (!text) {
    launch.refuse(path,
                  "is not a file here, and its options change the job; run berth explain where "
                  "the file is, or write them into the line");
    return std::nullopt;
  }
  try {
    return parse_options(path, *text);
  } catch (const Error& error) {
    launch.refuse(path, cat("is not read: ", error.what()));
    return std::nullopt;
  }
}

void read_option_files(const ReadFile& read_file, Launch& launch) {
  OptionFiles(read_file, launch).read();
}

}  // namespace berth
