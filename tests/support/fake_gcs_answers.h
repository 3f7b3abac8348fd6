#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/fake_gcs_objects.h"
#include "tests/support/http_server.h"

namespace berth {

std::string base64_text(std::string_view bytes);
std::string crc32c_base64(uint32_t crc);  // of its 4 bytes in big-endian order

// {"error": {"code", "message", "errors": [{"domain", "reason", "message"}]}}
ServedAnswer json_refusal(const GcsRefusal& refusal);

// Downloads are refused with the message as plain text.
ServedAnswer text_refusal(const GcsRefusal& refusal);

ServedAnswer json_answer(std::string json);

// The object's resource (kind storage#object) as JSON.
std::string object_json(const FakeObject& object);

// The object's bytes, or the part that the request's Range asks for. They are decompressed if the
// object is stored with Content-Encoding gzip and the request does not accept that.
// `ignore_range`: answers 200 with all bytes.
ServedAnswer download_answer(const FakeObject& object, const ServedRequest& request,
                             bool ignore_range);

}  // namespace berth
