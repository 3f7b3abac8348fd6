#include "trainer/weights/adapters.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/converted_tensors.h"
#include "trainer/model/config_keys.h"
#include "trainer/model/part_names.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

constexpr std::string_view kPrefix = "base_model.model.";

bool is_in_file(const ParameterSpec& spec) { return spec.is_adapter || spec.is_head; }

bool is_of_numbers(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF64;
}

// All modules with a weight, any of which PEFT might take as a target.
std::vector<std::string> weighted_modules(const ModelConfig& config) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<std::string> names;
  for (const ParameterSpec& spec : parameter_table(config)) {
    if (spec.name.ends_with(kWeight)) {
      names.push_back(spec.name.substr(0, spec.name.size() - kWeight.size()));
    }
  }
  return names;
}

std::set<std::string> adapted_modules(const ModelConfig& config, const LoraOptions& lora) {
  std::set<std::string> names;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (LoraTarget& target : lora_targets(config, lora, layer)) {
      names.insert(std::move(target.name));
    }
  }
  return names;
}

// The shortest end of a module's name that no module has that is not adapted. For
// "bert.encoder.layer.0.attention.self.query" it is "query". "dense" is too short if the model has
// a pooler.
std::string target_name(const std::string& module, const std::vector<std::string>& modules,
                        const std::set<std::string>& adapted) {
  for (size_t dot = module.rfind('.'); dot != std::string::npos && dot > 0;
       dot = module.rfind('.', dot - 1)) {
    const std::string end = module.substr(dot + 1);
    const auto is_other = [&](const std::string& each) {
      return is_target_module(each, end) && adapted.count(each) == 0;
    };
    if (std::none_of(modules.begin(), modules.end(), is_other)) return end;
  }
  return module;
}

// The fewest names that cover all adapted modules, in the order of a layer's parts.
std::vector<std::string> target_modules(const ModelConfig& config, const LoraOptions& lora) {
  const std::vector<std::string> modules = weighted_modules(config);
  const std::set<std::string> adapted = adapted_modules(config, lora);
  std::vector<std::string> names;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (const LoraTarget& target : lora_targets(config, lora, layer)) {
      std::string name = target_name(target.name, modules, adapted);
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

// The modules of the head. PEFT finds them by the ends of their names and wraps each as a whole.
std::vector<std::string> head_modules(const ModelConfig& config) {
  const std::string base = base_prefix(config);
  std::vector<std::string> modules;
  for (const ParameterSpec& spec : parameter_table(config)) {
    if (!spec.is_head) continue;
    const std::string name =
        spec.name.starts_with(base) ? spec.name.substr(base.size()) : spec.name;
    const std::string module = name.substr(0, name.find('.'));
    if (modules.empty() || modules.back() != module) modules.push_back(module);
  }
  return modules;
}

// The task_type. PEFT chooses its wrapper by it, such as PeftModelForSequenceClassification.
OrderedJson task_type(Task task) {
  const std::string_view type = traits(task).peft_type;
  return type.empty() ? OrderedJson() : OrderedJson(type);
}

// Refuses variants of LoRA and adapters on other parts, because the model would silently be a
// different one.
void check_supported(const ConfigReader& read, const Json& object) {
  const std::string type = read.text("peft_type", "");
  if (type != "LORA") refuse_key("peft_type", "is " + quoted(type) + "; only LORA is supported");
  if (read.text("bias", "none") != "none") refuse_key("bias", "is not none");
  for (const char* key : {"use_rslora", "use_dora", "fan_in_fan_out"}) {
    if (read.flag(key, false)) refuse_key(key, "is true, which is not supported");
  }
  for (const char* key : {"layers_to_transform", "rank_pattern", "alpha_pattern"}) {
    const auto found = object.find(key);
    if (found != object.end() && !found->is_null() && !found->empty()) {
      refuse_key(key, "is set: berth adapts every layer alike");
    }
  }
}

// LoraOptions::target_modules for a list of names. The list may name only dense layers of encoder
// layers.
std::string named_targets(const ModelConfig& config, const Json& object) {
  const auto found = object.find("target_modules");
  std::string list;
  if (found == object.end() || !found->is_array() || found->empty()) {
    refuse_key("target_modules", "is not a list of names");
  }
  for (const Json& name : *found) {
    if (!name.is_string()) refuse_key("target_modules", "holds something other than names");
    list += (list.empty() ? "" : ",") + name.get<std::string>();
  }
  std::set<std::string> adapted;
  try {
    adapted = adapted_modules(config, {.rank = 1, .target_modules = list});
  } catch (const Error& error) {
    refuse_key("target_modules", error.problem());
  }
  for (const std::string& module : weighted_modules(config)) {
    for (const Json& name : *found) {
      if (adapted.count(module) == 0 && is_target_module(module, name.get<std::string>())) {
        refuse_key("target_modules", cat("means ", module, ", too, which berth does not adapt"));
      }
    }
  }
  return list;
}

}  // namespace

std::string to_adapter_config_json(const ModelConfig& config, const LoraOptions& lora,
                                   std::string_view base_model) {
  OrderedJson object = {{"peft_type", "LORA"},
                        {"task_type", task_type(config.task)},
                        {"base_model_name_or_path", base_model},
                        {"r", lora.rank},
                        {"lora_alpha", lora.alpha},
                        {"lora_dropout", lora.dropout},
                        {"target_modules", target_modules(config, lora)},
                        {"modules_to_save", head_modules(config)},
                        {"bias", "none"},
                        {"fan_in_fan_out", false},
                        {"inference_mode", true},
                        {"init_lora_weights", true}};
  if (base_model.empty()) object["base_model_name_or_path"] = nullptr;
  return to_text(object, 2) + "\n";
}

LoraOptions parse_adapter_config(const ModelConfig& config, std::string_view json_text) {
  const Json object = parse_json(json_text);
  if (!object.is_object()) throw Error(Code::kCorrupt, "is not a JSON object");
  const ConfigReader read(object);
  check_supported(read, object);
  LoraOptions lora;
  lora.target_modules = named_targets(config, object);
  lora.rank = read.integer("r", 1, 1 << 16);
  lora.alpha = read.number("lora_alpha", 1e-6, 1e6).value_or(8);  // PEFT's default
  lora.dropout = read.number("lora_dropout", 0, 0.99).value_or(0);
  return lora;
}

void save_adapter(const ParameterTensors& values, DType dtype, ByteSink& sink) {
  std::vector<SavedTensor> tensors = saved_tensors(values, kPrefix);
  std::erase_if(tensors, [](const SavedTensor& tensor) { return !is_in_file(tensor.spec()); });
  write_tensors(sink, tensors, dtype, {{"format", "pt"}});
}

LoadReport load_adapter(const TensorReader& file, ParameterTensors& values) {
  LoadReport report;
  std::set<std::string> known;
  // Every adapter must be there. A head may be missing, and is new then.
  for (size_t i = 0; i < values.specs().size(); ++i) {
    const ParameterSpec& spec = values.specs()[i];
    if (!is_in_file(spec)) continue;
    const std::string name = cat(kPrefix, spec.name);
    known.insert(name);
    const NamedTensor* const found = file.find(name);
    if (found == nullptr) {
      if (spec.is_adapter) throw Error(Code::kBadData, "has no tensor " + quoted(name));
      report.missing.push_back(i);
    } else if (found->shape != spec.shape || !is_of_numbers(found->dtype)) {
      throw Error(Code::kBadData, "has a shape or a type that this model cannot use",
                  "tensor " + quoted(name));
    } else {
      NamedTensor source = *found;
      std::vector<std::byte> memory;
      source.data = file.read(*found, memory);
      values.write(i, 0, std::as_bytes(std::span<const float>(floats_of(source))));
    }
  }
  // And nothing else may be there.
  for (const NamedTensor& tensor : file.tensors()) {
    if (known.count(tensor.name) == 0) {
      throw Error(Code::kBadData,
                  cat("has a tensor ", quoted(tensor.name), ", which the model does not have"));
    }
  }
  return report;
}

namespace {

// w [N,K] += scale * b [N,R] a [R,K], in double.
void add_product(std::vector<float>& w, const std::vector<float>& a, const std::vector<float>& b,
                 int64_t rank, double scale) {
  const auto terms = static_cast<size_t>(rank);
  const size_t outputs = b.size() / terms, inputs = a.size() / terms;
  std::vector<double> row(inputs);
  for (size_t n = 0; n < outputs; ++n) {
    std::fill(row.begin(), row.end(), 0.0);
    for (size_t r = 0; r < terms; ++r) {
      const auto factor = static_cast<double>(b[n * terms + r]);
      for (size_t k = 0; k < inputs; ++k) row[k] += factor * static_cast<double>(a[r * inputs + k]);
    }
    for (size_t k = 0; k < inputs; ++k) {
      float& value = w[n * inputs + k];
      value = static_cast<float>(static_cast<double>(value) + scale * row[k]);
    }
  }
}

}  // namespace

void merge_adapters(const LoraOptions& lora, const ParameterTensors& adapted,
                    ParameterTensors& merged) {
  constexpr std::string_view kWeight = ".weight";
  std::map<std::string_view, size_t> index_of;
  for (size_t i = 0; i < adapted.specs().size(); ++i) index_of[adapted.specs()[i].name] = i;
  // Each matrix W that has an adapter becomes W + scale B A.
  for (size_t i = 0; i < merged.specs().size(); ++i) {
    const std::string& name = merged.specs()[i].name;
    std::vector<float> values = adapted.read(index_of.at(name));
    const std::string target = name.substr(0, name.size() - kWeight.size());
    const auto a = index_of.find(lora_a_name(target));
    if (name.ends_with(kWeight) && a != index_of.end()) {
      add_product(values, adapted.read(a->second), adapted.read(index_of.at(lora_b_name(target))),
                  lora.rank, static_cast<double>(lora.scale()));
    }
    merged.write(i, 0, std::as_bytes(std::span(values)));
  }
}

}  // namespace berth
