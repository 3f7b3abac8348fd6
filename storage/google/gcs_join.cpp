#include "storage/google/gcs_join.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/gcs_new_object.h"

namespace berth {
namespace {

class GcsJoin final : public ByteSink {
 public:
  GcsJoin(GcsRequests& requests, const Uri& uri, std::vector<Stat> parts, Generation if_generation)
      : object_(requests, uri, if_generation), parts_(std::move(parts)) {
    for (const Stat& part : parts_) {
      size_ += part.size;
      crc_ = crc32c_combine(crc_, part.crc32c.value(), part.size);
    }
  }

  void write(Bytes bytes) override {
    if (bytes.empty()) return;
    throw Error(Code::kInternal, "bytes for an object that is joined from others",
                object_.uri().to_string());
  }

  Stat close() override {
    const std::string body = to_text(recipe());
    const HttpAnswer answer = object_.requests().send(
        {.method = "POST",
         .url = cat(object_.requests().object(object_.uri()), "/compose?", object_.precondition()),
         .headers = {{"Content-Type", "application/json; charset=UTF-8"}},
         .body = {as_bytes(body)}});
    return object_.intact(published(answer), size_, crc_);
  }

 private:
  Json recipe() const {
    Json sources = Json::array();
    for (const Stat& part : parts_) {
      sources.push_back({{"name", Uri::parse(part.name).path()},
                         {"generation", std::to_string(part.generation)}});
    }
    return {{"sourceObjects", sources},
            {"destination", parse_json(object_.metadata())},
            {"deleteSourceObjects", true}};
  }

  Stat published(const HttpAnswer& answer) const {
    if (answer.status != 404) return object_.published(answer);
    // An earlier attempt may have joined the parts, which also removed them.
    if (const std::optional<Stat> found = object_.find()) return *found;
    throw UploadLost(object_.uri().to_string());
  }

  const GcsNewObject object_;
  const std::vector<Stat> parts_;
  uint64_t size_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSink> make_gcs_join(GcsRequests& requests, const Uri& uri,
                                        std::vector<Stat> parts, Generation if_generation) {
  return std::make_unique<GcsJoin>(requests, uri, std::move(parts), if_generation);
}

}  // namespace berth
