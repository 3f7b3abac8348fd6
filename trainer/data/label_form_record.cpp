#include "trainer/data/label_form_record.h"

#include <nlohmann/json.hpp>

namespace berth {
namespace {

constexpr uint64_t kMostPositions = 1'000'000;

std::string text_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_true(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && *found == true;
}

}  // namespace

OrderedJson to_json(const LabelForm& form) {
  OrderedJson object = OrderedJson::object();
  if (form.lists == LabelLists::kNames) object["lists"] = "names";
  if (form.lists == LabelLists::kMultiHot) object["lists"] = "multi-hot";
  if (!form.separators.empty()) object["separators"] = form.separators;
  if (form.positions > 0) object["positions"] = form.positions;
  const auto& [decimal, thousands, unit] = form.numbers;
  if (decimal != '.') object["decimal"] = std::string(1, decimal);
  if (thousands != '\0') object["thousands"] = std::string(1, thousands);
  if (!unit.empty()) object["unit"] = unit;
  if (form.blank_is_zero) object["blank_is_zero"] = true;
  if (form.minus_one_is_missing) object["minus_one_is_missing"] = true;
  if (form.dash_is_missing) object["dash_is_missing"] = true;
  return object;
}

std::optional<LabelForm> label_form_of(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  LabelForm form{.separators = text_member(object, "separators"),
                 .blank_is_zero = is_true(object, "blank_is_zero"),
                 .minus_one_is_missing = is_true(object, "minus_one_is_missing"),
                 .dash_is_missing = is_true(object, "dash_is_missing"),
                 .is_settled = true};
  const std::string lists = text_member(object, "lists"), decimal = text_member(object, "decimal"),
                    thousands = text_member(object, "thousands");
  if (lists == "names") form.lists = LabelLists::kNames;
  if (lists == "multi-hot") form.lists = LabelLists::kMultiHot;
  if (decimal.size() == 1) form.numbers.decimal = decimal[0];
  if (thousands.size() == 1) form.numbers.thousands = thousands[0];
  form.numbers.unit = text_member(object, "unit");
  const auto positions = object.find("positions");
  if (positions != object.end() && positions->is_number_unsigned()) {
    const auto count = positions->get<uint64_t>();
    if (count > kMostPositions) return std::nullopt;
    form.positions = count;
  }
  return form;
}

}  // namespace berth
