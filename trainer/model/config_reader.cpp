#include "trainer/model/config_reader.h"

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct ActivationName {
  std::string_view name;
  Activation activation;
};
// The first name of each activation is the one that is written.
constexpr ActivationName kActivations[] = {
    {"gelu", Activation::kGelu},          {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},          {"tanh", Activation::kTanh},
    {"silu", Activation::kSilu},          {"swish", Activation::kSilu},
};

}  // namespace

void refuse_key(const std::string& key, const std::string& what) {
  throw Error(Code::kUsage, quoted(key) + " " + what);
}

std::string_view activation_name(Activation activation) {
  for (const ActivationName& known : kActivations) {
    if (known.activation == activation) return known.name;
  }
  return "";
}

const Json* ConfigReader::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

int64_t ConfigReader::integer(const char* key, int64_t low, int64_t high,
                              std::optional<int64_t> fallback) const {
  const Json* value = find(key);
  if (value == nullptr) {
    if (!fallback) refuse_key(key, "is missing");
    return *fallback;
  }
  if (!value->is_number_integer() || *value < low || *value > high) {
    refuse_key(key, cat("must be an integer from ", low, " to ", high, ", not ", to_text(*value)));
  }
  return value->get<int64_t>();
}

std::optional<double> ConfigReader::number(const char* key, double low, double high) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !(*value >= low) || !(*value <= high)) {
    refuse_key(key, cat("must be a number from ", low, " to ", high, ", not ", to_text(*value)));
  }
  return value->get<double>();
}

std::string ConfigReader::text(const char* key, const std::string& fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) refuse_key(key, "must be a string, not " + to_text(*value));
  return value->get<std::string>();
}

bool ConfigReader::flag(const char* key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse_key(key, "must be true or false, not " + to_text(*value));
  return value->get<bool>();
}

Activation ConfigReader::activation(const char* key, const char* fallback) const {
  const std::string name = text(key, fallback);
  for (const ActivationName& known : kActivations) {
    if (known.name == name) return known.activation;
  }
  refuse_key(key, "is " + quoted(name) + "; known are gelu, gelu_new, relu, tanh and silu");
}

std::string ConfigReader::json(const char* key) const {
  const Json* value = find(key);
  return value == nullptr ? "" : to_text(*value);
}

}  // namespace berth
