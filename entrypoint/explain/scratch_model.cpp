#include "entrypoint/explain/scratch_model.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {
namespace {

// The configuration in a folder, or in a repository of the hub.
std::string config_in(const std::string& place) {
  if (place.ends_with(".json")) return place;
  const bool is_folder = place.starts_with('.') || place.starts_with('/') ||
                         place.starts_with('~') || place.starts_with('$') ||
                         place.find("://") != std::string::npos;
  const bool is_alone = !is_folder && place.find('/') == std::string::npos;
  // A path may follow a name without an organisation behind its revision only.
  return cat(is_folder ? "" : "hf://", place, is_alone ? "@main" : "",
             place.ends_with('/') ? "" : "/", "config.json");
}

bool is_of_scratch(const Remark& remark) {
  return remark.refused && (remark.flag == "--model_type" || remark.flag == "--tokenizer_name");
}

std::string without_slash(std::string place) {
  while (place.size() > 1 && place.ends_with('/')) place.pop_back();
  return place;
}

}  // namespace

void name_configuration(const TypedCommand& typed, OwnCommand& own, std::vector<Remark>& remarks) {
  const std::optional<std::string> model = own.value("model");
  const std::optional<std::string> config = own.value("model-config");
  const bool is_name = std::ranges::any_of(typed.arguments(), [](const TypedArgument& argument) {
    return argument.typed == "--config_name" || argument.typed == "--config-name";
  });
  if (!is_name || !model || !config) return;
  if (without_slash(*config) != without_slash(*model)) {
    return own.set("model-config", config_in(*config));
  }
  own.remove("model-config");
  remarks.push_back({"--config_name", "has no effect: the configuration is the model's", false});
}

void name_scratch_model(const TypedCommand& typed, OwnCommand& own, std::vector<Remark>& remarks) {
  const std::optional<std::string> tokenizer = typed.value("tokenizer_name");
  if (own.has("model") || !tokenizer) return;
  const std::optional<std::string> config = own.value("model-config");
  std::erase_if(remarks, is_of_scratch);
  own.set("model", *tokenizer);
  own.set("init", "random");
  if (config && without_slash(*config) == without_slash(*tokenizer)) {
    own.remove("model-config");
    remarks.push_back({"--tokenizer_name",
                       "names the folder of tokenizer and config.json: --model with --init random "
                       "takes both from there, and no parameters",
                       false});
  } else if (config) {
    own.set("model-config", config_in(*config));
    remarks.push_back({"--tokenizer_name",
                       "names the tokenizer: --model takes it from there, and the sizes from "
                       "--model-config",
                       false});
  } else if (!typed.value("config_overrides")) {
    remarks.push_back({"--model_type",
                       "without --config_name takes the sizes that transformers has for this type: "
                       "write them into a config.json and name it with --model-config",
                       true});
  }
}

}  // namespace berth
