#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/base/json.h"
#include "storage/base/known_keys.h"
#include "trainer/model/functions.h"

namespace berth {

// Reads values of one JSON object, which it borrows, and checks each for its type and range. A key
// that is null counts as absent. Throws kUsage, naming the key, where a value does not fit or has
// neither a value nor a fallback.
class ConfigReader {
 public:
  explicit ConfigReader(const Json& object) : object_(object) {}
  explicit ConfigReader(Json&&) = delete;  // a temporary, also one that was converted

  int64_t integer(const char* key, int64_t low, int64_t high,
                  std::optional<int64_t> fallback = std::nullopt) const;
  std::optional<double> number(const char* key, double low, double high) const;
  std::string text(const char* key, const std::string& fallback) const;
  bool flag(const char* key, bool fallback) const;
  Activation activation(const char* key, const char* fallback) const;
  // The value as JSON text, of any type; "" where it is absent.
  std::string json(const char* key) const;
  // All keys.
  const Json& object() const { return object_; }

 private:
  const Json* find(const char* key) const;

  const Json& object_;
};

// Throws kUsage with the message '"key" what'.
[[noreturn]] void refuse_key(const std::string& key, const std::string& what);

// The activation's name in config.json: "gelu", "gelu_new", "relu", "tanh", "silu".
std::string_view activation_name(Activation activation);

// The keys of config.json, of all architectures. docs/models.md has the table for people.
std::span<const KnownKey> config_keys();

}  // namespace berth
