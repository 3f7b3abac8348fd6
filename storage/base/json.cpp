#include "storage/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace berth {
namespace {

template <typename Value>
Value parse_bounded(std::string_view text,
                    const typename Value::parser_callback_t& keeps = nullptr) {
  if (nesting_depth(text) > kDeepestJson) return Value(Value::value_t::discarded);
  return Value::parse(text.begin(), text.end(), keeps, /*allow_exceptions=*/false);
}

}  // namespace

Json parse_json(std::string_view text) { return parse_bounded<Json>(text); }

OrderedJson parse_ordered_json(std::string_view text) { return parse_bounded<OrderedJson>(text); }

OrderedJson parse_ordered_json(std::string_view text,
                               std::initializer_list<std::string_view> emptied) {
  bool empties = false;  // what stands under the outermost object's current name
  return parse_bounded<OrderedJson>(
      text, [&](int depth, OrderedJson::parse_event_t event, OrderedJson& parsed) {
        if (event != OrderedJson::parse_event_t::key) return true;
        if (depth == 1) {
          empties = std::ranges::find(emptied, parsed.get<std::string>()) != emptied.end();
        }
        return depth == 1 || !empties;
      });
}

std::string to_text(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string to_ascii_text(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string to_text(const OrderedJson& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, OrderedJson::error_handler_t::replace);
}

JsonObject::JsonObject(const Json* object, Refuse refuse)
    : object_(object != nullptr && object->is_object() ? object : nullptr),
      refuse_(std::move(refuse)) {}

const Json* JsonObject::find(const std::string& name) const {
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonObject::accept(bool fits, const std::string& name, const char* problem) const {
  if (!fits && refuse_) refuse_(name, problem);
  return fits;
}

const Json* JsonObject::object(const std::string& name) const {
  const Json* value = find(name);
  return value && accept(value->is_object(), name, "is not an object") ? value : nullptr;
}

const Json* JsonObject::list(const std::string& name) const {
  const Json* value = find(name);
  return value && accept(value->is_array(), name, "is not a list") ? value : nullptr;
}

std::optional<std::string> JsonObject::text(const std::string& name) const {
  const Json* value = find(name);
  if (!value || !accept(value->is_string(), name, "is not text")) return std::nullopt;
  return value->get<std::string>();
}

std::optional<int64_t> JsonObject::integer(const std::string& name) const {
  const Json* value = find(name);
  const auto fits = [&] {
    return value->is_number_integer() &&
           (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  };
  if (!value || !accept(fits(), name, "is not an integer")) return std::nullopt;
  return value->get<int64_t>();
}

std::optional<uint64_t> JsonObject::count(const std::string& name) const {
  const Json* value = find(name);
  if (!value || !accept(value->is_number_unsigned(), name, "is not a whole number of 0 or more")) {
    return std::nullopt;
  }
  return value->get<uint64_t>();
}

std::optional<double> JsonObject::number(const std::string& name) const {
  const Json* value = find(name);
  if (!value || !accept(value->is_number(), name, "is not a number")) return std::nullopt;
  return value->get<double>();
}

std::optional<bool> JsonObject::flag(const std::string& name) const {
  const Json* value = find(name);
  if (!value || !accept(value->is_boolean(), name, "is not true or false")) return std::nullopt;
  return value->get<bool>();
}

const Json& JsonObject::values(const std::string& name) const {
  static const Json kNone = Json::array();
  const Json* value = list(name);
  return value != nullptr ? *value : kNone;
}

std::map<std::string, double> JsonObject::all_numbers() const {
  std::map<std::string, double> found;
  if (object_ == nullptr) return found;
  for (const auto& [name, value] : object_->items()) {
    if (value.is_number()) found[name] = value.get<double>();
  }
  return found;
}

std::map<std::string, std::string, std::less<>> JsonObject::all_texts() const {
  std::map<std::string, std::string, std::less<>> found;
  if (object_ == nullptr) return found;
  for (const auto& [name, value] : object_->items()) {
    if (value.is_string()) found[name] = value.get<std::string>();
  }
  return found;
}

size_t nesting_depth(std::string_view json) {
  JsonNesting nesting;
  size_t deepest = 0;
  for (const char next : json) {
    nesting.add(next);
    deepest = std::max(deepest, nesting.depth());
  }
  return deepest;
}

}  // namespace berth
