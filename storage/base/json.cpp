#include "storage/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace berth {
namespace {

template <typename Value>
Value parse_bounded(std::string_view text,
                    const typename Value::parser_callback_t& keeps = nullptr) {
  if (nesting_depth(text) > kDeepestJson) return Value(Value::value_t::discarded);
  return Value::parse(text.begin(), text.end(), keeps, /*allow_exceptions=*/false);
}

}  // namespace

size_t nesting_depth(std::string_view json) {
  JsonNesting nesting;
  size_t deepest = 0;
  for (const char next : json) {
    nesting.add(next);
    deepest = std::max(deepest, nesting.depth());
  }
  return deepest;
}

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

}  // namespace berth
