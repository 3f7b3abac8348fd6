#include "storage/formats/shard_index.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"

namespace berth {
namespace {

bool is_plain_name(std::string_view name) {
  constexpr size_t kLongest = 255;
  return !name.empty() && name.size() <= kLongest && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ';
         });
}

// The parser calls these functions in document order. It builds no tree and does not recurse.
// Everything except "weight_map" is skipped.
class IndexHandler final : public nlohmann::json_sax<Json> {
 public:
  ShardIndex index;
  bool has_map = false;

  bool start_object(size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (has_map) fail("weight_map", "appears twice");
      has_map = in_map_ = true;
    } else if (depth_ != 0) {
      value();
    }
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }
  bool start_array(size_t) override {
    value();
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool string(std::string& file) override {
    if (!in_map_) return value();
    const std::string where = cat("tensor ", quoted(key_));
    if (!is_plain_name(file)) {
      fail(where, cat("its file ", quoted(file), " is not the name of a file beside the index"));
    }
    if (!index.file_of.emplace(key_, file).second) fail(where, "appears twice in the index");
    return true;
  }
  bool number_unsigned(uint64_t) override { return value(); }
  bool number_integer(int64_t) override { return value(); }
  bool number_float(double, const std::string&) override { return value(); }
  bool boolean(bool) override { return value(); }
  bool null() override { return value(); }
  bool binary(Json::binary_t&) override { return value(); }
  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    fail(cat("byte ", position == 0 ? 0 : position - 1), "the index is not JSON");
  }

 private:
  [[noreturn]] static void fail(const std::string& where, const std::string& what) {
    throw Error(Code::kCorrupt, what, where, kFetchAgain);
  }
  // Handles a value that is not a string within weight_map.
  bool value() const {
    if (in_map_)
      fail(cat("tensor ", quoted(key_)), "is mapped to something other than a file name");
    if (depth_ == 0) fail("byte 0", "the index is not an object");
    if (depth_ == 1 && key_ == "weight_map") fail("weight_map", "is not an object");
    return true;
  }

  int depth_ = 0;
  bool in_map_ = false;
  std::string key_;
};

}  // namespace

std::vector<std::string> ShardIndex::files() const {
  std::set<std::string> names;
  for (const auto& [tensor, file] : file_of) names.insert(file);
  return {names.begin(), names.end()};
}

ShardIndex parse_shard_index(std::string_view json) {
  // The parser would take a zero byte for the end of the text.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos) {
    throw Error(Code::kCorrupt, "a zero byte in the index", cat("byte ", zero), kFetchAgain);
  }
  IndexHandler handler;
  Json::sax_parse(json.begin(), json.end(), &handler);
  if (handler.index.file_of.empty()) {
    throw Error(Code::kCorrupt,
                handler.has_map ? "its weight_map is empty" : "it has no weight_map", "",
                kFetchAgain);
  }
  return std::move(handler.index);
}

JoinedTensors::JoinedTensors(const ShardIndex& index, std::vector<Shard> shards)
    : shards_(std::move(shards)) {
  std::unordered_map<std::string_view, const Shard*> shard_of;
  for (const Shard& shard : shards_) {
    for (const NamedTensor& tensor : shard.tensors->tensors()) {
      const auto [known, is_new] = shard_of.emplace(tensor.name, &shard);
      if (!is_new) {
        throw Error(Code::kCorrupt,
                    cat("is in ", quoted(known->second->file), " and in ", quoted(shard.file)),
                    cat("tensor ", quoted(tensor.name)), kFetchAgain);
      }
      tensors_.push_back(tensor);
    }
  }
  for (const auto& [tensor, file] : index.file_of) {
    const auto found = shard_of.find(tensor);
    if (found == shard_of.end() || found->second->file != file) {
      throw Error(Code::kCorrupt,
                  cat("is not in ", quoted(file), ", where the index places it",
                      found == shard_of.end() ? "" : cat(", but in ", quoted(found->second->file))),
                  cat("tensor ", quoted(tensor)), kFetchAgain);
    }
  }
}

}  // namespace berth
