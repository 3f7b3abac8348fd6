#include "tests/support/fake_gcs_uploads.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "tests/support/fake_gcs_answers.h"

namespace berth {
namespace {

constexpr uint64_t kChunkUnit = uint64_t{256} << 10;

GcsRefusal invalid(const std::string& message) { return {400, "invalid", message}; }

// The CRC-32C in "x-goog-hash: crc32c=AAAAAA==,md5=...".
std::optional<std::string> hash_header(const ServedRequest& request) {
  const std::string text = request.header("x-goog-hash").value_or("");
  const size_t at = text.find("crc32c=");
  if (at == std::string::npos) return std::nullopt;
  return text.substr(at + 7, text.find(',', at) - at - 7);
}

void check_crc(uint32_t crc, const std::optional<std::string>& given) {
  const std::string calculated = crc32c_base64(crc);
  if (given && *given != calculated) {
    throw invalid(cat("Provided CRC32C \"", *given, "\" doesn't match calculated CRC32C \"",
                      calculated, "\"."));
  }
}

void damage(std::string& bytes, size_t from, const GcsFault& fault) {
  const size_t size = bytes.size() - from;
  if (fault.damage_upload && size > 0) bytes[from + *fault.damage_upload % size] ^= 0x10;
}

struct Multipart {
  std::string json;
  SharedBytes content;
};

// --B CRLF fields CRLF CRLF json CRLF --B CRLF fields CRLF CRLF content CRLF --B--
Multipart multipart_of(const ServedRequest& request) {
  const std::string type = request.header("Content-Type").value_or("");
  const size_t at = type.find("boundary=");
  std::string boundary = at == std::string::npos ? "" : type.substr(at + 9);
  boundary = boundary.substr(0, boundary.find(';'));
  std::erase(boundary, '"');
  std::erase(boundary, '\'');
  const std::string_view body = request.body.view();
  const std::string delimiter = "\r\n--" + boundary;
  const size_t first = body.find("\r\n\r\n");
  const size_t middle = body.find(delimiter, first);
  const size_t second = body.find("\r\n\r\n", middle);
  const size_t last = body.rfind(delimiter + "--");
  if (boundary.empty() || !body.starts_with("--" + boundary) || first == std::string_view::npos ||
      middle == std::string_view::npos || second == std::string_view::npos ||
      last == std::string_view::npos || last < second + 4) {
    throw GcsRefusal{400, "badContent", "Malformed multipart body."};
  }
  return {std::string(body.substr(first + 4, middle - first - 4)),
          request.body.part(second + 4, last - second - 4)};
}

// "bytes 0-9/20", "bytes 0-9/*", "bytes */20", "bytes */*".
struct ContentRange {
  std::optional<uint64_t> first;
  uint64_t end = 0;  // one past the last byte
  std::optional<uint64_t> total;
};

ContentRange content_range_of(const ServedRequest& request) {
  const auto text = request.header("Content-Range");
  if (!text) return {0, request.body.size(), request.body.size()};
  ContentRange range;
  unsigned long long first = 0, last = 0, total = 0;
  if (std::sscanf(text->c_str(), "bytes %llu-%llu/%llu", &first, &last, &total) == 3) {
    range = {first, last + 1, total};
  } else if (std::sscanf(text->c_str(), "bytes %llu-%llu", &first, &last) == 2 &&
             text->ends_with("/*")) {
    range = {first, last + 1, std::nullopt};
  } else if (std::sscanf(text->c_str(), "bytes */%llu", &total) == 1) {
    range.total = total;
  } else if (*text != "bytes */*") {
    throw invalid("Failed to parse Content-Range header.");
  }
  return range;
}

GcsRefusal gone(int status) {
  return {status, status == 410 ? "gone" : "notFound", "The upload session is gone."};
}

}  // namespace

GcsIntent intent_of(const std::string& bucket, const ServedRequest& request,
                    std::string_view json) {
  GcsIntent intent{.object = {.bucket = bucket}, .conditions = GcsConditions::of(request)};
  FakeObject& object = intent.object;
  const auto resource = parse_json(json.empty() ? "{}" : json);
  if (!resource.is_object()) throw invalid("Parse Error");
  object.name = request.parameter("name").value_or(resource.value("name", ""));
  if (object.name.empty()) throw GcsRefusal{400, "required", "Required parameter: name"};
  object.content_type = resource.value("contentType", "application/octet-stream");
  object.content_encoding =
      request.parameter("contentEncoding").value_or(resource.value("contentEncoding", ""));
  if (resource.contains("metadata")) resource.at("metadata").get_to(object.metadata);
  if (resource.contains("crc32c")) intent.crc32c = resource.at("crc32c").get<std::string>();
  return intent;
}

ServedAnswer upload_at_once(FakeObjects& objects, const std::string& bucket,
                            const ServedRequest& request, const GcsFault& fault) {
  const bool is_multipart = request.parameter("uploadType") == "multipart";
  Multipart parts = is_multipart ? multipart_of(request) : Multipart{"", request.body};
  GcsIntent intent = intent_of(bucket, request, parts.json);
  if (fault.damage_upload) {
    std::string bytes(parts.content.view());
    damage(bytes, 0, fault);
    parts.content = std::move(bytes);
  }
  intent.object.crc32c = crc32c(as_bytes(parts.content.view()));
  check_crc(intent.object.crc32c, intent.crc32c);
  check_crc(intent.object.crc32c, hash_header(request));
  intent.object.content = std::make_shared<FakeContent>(parts.content);
  return json_answer(object_json(objects.put(std::move(intent.object), intent.conditions)));
}

ServedAnswer FakeSessions::start(const std::string& bucket, const ServedRequest& request) {
  GcsIntent intent = intent_of(bucket, request, request.body.view());
  objects_.check(bucket, intent.object.name, intent.conditions);
  const auto session = std::make_shared<Session>();
  if (const auto type = request.header("X-Upload-Content-Type")) intent.object.content_type = *type;
  if (const auto size = request.header("X-Upload-Content-Length")) {
    session->total = std::stoull(*size);
  }
  session->intent = std::move(intent);
  const std::lock_guard lock(mutex_);
  const std::string id = cat("SECRET-upload-", request.number);
  sessions_[id] = session;
  const std::string host = request.header("Host").value_or("");
  ServedAnswer answer;
  answer.headers = {{"Location", cat("http://", host, request.target, "&upload_id=", id)},
                    {"X-GUploader-UploadID", id}};
  return answer;
}

std::shared_ptr<FakeSessions::Session> FakeSessions::find(const ServedRequest& request) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(request.parameter("upload_id").value_or(""));
  if (found == sessions_.end()) throw gone(404);
  return found->second;
}

void FakeSessions::keep(Session& session, std::string_view content, const GcsFault& fault) {
  const size_t before = session.bytes.size();
  objects_.memory().make_room(session.bytes, before + content.size());
  session.bytes.append(content);
  damage(session.bytes, before, fault);
  session.crc = crc32c(as_bytes(std::string_view(session.bytes).substr(before)), session.crc);
}

ServedAnswer FakeSessions::put(const ServedRequest& request, const GcsFault& fault) {
  const auto session = find(request);
  const std::lock_guard lock(session->mutex);
  if (session->lost != 0) throw gone(session->lost);
  if (session->finished) return json_answer(*session->finished);
  const ContentRange range = content_range_of(request);
  if (range.total && session->total && *range.total != *session->total) {
    throw invalid("The upload's total size must not change.");
  }
  if (range.total) session->total = range.total;
  if (!range.first) return answer(*session, request);

  const uint64_t stored = session->bytes.size();
  if (range.end <= *range.first ||
      (request.complete && range.end - *range.first != request.body.size())) {
    throw invalid("Content-Range and the size of the body do not agree.");
  }
  if (*range.first > stored) {
    return {.status = 503,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
            .body = cat(
                "Invalid request.  According to the Content-Range header, the upload offset is ",
                *range.first, " byte(s), which exceeds already uploaded size of ", stored,
                " byte(s).")};
  }
  const bool is_last = range.total && range.end == *range.total;
  if (range.total && range.end > *range.total) throw invalid("Too many bytes.");
  if (!is_last && (range.end - *range.first) % kChunkUnit != 0) {
    throw invalid("The size of a chunk that is not the last must be a multiple of 256 KiB.");
  }
  uint64_t arrived = request.body.size();
  if (fault.keep) arrived = std::min(arrived, *fault.keep / kChunkUnit * kChunkUnit);
  if (!request.complete) arrived = arrived / kChunkUnit * kChunkUnit;
  const uint64_t known = stored - *range.first;  // bytes that are stored already are skipped
  if (arrived > known) {
    keep(*session, request.body.view().substr(known, arrived - known), fault);
  }
  return answer(*session, request);
}

// Answers 308 with the stored range, or the object once all bytes are stored. Requires the
// session's mutex.
ServedAnswer FakeSessions::answer(Session& session, const ServedRequest& request) {
  const uint64_t stored = session.bytes.size();
  if (stored != session.total) {
    ServedAnswer answer{.status = 308};
    if (stored > 0) answer.headers.emplace_back("Range", cat("bytes=0-", stored - 1));
    return answer;
  }
  GcsIntent& intent = session.intent;
  try {
    check_crc(session.crc, intent.crc32c);
    check_crc(session.crc, hash_header(request));
    intent.object.crc32c = session.crc;
    intent.object.content =
        std::make_shared<FakeContent>(objects_.memory().share(std::move(session.bytes)));
    session.finished = object_json(objects_.put(std::move(intent.object), intent.conditions));
  } catch (const GcsRefusal&) {
    session.lost = 410;
    throw;
  }
  return json_answer(*session.finished);
}

ServedAnswer FakeSessions::cancel(const ServedRequest& request) {
  const auto session = find(request);
  const std::lock_guard lock(session->mutex);
  if (session->lost != 0) throw gone(session->lost);
  session->lost = 410;
  return {.status = 499};
}

void FakeSessions::lose(const std::string& id, int status) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const std::lock_guard of_session(found->second->mutex);
  found->second->lost = status;
}

void FakeSessions::lose_all(int status) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_) {
    const std::lock_guard of_session(session->mutex);
    session->lost = status;
  }
}

size_t FakeSessions::open() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [](const auto& entry) {
        const std::lock_guard of_session(entry.second->mutex);
        return entry.second->lost == 0 && !entry.second->finished;
      }));
}

}  // namespace berth
