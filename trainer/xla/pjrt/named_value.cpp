#include "trainer/xla/pjrt/named_value.h"

#include <algorithm>
#include <sstream>

#include "trainer/xla/pjrt/api.h"

namespace berth {
namespace {

// The value in C++, or false for a kind that is not known here.
bool read_value(const PJRT_NamedValue& from, PjrtValue& to) {
  switch (from.type) {
    case PJRT_NamedValue_kString:
      to = std::string(from.string_value, from.value_size);
      return true;
    case PJRT_NamedValue_kInt64:
      to = from.int64_value;
      return true;
    case PJRT_NamedValue_kInt64List:
      to = std::vector<int64_t>(from.int64_array_value, from.int64_array_value + from.value_size);
      return true;
    case PJRT_NamedValue_kFloat:
      to = from.float_value;
      return true;
    case PJRT_NamedValue_kBool:
      to = from.bool_value;
      return true;
    default:
      return false;
  }
}

struct ForPlugin {
  PJRT_NamedValue& to;

  void operator()(const std::string& value) const {
    to.type = PJRT_NamedValue_kString;
    to.string_value = value.data();
    to.value_size = value.size();
  }
  void operator()(int64_t value) const {
    to.type = PJRT_NamedValue_kInt64;
    to.int64_value = value;
  }
  void operator()(const std::vector<int64_t>& value) const {
    to.type = PJRT_NamedValue_kInt64List;
    to.int64_array_value = value.data();
    to.value_size = value.size();
  }
  void operator()(float value) const {
    to.type = PJRT_NamedValue_kFloat;
    to.float_value = value;
  }
  void operator()(bool value) const {
    to.type = PJRT_NamedValue_kBool;
    to.bool_value = value;
  }
};

struct ToStream {
  std::ostream& out;

  void operator()(bool value) const { out << (value ? "true" : "false"); }
  void operator()(const std::vector<int64_t>& value) const {
    out << '[';
    for (size_t i = 0; i < value.size(); ++i) out << (i == 0 ? "" : ",") << value[i];
    out << ']';
  }
  template <typename T>
  void operator()(const T& value) const {
    out << value;
  }
};

}  // namespace

std::string to_text(const PjrtNamedValue& named) {
  std::ostringstream out;
  out << named.name << '=';
  std::visit(ToStream{out}, named.value);
  return out.str();
}

std::vector<PjrtNamedValue> from_plugin(const PJRT_NamedValue* values, size_t count) {
  std::vector<PjrtNamedValue> result;
  if (values == nullptr) return result;
  // A newer plugin's elements may be longer than this program's: the first one's size tells.
  constexpr size_t kAlignment = alignof(PJRT_NamedValue);
  const size_t stated = count == 0 ? 0 : values->struct_size;
  const size_t stride =
      std::max(sizeof(PJRT_NamedValue), (stated + kAlignment - 1) / kAlignment * kAlignment);
  const auto* bytes = reinterpret_cast<const std::byte*>(values);
  for (size_t i = 0; i < count; ++i) {
    const auto& from = *reinterpret_cast<const PJRT_NamedValue*>(bytes + i * stride);
    PjrtNamedValue named{std::string(from.name, from.name_size), int64_t{0}};
    if (read_value(from, named.value)) result.push_back(std::move(named));
  }
  return result;
}

std::vector<PJRT_NamedValue> for_plugin(const std::vector<PjrtNamedValue>& values) {
  std::vector<PJRT_NamedValue> result;
  result.reserve(values.size());
  for (const PjrtNamedValue& named : values) {
    auto to = pjrt_args<PJRT_NamedValue>(PJRT_NamedValue_STRUCT_SIZE);
    to.name = named.name.data();
    to.name_size = named.name.size();
    to.value_size = 1;
    std::visit(ForPlugin{to}, named.value);
    result.push_back(to);
  }
  return result;
}

}  // namespace berth
