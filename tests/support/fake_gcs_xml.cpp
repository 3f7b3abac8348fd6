#include "tests/support/fake_gcs_xml.h"

#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/base/text.h"
#include "tests/support/fake_gcs_answers.h"

namespace berth {
namespace {

ServedAnswer xml_answer(const std::string& element, const std::string& content) {
  return {.headers = {{"Content-Type", "application/xml"}},
          .body = cat("<?xml version='1.0' encoding='UTF-8'?><", element,
                      " xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>", content, "</", element,
                      ">")};
}

}  // namespace

ServedAnswer FakeXmlUploads::answer(const std::string& bucket, const std::string& name,
                                    const ServedRequest& request) {
  objects_.check_bucket(bucket);
  const std::string id = request.parameter("uploadId").value_or("");
  if (request.method == "POST" && request.parameter("uploads")) {
    const std::string fresh = cat("xml-", request.number);
    const std::lock_guard lock(mutex_);
    uploads_[fresh];
    return xml_answer(
        "InitiateMultipartUploadResult",
        cat("<Bucket>", bucket, "</Bucket><Key>", name, "</Key><UploadId>", fresh, "</UploadId>"));
  }
  if (request.method == "PUT" && request.parameter("partNumber")) {
    Part part{std::make_shared<FakeContent>(request.body), crc32c(as_bytes(request.body.view()))};
    const std::string hash = "crc32c=" + crc32c_base64(part.crc);
    const std::lock_guard lock(mutex_);
    const auto upload = uploads_.find(id);
    if (upload == uploads_.end()) throw GcsRefusal{404, "notFound", "NoSuchUpload"};
    upload->second[std::stoull(*request.parameter("partNumber"))] = std::move(part);
    ServedAnswer answer;
    answer.headers = {{"ETag", cat("\"", request.number, "\"")}, {"x-goog-hash", hash}};
    return answer;
  }
  if (request.method == "POST") return finish(bucket, name, id);
  if (request.method == "DELETE") {
    const std::lock_guard lock(mutex_);
    uploads_.erase(id);
    return {.status = 204};
  }
  throw GcsRefusal{404, "notFound", "Not Found"};
}

ServedAnswer FakeXmlUploads::finish(const std::string& bucket, const std::string& name,
                                    const std::string& id) {
  std::map<uint64_t, Part> parts;
  {
    const std::lock_guard lock(mutex_);
    const auto upload = uploads_.find(id);
    if (upload == uploads_.end()) throw GcsRefusal{404, "notFound", "NoSuchUpload"};
    parts = std::move(upload->second);
    uploads_.erase(upload);
  }
  FakeObject object{.bucket = bucket, .name = name};
  std::vector<std::shared_ptr<FakeContent>> contents;
  for (const auto& [number, part] : parts) {
    object.crc32c = crc32c_combine(object.crc32c, part.crc, part.content->size());
    contents.push_back(part.content);
  }
  object.content = FakeContent::joined(contents);
  object = objects_.put(std::move(object), {});
  ServedAnswer answer = xml_answer("CompleteMultipartUploadResult", cat("<Key>", name, "</Key>"));
  answer.headers.emplace_back("x-goog-hash", "crc32c=" + crc32c_base64(object.crc32c));
  return answer;
}

}  // namespace berth
