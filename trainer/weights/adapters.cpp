#include "trainer/weights/adapters.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/model/part_names.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

constexpr std::string_view kPrefix = "base_model.model.";

bool is_in_file(const ParameterSpec& spec) { return spec.is_adapter || spec.is_head; }

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

void save_adapter(const ParameterTensors& values, DType dtype, ByteSink& sink) {
  std::vector<SavedTensor> tensors = saved_tensors(values, kPrefix);
  std::erase_if(tensors, [](const SavedTensor& tensor) { return !is_in_file(tensor.spec()); });
  write_tensors(sink, tensors, dtype, {{"format", "pt"}});
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
