#include "storage/base/error.h"

#include <cstddef>
#include <iterator>

namespace berth {
namespace {

struct CodeRow {
  int exit_code;
  std::string_view reason;
};

// In the order of Code.
constexpr CodeRow kCodes[] = {
    {1, "internal"},     {2, "usage"},         {3, "bad_data"},     {3, "corrupt"},
    {4, "not_found"},    {4, "not_permitted"}, {5, "incompatible"}, {6, "in_use"},
    {10, "unavailable"}, {10, "no_space"},     {11, "peer_lost"},   {12, "hung"},
    {13, "diverged"},    {14, "memory"},       {143, "stopped"},
};
static_assert(std::size(kCodes) == static_cast<size_t>(Code::kStopped) + 1);

const CodeRow& row_of(Code code) { return kCodes[static_cast<size_t>(code)]; }

std::string sentence(const std::string& what, const std::string& where, const std::string& hint) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

}  // namespace

int exit_code(Code code) { return row_of(code).exit_code; }

std::string_view reason(Code code) { return row_of(code).reason; }

Error::Error(Code code, const std::string& what, const std::string& where, const std::string& hint)
    : std::runtime_error(sentence(what, where, hint)),
      code_(code),
      problem_(what),
      where_(where),
      hint_(hint) {}

Error Error::at(const std::string& prefix) const {
  return Error(code_, problem_, where_.empty() ? prefix : prefix + ": " + where_, hint_)
      .after(pause_s_);
}

Error Error::in(const std::string& file) const {
  return where_.starts_with(file) ? *this : at(file);
}

Error Error::after(double pause_s) const {
  Error later = *this;
  later.pause_s_ = pause_s;
  return later;
}

}  // namespace berth
