#include "trainer/xla/pjrt/api.h"

#include <array>
#include <string_view>
#include <utility>

#include "storage/base/text.h"

namespace berth {
namespace {

// A plugin's message on one line, because it becomes part of one sentence. Some carry a stack
// trace.
std::string one_line(std::string_view message) {
  constexpr size_t kLongest = 600;
  std::string line;
  for (const char c : message.substr(0, kLongest)) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (blank && (line.empty() || line.back() == ' ')) continue;
    line += blank ? ' ' : c;
  }
  if (message.size() > kLongest) line += "...";
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line.empty() ? "no message" : line;
}

Code code_of(PJRT_Error_Code code, std::string_view message) {
  // Some plugins wrap the failure of an allocation into an INTERNAL error.
  if (message.find("RESOURCE_EXHAUSTED") != message.npos) return Code::kMemory;
  switch (code) {
    case PJRT_Error_Code_RESOURCE_EXHAUSTED:
      return Code::kMemory;
    case PJRT_Error_Code_UNAVAILABLE:
    case PJRT_Error_Code_DEADLINE_EXCEEDED:
    case PJRT_Error_Code_ABORTED:
    case PJRT_Error_Code_CANCELLED:
      return Code::kUnavailable;
    case PJRT_Error_Code_PERMISSION_DENIED:
    case PJRT_Error_Code_UNAUTHENTICATED:
      return Code::kNotPermitted;
    case PJRT_Error_Code_UNIMPLEMENTED:
      return Code::kUsage;
    case PJRT_Error_Code_NOT_FOUND:
      return Code::kNotFound;
    case PJRT_Error_Code_DATA_LOSS:
      return Code::kCorrupt;
    default:
      return Code::kInternal;
  }
}

std::string hint_of(Code code) {
  switch (code) {
    case Code::kMemory:
      return "the device has too little free memory: take a smaller batch";
    case Code::kUsage:
      return "use a plugin that can do it";
    default:
      return "";
  }
}

// Calls a function that destroys something.
template <typename Args>
void destroy(const PJRT_Api* table, PJRT_Error* (*PJRT_Api::*function)(Args*), Args args) noexcept {
  if (pjrt_has(table, function)) pjrt_discard(table, (table->*function)(&args));
}

}  // namespace

#define BERTH_DESTROYS(Object, member)                                 \
  void PjrtDestroy::operator()(PJRT_##Object* member) const noexcept { \
    auto args = PJRT_ARGS(Object##_Destroy);                           \
    args.member = member;                                              \
    destroy(table, &PJRT_Api::PJRT_##Object##_Destroy, args);          \
  }
BERTH_DESTROYS(Buffer, buffer)
BERTH_DESTROYS(Client, client)
BERTH_DESTROYS(Event, event)
BERTH_DESTROYS(Executable, executable)
BERTH_DESTROYS(LoadedExecutable, executable)
#undef BERTH_DESTROYS

void pjrt_discard(const PJRT_Api* table, PJRT_Error* error) noexcept {
  if (error == nullptr) return;
  auto args = PJRT_ARGS(Error_Destroy);
  args.error = error;
  table->PJRT_Error_Destroy(&args);
}

void pjrt_throw(const PjrtPlugin& plugin, PJRT_Error* error, const char* function) {
  const PJRT_Api* const table = plugin.table();
  auto text = PJRT_ARGS(Error_Message);
  text.error = error;
  table->PJRT_Error_Message(&text);
  const std::string message =
      text.message == nullptr ? "" : std::string(text.message, text.message_size);

  auto number = PJRT_ARGS(Error_GetCode);
  number.error = error;
  number.code = PJRT_Error_Code_UNKNOWN;
  if (pjrt_has(table, &PJRT_Api::PJRT_Error_GetCode)) {
    pjrt_discard(table, table->PJRT_Error_GetCode(&number));
  }
  pjrt_discard(table, error);

  const Code code = code_of(number.code, message);
  throw Error(code, cat(function, " failed: ", one_line(message)), plugin.path(), hint_of(code));
}

void pjrt_throw_missing(const PjrtPlugin& plugin, const char* function) {
  throw Error(Code::kUsage,
              cat("the plugin has PJRT ", plugin.api_version(), ", which lacks ", function),
              plugin.path(), hint_of(Code::kUsage));
}

namespace {

constexpr std::array<std::pair<DType, PJRT_Buffer_Type>, 13> kTypes = {{
    {DType::kBool, PJRT_Buffer_Type_PRED},
    {DType::kU8, PJRT_Buffer_Type_U8},
    {DType::kI8, PJRT_Buffer_Type_S8},
    {DType::kI16, PJRT_Buffer_Type_S16},
    {DType::kU16, PJRT_Buffer_Type_U16},
    {DType::kI32, PJRT_Buffer_Type_S32},
    {DType::kU32, PJRT_Buffer_Type_U32},
    {DType::kI64, PJRT_Buffer_Type_S64},
    {DType::kU64, PJRT_Buffer_Type_U64},
    {DType::kF16, PJRT_Buffer_Type_F16},
    {DType::kBF16, PJRT_Buffer_Type_BF16},
    {DType::kF32, PJRT_Buffer_Type_F32},
    {DType::kF64, PJRT_Buffer_Type_F64},
}};

}  // namespace

PJRT_Buffer_Type element_type_of(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  return PJRT_Buffer_Type_INVALID;
}

std::optional<DType> dtype_of(PJRT_Buffer_Type type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  return std::nullopt;
}

}  // namespace berth
