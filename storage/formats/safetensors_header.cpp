#include "storage/formats/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kHeaderStart = 8;      // in the file, after the u64 header size
constexpr size_t kMostDimensions = 64;  // PyTorch and NumPy have no more

std::optional<DType> dtype_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// The parser calls these functions in document order. It builds no tree and does not recurse.
//   depth 0 {  depth 1 "name": {  depth 2 "dtype": "F32", "shape": [  depth 3 2, 3 ], ... } }
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;

  bool start_object(size_t) override {
    if (depth_ == 1) {
      in_metadata_ = key_ == "__metadata__";
      if (!in_metadata_) header.entries.push_back({.name = key_, .shape = {}});
      seen_ = {};
    } else if (depth_ != 0) {
      fail("an unexpected object");
    }
    ++depth_;
    return true;
  }

  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_ && !(seen_.dtype && seen_.shape && seen_.offsets == 2)) {
      fail("lacks its dtype, shape or data_offsets");
    }
    return true;
  }

  bool key(std::string& name) override {
    if (depth_ == 1 && !names_.insert(name).second) {
      throw Error(Code::kCorrupt, "appears twice in the header", cat("tensor ", quoted(name)));
    }
    key_ = std::move(name);
    return true;
  }

  bool string(std::string& text) override {
    if (depth_ == 2 && in_metadata_) {
      if (!header.metadata.emplace(key_, text).second) fail("a metadata key that appears twice");
      return true;
    }
    if (depth_ != 2 || key_ != "dtype" || seen_.dtype) fail("an unexpected string");
    const std::optional<DType> dtype = dtype_of(text);
    if (!dtype) {
      throw Error(Code::kBadData, cat("elements of type ", quoted(text), " are not supported"),
                  where(), "convert the file to F32, BF16 or F16");
    }
    seen_.dtype = true;
    header.entries.back().dtype = *dtype;
    return true;
  }

  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_) fail("an unexpected list");
    bool& seen = key_ == "shape" ? seen_.shape : seen_.begun;
    if (seen || (key_ != "shape" && key_ != "data_offsets")) fail("an unexpected list");
    seen = true;
    ++depth_;
    return true;
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool number_unsigned(uint64_t number) override {
    if (depth_ != 3) fail("an unexpected number");
    SafetensorsEntry& entry = header.entries.back();
    if (key_ == "shape") {
      if (number > static_cast<uint64_t>(INT64_MAX)) fail("its shape overflows");
      if (entry.shape.size() == kMostDimensions)
        fail(cat("more than ", kMostDimensions, " dimensions"));
      entry.shape.push_back(static_cast<int64_t>(number));
    } else {
      if (seen_.offsets == 2) fail("more than two data_offsets");
      (seen_.offsets++ == 0 ? entry.begin : entry.end) = number;
    }
    return true;
  }

  bool number_integer(int64_t) override { fail("a negative number"); }
  bool number_float(double, const std::string&) override { fail("a fraction"); }
  bool boolean(bool) override { fail("a truth value"); }
  bool null() override { fail("a null"); }
  bool binary(Json::binary_t&) override { fail("binary data"); }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    throw Error(Code::kCorrupt, "the header is not JSON", cat("byte ", kHeaderStart + position - 1),
                "fetch the file again");
  }

 private:
  std::string where() const {
    return header.entries.empty() ? "header" : cat("tensor ", quoted(header.entries.back().name));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kCorrupt, what, where(), "fetch the file again");
  }

  struct Seen {
    bool dtype = false, shape = false, begun = false;  // begun: data_offsets
    int offsets = 0;
  };

  int depth_ = 0;
  bool in_metadata_ = false;
  Seen seen_;
  std::string key_;
  std::unordered_set<std::string> names_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json) {
  if (!json.starts_with('{')) {
    throw Error(Code::kCorrupt, "the header does not begin with {", cat("byte ", kHeaderStart),
                "check that it is a safetensors file");
  }
  // The parser would take a zero byte for the end of the text.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos) {
    throw Error(Code::kCorrupt, "a zero byte in the header", cat("byte ", kHeaderStart + zero),
                "fetch the file again");
  }
  HeaderHandler handler;
  Json::sax_parse(json.begin(), json.end(), &handler);
  return std::move(handler.header);
}

}  // namespace berth
