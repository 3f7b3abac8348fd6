#include "storage/base/error.h"

namespace berth {
namespace {

std::string sentence(const std::string& what, const std::string& where, const std::string& hint) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

}  // namespace

int exit_code(Code code) {
  switch (code) {
    case Code::kInternal:
      return 1;
    case Code::kUsage:
      return 2;
    case Code::kBadData:
    case Code::kCorrupt:
      return 3;
    case Code::kNotFound:
    case Code::kNotPermitted:
      return 4;
    case Code::kIncompatible:
      return 5;
    case Code::kInUse:
      return 6;
    case Code::kUnavailable:
    case Code::kNoSpace:
      return 10;
    case Code::kPeerLost:
      return 11;
    case Code::kHung:
      return 12;
    case Code::kDiverged:
      return 13;
    case Code::kMemory:
      return 14;
    case Code::kStopped:
      return 143;
  }
  return 1;
}

std::string_view reason(Code code) {
  switch (code) {
    case Code::kInternal:
      return "internal";
    case Code::kUsage:
      return "usage";
    case Code::kBadData:
      return "bad_data";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kNotFound:
      return "not_found";
    case Code::kNotPermitted:
      return "not_permitted";
    case Code::kIncompatible:
      return "incompatible";
    case Code::kInUse:
      return "in_use";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kNoSpace:
      return "no_space";
    case Code::kPeerLost:
      return "peer_lost";
    case Code::kHung:
      return "hung";
    case Code::kDiverged:
      return "diverged";
    case Code::kMemory:
      return "memory";
    case Code::kStopped:
      return "stopped";
  }
  return "internal";
}

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
