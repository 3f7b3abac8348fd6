#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

// A view of bytes whose memory is shared. Request bodies and objects share memory instead of
// copying it.
class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::string text)  // NOLINT: implicit, since most bodies are texts
      : SharedBytes(std::make_shared<const std::string>(std::move(text))) {}
  SharedBytes(const char* text) : SharedBytes(std::string(text)) {}
  explicit SharedBytes(std::shared_ptr<const std::string> whole)
      : whole_(std::move(whole)), view_(*whole_) {}

  SharedBytes part(size_t offset, size_t size) const {
    SharedBytes part = *this;
    part.view_ = view_.substr(offset, size);
    return part;
  }

  std::string_view view() const { return view_; }
  size_t size() const { return view_.size(); }

 private:
  std::shared_ptr<const std::string> whole_;
  std::string_view view_;  // the shared part of whole_
};

}  // namespace berth
