#pragma once

#include <cstddef>

namespace berth {

// Tracks how deeply a JSON text is nested, character by character, from its brackets, braces and
// strings. Accepts any bytes: a bracket that closes nothing is ignored.
class JsonNesting {
 public:
  void add(char next) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (in_string_) {
      is_escaped_ = next == '\\';
      in_string_ = next != '"';
    } else if (next == '"') {
      in_string_ = true;
    } else if (next == '[' || next == '{') {
      ++depth_;
    } else if ((next == ']' || next == '}') && depth_ > 0) {
      --depth_;
    }
  }

  // The objects and arrays that are open.
  size_t depth() const { return depth_; }
  bool in_string() const { return in_string_; }

 private:
  size_t depth_ = 0;
  bool in_string_ = false, is_escaped_ = false;
};

}  // namespace berth
