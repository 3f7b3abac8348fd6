#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/fake_gcs_objects.h"
#include "tests/support/http_server.h"

namespace berth {

std::string base64_text(std::string_view bytes);
std::string crc32c_base64(uint32_t crc);  // of its 4 bytes, the highest first

// {"error": {"code", "message", "errors": [{"domain", "reason", "message"}]}}
ServedAnswer json_refusal(const GcsRefusal& refusal);

// As a download is refused: the message as plain text.
ServedAnswer text_refusal(const GcsRefusal& refusal);

ServedAnswer json_answer(std::string json);

// The object's resource, of kind storage#object.
std::string object_json(const FakeObject& object);

// Its bytes or the part that the request's Range asks for; decompressed where it is stored with
// Content-Encoding gzip and the request does not accept that. `ignore_range`: a 200 with all.
ServedAnswer download_answer(const FakeObject& object, const ServedRequest& request,
                             bool ignore_range);

}  // namespace berth
