#include "trainer/xla/pjrt/api.h"

#include <algorithm>
#include <string_view>

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

}  // namespace

std::string PjrtApi::version() const {
  return std::to_string(table_->pjrt_api_version.major_version) + "." +
         std::to_string(table_->pjrt_api_version.minor_version);
}

void PjrtApi::discard(PJRT_Error* error) const noexcept {
  if (error == nullptr) return;
  auto args = PJRT_ARGS(Error_Destroy);
  args.error = error;
  table_->PJRT_Error_Destroy(&args);
}

Error PjrtApi::error_of(PJRT_Error* error, const std::string& function) const {
  auto text = PJRT_ARGS(Error_Message);
  text.error = error;
  table_->PJRT_Error_Message(&text);
  const std::string message =
      text.message == nullptr ? "" : std::string(text.message, text.message_size);

  auto number = PJRT_ARGS(Error_GetCode);
  number.error = error;
  number.code = PJRT_Error_Code_UNKNOWN;
  if (has(&PJRT_Api::PJRT_Error_GetCode)) discard(table_->PJRT_Error_GetCode(&number));
  discard(error);

  const Code code = code_of(number.code, message);
  return Error(code, function + " failed: " + one_line(message), plugin_, hint_of(code));
}

void PjrtApi::throw_missing(const std::string& function) const {
  throw Error(Code::kUsage, "the plugin has PJRT " + version() + ", which lacks " + function,
              plugin_, hint_of(Code::kUsage));
}

}  // namespace berth
