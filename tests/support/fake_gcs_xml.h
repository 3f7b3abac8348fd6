#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "tests/support/fake_gcs_objects.h"
#include "tests/support/http_server.h"

namespace berth {

// Multipart uploads of the XML API, which google-cloud-storage's transfer manager uses:
// POST ?uploads, PUT ?partNumber=N&uploadId=ID, POST ?uploadId=ID. Thread-safe.
class FakeXmlUploads {
 public:
  explicit FakeXmlUploads(FakeObjects& objects) : objects_(objects) {}

  ServedAnswer answer(const std::string& bucket, const std::string& name,
                      const ServedRequest& request);

 private:
  struct Part {
    std::shared_ptr<FakeContent> content;
    uint32_t crc;
  };

  ServedAnswer finish(const std::string& bucket, const std::string& name, const std::string& id);

  FakeObjects& objects_;
  std::mutex mutex_;
  std::map<std::string, std::map<uint64_t, Part>> uploads_;  // by id and number
};

}  // namespace berth
