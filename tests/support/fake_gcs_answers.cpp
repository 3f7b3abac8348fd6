#include "tests/support/fake_gcs_answers.h"

#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct Range {
  uint64_t first, last;
};

// Parses "bytes=a-b", "bytes=a-" or "bytes=-n" for an object of `size` bytes. nullopt: the range is
// to be ignored. Throws a GcsRefusal with status 416 if the object has no byte of the range.
std::optional<Range> range_of(const ServedRequest& request, uint64_t size) {
  const std::string text = request.header("Range").value_or("");
  if (!text.starts_with("bytes=") || text.find(',') != std::string::npos) return std::nullopt;
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const std::string from = text.substr(6, dash - 6), to = text.substr(dash + 1);
  if (from.empty() && to.empty()) return std::nullopt;
  const uint64_t last = to.empty() || from.empty() ? size : std::stoull(to);
  const uint64_t first =
      from.empty() ? size - std::min<uint64_t>(size, std::stoull(to)) : std::stoull(from);
  if (last < first) return std::nullopt;
  if (first >= size) {
    throw GcsRefusal{416, "requestedRangeNotSatisfiable", "Request range not satisfiable"};
  }
  return Range{first, std::min(last, size - 1)};
}

// Empty if the bytes are not gzip.
std::optional<std::string> gunzipped(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  int result = Z_OK;
  while (result == Z_OK) {
    char piece[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof(piece);
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(piece, sizeof(piece) - stream.avail_out);
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END ? std::optional(text) : std::nullopt;
}

}  // namespace

std::string base64_text(std::string_view bytes) {
  static const char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t triple = 0;
    for (size_t j = i; j < i + 3; ++j) {
      triple = triple << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[triple >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

std::string crc32c_base64(uint32_t crc) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(crc >> shift & 0xFF);
  return base64_text(bytes);
}

ServedAnswer json_refusal(const GcsRefusal& refusal) {
  if (refusal.status == 304) return {.status = 304};
  const Json body = {
      {"error",
       {{"code", refusal.status},
        {"message", refusal.message},
        {"errors",
         {{{"domain", "global"}, {"reason", refusal.reason}, {"message", refusal.message}}}}}}};
  ServedAnswer answer = json_answer(to_text(body, 2));
  answer.status = refusal.status;
  return answer;
}

ServedAnswer text_refusal(const GcsRefusal& refusal) {
  return {.status = refusal.status,
          .headers = {{"Content-Type", "text/html; charset=UTF-8"}},
          .body = refusal.message};
}

ServedAnswer json_answer(std::string text) {
  return {.headers = {{"Content-Type", "application/json; charset=UTF-8"}},
          .body = std::move(text)};
}

std::string object_json(const FakeObject& object) {
  Json resource = {{"kind", "storage#object"},
                   {"id", cat(object.bucket, "/", object.name, "/", object.generation)},
                   {"name", object.name},
                   {"bucket", object.bucket},
                   {"generation", std::to_string(object.generation)},
                   {"metageneration", std::to_string(object.metageneration)},
                   {"contentType", object.content_type},
                   {"storageClass", "STANDARD"},
                   {"size", std::to_string(object.content->size())},
                   {"crc32c", crc32c_base64(object.crc32c)},
                   {"etag", base64_text(std::to_string(object.generation))},
                   {"timeCreated", object.updated},
                   {"updated", object.updated}};
  if (!object.content_encoding.empty()) resource["contentEncoding"] = object.content_encoding;
  if (!object.metadata.empty()) resource["metadata"] = object.metadata;
  return to_text(resource);
}

ServedAnswer download_answer(const FakeObject& object, const ServedRequest& request,
                             bool ignore_range) {
  const uint64_t size = object.content->size();
  ServedAnswer answer{
      .headers = {{"Content-Type", object.content_type},
                  {"x-goog-generation", std::to_string(object.generation)},
                  {"x-goog-metageneration", std::to_string(object.metageneration)},
                  {"x-goog-hash", "crc32c=" + crc32c_base64(object.crc32c)},
                  {"x-goog-storage-class", "STANDARD"},
                  {"x-goog-stored-content-encoding",
                   object.content_encoding.empty() ? "identity" : object.content_encoding},
                  {"x-goog-stored-content-length", std::to_string(size)},
                  {"x-guploader-uploadid", cat("fake-", request.number)}},
      .body = object.content->bytes()};
  if (object.content_encoding == "gzip") {
    const std::string accepted = lower_ascii(request.header("Accept-Encoding").value_or(""));
    auto text = accepted.find("gzip") == std::string::npos
                    ? gunzipped(object.content->bytes().view())
                    : std::nullopt;
    if (text) {
      answer.headers.emplace_back("x-guploader-response-body-transformations", "gunzipped");
      answer.headers.emplace_back("Warning", "214 UploadServer gunzipped");
      answer.body = std::move(*text);
      answer.chunked = true;
      return answer;
    }
    answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  if (ignore_range) return answer;
  try {
    if (const auto range = range_of(request, size)) {
      answer.status = 206;
      answer.headers.emplace_back("Content-Range",
                                  cat("bytes ", range->first, "-", range->last, "/", size));
      answer.body = object.content->bytes().part(range->first, range->last - range->first + 1);
    }
  } catch (const GcsRefusal& refusal) {
    answer = text_refusal(refusal);
    answer.headers.emplace_back("Content-Range", cat("bytes */", size));
  }
  return answer;
}

}  // namespace berth
