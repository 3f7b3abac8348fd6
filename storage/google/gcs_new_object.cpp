#include "storage/google/gcs_new_object.h"

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr const char* kMark = "berth-upload";  // name of the custom metadata field
constexpr const char* kPermission = "storage.objects.create (and .delete, to replace)";

}  // namespace

GcsNewObject::GcsNewObject(GcsRequests& requests, const Uri& uri, Generation if_generation)
    : requests_(requests), uri_(uri), if_generation_(if_generation), mark_(random_letters(24)) {}

std::string GcsNewObject::precondition() const { return cat("ifGenerationMatch=", if_generation_); }

std::string GcsNewObject::metadata(std::optional<uint32_t> crc) const {
  Json resource = {{"name", uri_.path()},
                   {"contentType", "application/octet-stream"},
                   {"cacheControl", "no-store"},
                   {"metadata", {{kMark, mark_}}}};
  if (crc) resource["crc32c"] = gcs_crc(*crc);
  return to_text(resource);
}

Stat GcsNewObject::published(const HttpAnswer& answer) const {
  if (answer.ok()) return parse_gcs_object(answer.body, uri_);
  const std::optional<Stat> found = answer.status == 412 ? find() : std::nullopt;
  if (!found) fail(answer);
  return *found;
}

std::optional<Stat> GcsNewObject::find() const {
  const HttpAnswer answer = requests_.send({.url = requests_.object(uri_)});
  if (!answer.ok()) {
    if (answer.status != 404) fail(answer);
    return std::nullopt;
  }
  const Json object = parse_json(answer.body);
  const Json::json_pointer mark(cat("/metadata/", kMark));
  if (!object.contains(mark) || object.at(mark) != mark_) return std::nullopt;
  return parse_gcs_object(answer.body, uri_);
}

void GcsNewObject::fail(const HttpAnswer& answer) const {
  const bool damaged =
      answer.status == 400 && lower_ascii(answer.body).find("crc32c") != std::string::npos;
  if (damaged)
    throw UploadLost(uri_.to_string());  // the server refused bytes that were damaged on their way
  throw gcs_error(answer.status, answer.headers, answer.body, uri_, kPermission);
}

Stat GcsNewObject::intact(Stat published, uint64_t size, uint32_t crc) const {
  if (published.size == size && published.crc32c.value_or(crc) == crc) {
    published.crc32c = crc;
    return published;
  }
  requests_.send({.method = "DELETE",
                  .url = cat(requests_.object(uri_), "?ifGenerationMatch=", published.generation)});
  throw UploadLost(uri_.to_string());
}

}  // namespace berth
