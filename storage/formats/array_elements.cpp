#include <vector>

#include "storage/base/error.h"
#include "storage/base/json_nesting.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/json_texts.h"
#include "storage/formats/text_form.h"
#include "storage/formats/text_lines.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

class ArrayElements final : public JsonTexts {
 public:
  explicit ArrayElements(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  bool next(std::string_view& text) override {
    if (at_end_) return false;
    if (number_ == 0) {
      skip_blanks();
      if (take() != '[') fail("does not begin with a bracket");
    }
    skip_blanks();
    if (number_ == 0 && peek() == ']') {
      ++place_;
      require_end();
      return false;
    }
    element_.clear();
    const char after = read_element();
    ++number_;
    text = std::string_view(element_).substr(0, element_.find_last_not_of(kJsonBlanks) + 1);
    if (text.empty()) {
      throw Error(Code::kBadData, "is empty", position(),
                  "one comma stands between two elements, and none before the closing bracket");
    }
    if (const auto bad = find_invalid_utf8(text)) {
      throw Error(Code::kBadData, cat("byte ", *bad + 1, " is not UTF-8"), position(),
                  kOfEncodings);
    }
    if (after == ']') require_end();
    return true;
  }

  std::string position() const override { return cat("element ", number_); }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kCorrupt, what, cat("behind element ", number_), kFetchAgain);
  }

  // Behind the array nothing may stand.
  void require_end() {
    at_end_ = true;
    while (fill()) {
      if (kJsonBlanks.find(buffer_[place_]) == std::string_view::npos) {
        throw Error(Code::kBadData, "something follows the array", cat("behind element ", number_),
                    "a file holds one array, or an object in each line");
      }
      ++place_;
    }
  }

  bool fill() {
    if (place_ < filled_) return true;
    place_ = 0;
    filled_ = source_->read(std::as_writable_bytes(std::span(buffer_)));
    return filled_ > 0;
  }
  char peek() {
    if (!fill()) fail("the array does not end");
    return buffer_[place_];
  }
  char take() {
    const char taken = peek();
    ++place_;
    return taken;
  }
  void skip_blanks() {
    while (kJsonBlanks.find(peek()) != std::string_view::npos) ++place_;
  }

  // Reads an element to the comma or the bracket behind it, and returns that.
  char read_element() {
    JsonNesting nesting;
    while (true) {
      const char next = take();
      const bool is_between = nesting.depth() == 0 && !nesting.in_string();
      if (is_between && (next == ',' || next == ']')) return next;
      nesting.add(next);
      element_ += next;
      if (element_.size() > TextLines::kLimitBytes) {
        throw Error(Code::kBadData, cat("is longer than ", human_bytes(TextLines::kLimitBytes)),
                    cat("element ", number_ + 1));
      }
    }
  }

  const std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_ = std::vector<char>(size_t{1} << 16);
  size_t place_ = 0, filled_ = 0;
  std::string element_;
  uint64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace

std::unique_ptr<JsonTexts> make_array_elements(std::unique_ptr<ByteSource> source) {
  return std::make_unique<ArrayElements>(std::move(source));
}

}  // namespace berth
