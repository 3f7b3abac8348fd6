#include "storage/base/error.h"
#include "storage/google/gcs_requests.h"

// Reads the input as each kind of answer of Google Cloud Storage: an object's JSON, the body of an
// error, and a checksum.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const berth::Uri uri = berth::Uri::parse("gs://bucket/object");
  const std::string_view text = berth::as_text(std::as_bytes(std::span(data, size)));
  try {
    berth::parse_gcs_object(text, uri);
  } catch (const berth::Error&) {
  }
  berth::gcs_error(403, {}, text, uri, "storage.objects.get");
  const auto crc = berth::parse_gcs_crc(text);
  if (crc && berth::gcs_crc(*crc) != text && text.size() != 8) __builtin_trap();
  return 0;
}
