#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/storage.h"

namespace berth {

// Objects that can only be read, by the texts of their URIs.
class ObjectsInMemory final : public Storage {
 public:
  explicit ObjectsInMemory(std::map<std::string, std::string> objects)
      : objects_(std::move(objects)) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions&) override {
    const auto found = objects_.find(uri.to_string());
    if (found == objects_.end()) {
      throw Error(Code::kNotFound, "no such file", uri.to_string());
    }
    return std::make_unique<MemorySource>(as_bytes(found->second));
  }
  std::optional<Stat> stat(const Uri& uri) override {
    const auto found = objects_.find(uri.to_string());
    if (found == objects_.end()) return std::nullopt;
    return Stat{.name = found->first, .size = found->second.size()};
  }
  std::vector<Stat> list(const Uri& prefix, size_t) override {
    std::vector<Stat> found;
    for (const auto& [name, content] : objects_) {
      if (!name.starts_with(prefix.to_string() + "/")) continue;
      found.push_back({.name = name, .size = content.size()});
    }
    return found;
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions&) override { refuse(uri); }
  void remove(const Uri& uri, std::optional<Generation>) override { refuse(uri); }

 private:
  [[noreturn]] static void refuse(const Uri& uri) {
    throw Error(Code::kNotPermitted, "is read-only", uri.to_string());
  }

  const std::map<std::string, std::string> objects_;
};

}  // namespace berth
