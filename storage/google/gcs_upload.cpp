#include "storage/google/gcs_upload.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kOneShot = uint64_t{8} << 20;
constexpr uint64_t kChunk = uint64_t{16} << 20;  // a multiple of 256 KiB, as the protocol wants
constexpr const char* kMark = "berth-upload";    // custom metadata: which upload made the object
constexpr const char* kBytes = "application/octet-stream";
constexpr const char* kPermission = "storage.objects.create (and .delete, to replace)";

// N + 1 of "bytes=0-N"; 0 where nothing is stored yet.
uint64_t stored_bytes(const HttpHeaders& headers) {
  const std::string range = headers.find("range").value_or("");
  const size_t dash = range.find('-');
  uint64_t last = 0;
  if (dash == std::string::npos) return 0;
  const char* const end = range.data() + range.size();
  return std::from_chars(range.data() + dash + 1, end, last).ec == std::errc() ? last + 1 : 0;
}

class GcsUpload final : public ByteSink {
 public:
  GcsUpload(GcsRequests& requests, const Uri& uri, const WriteOptions& options)
      : requests_(requests), uri_(uri), if_generation_(options.if_generation.value()) {}

  void write(Bytes bytes) override {
    crc_ = crc32c(bytes, crc_);
    total_ += bytes.size();
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    while (buffer_.size() > kChunk) send_chunk();
  }

  Stat close() override {
    if (session_.empty() && total_ <= kOneShot) {
      send_at_once();
    } else {
      while (!published_) send_chunk();
    }
    if (published_->size == total_ && published_->crc32c.value_or(crc_) == crc_) {
      published_->crc32c = crc_;
      return *published_;
    }
    requests_.send(
        {.method = "DELETE",
         .url = cat(requests_.object(uri_), "?ifGenerationMatch=", published_->generation)});
    throw UploadLost(uri_.to_string());
  }

 private:
  Json metadata() const {
    return {{"name", uri_.path()},
            {"contentType", kBytes},
            {"cacheControl", "no-store"},
            {"metadata", {{kMark, mark_}}}};
  }

  std::string new_object(const char* type) const {
    return cat(requests_.uploads(uri_), "?uploadType=", type,
               "&name=", percent_encoded(uri_.path()), "&ifGenerationMatch=", if_generation_);
  }

  [[noreturn]] void fail(const HttpAnswer& answer) const {
    const bool damaged =
        answer.status == 400 && lower_ascii(answer.body).find("crc32c") != std::string::npos;
    if (damaged) throw UploadLost(uri_.to_string());  // on its way: what was sent was refused
    throw gcs_error(answer.status, answer.headers, answer.body, uri_, kPermission);
  }

  void send_at_once() {
    Json about = metadata();
    about["crc32c"] = gcs_crc(crc_);
    const std::string boundary = "berth_" + mark_;
    const std::string head =
        cat("--", boundary, "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n",
            about.dump(), "\r\n--", boundary, "\r\nContent-Type: ", kBytes, "\r\n\r\n");
    const std::string tail = cat("\r\n--", boundary, "--\r\n");
    const HttpAnswer answer =
        requests_.send({.method = "POST",
                        .url = new_object("multipart"),
                        .headers = {{"Content-Type", "multipart/related; boundary=" + boundary}},
                        .body = {as_bytes(head), buffer_, as_bytes(tail)}});
    if (answer.status == 412) return find_own(answer);
    if (!answer.ok()) fail(answer);
    published_ = parse_gcs_object(answer.body, uri_);
  }

  // 412 may mean that an earlier try of this very upload arrived, and only its answer was lost.
  void find_own(const HttpAnswer& refusal) {
    const HttpAnswer answer = requests_.send({.url = requests_.object(uri_)});
    if (answer.ok()) {
      const Json object = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
      const Json::json_pointer mark(cat("/metadata/", kMark));
      if (object.contains(mark) && object.at(mark) == mark_) {
        published_ = parse_gcs_object(answer.body, uri_);
        return;
      }
    } else if (answer.status != 404) {
      fail(answer);
    }
    fail(refusal);
  }

  void start_session() {
    const std::string about = metadata().dump();
    const HttpAnswer answer =
        requests_.send({.method = "POST",
                        .url = new_object("resumable"),
                        .headers = {{"Content-Type", "application/json; charset=UTF-8"},
                                    {"X-Upload-Content-Type", kBytes}},
                        .body = {as_bytes(about)}});
    if (answer.status == 412) return find_own(answer);
    if (!answer.ok()) fail(answer);
    session_ = answer.headers.find("location").value_or("");
    if (session_.empty()) {
      throw Error(Code::kUnavailable, "an upload session without an address", uri_.to_string());
    }
  }

  // Sends what the buffer holds, as far as one chunk goes, from where the session stands. The last
  // chunk, which publishes the object, is the one that ends at total_ once write() has left only
  // that: close() calls until it is.
  void send_chunk() {
    if (session_.empty()) {
      start_session();
      if (published_) return;
    }
    if (is_uncertain_) {
      take(put({}, cat("bytes */", is_last() ? cat(total_) : "*"), false));
      return;
    }
    const bool last = is_last();
    const Bytes chunk = Bytes(buffer_).first(std::min<uint64_t>(buffer_.size(), kChunk));
    const std::string range = chunk.empty() ? "*" : cat(stored_, "-", stored_ + chunk.size() - 1);
    const uint64_t before = stored_;
    take(put(chunk, cat("bytes ", range, "/", last ? cat(total_) : "*"), last));
    if (!published_ && stored_ == before) {
      throw Error(Code::kUnavailable, "storage kept nothing of a chunk", uri_.to_string());
    }
  }

  bool is_last() const { return buffer_.size() <= kChunk; }

  HttpAnswer put(Bytes chunk, const std::string& range, bool last) {
    HttpRequest request{.method = "PUT",
                        .url = session_,
                        .headers = {{"Content-Type", kBytes}, {"Content-Range", range}},
                        .body = {chunk}};
    if (last) request.headers.add("x-goog-hash", "crc32c=" + gcs_crc(crc_));
    is_uncertain_ = true;
    try {
      return requests_.send(std::move(request));
    } catch (const Error& error) {
      // A host's name is all that HTTP errors show: a session's address is as good as a key.
      throw error.at(uri_.to_string());
    }
  }

  // What the session says of itself.
  void take(const HttpAnswer& answer) {
    if (answer.ok()) {
      published_ = parse_gcs_object(answer.body, uri_);
      return;
    }
    if (answer.status == 404 || answer.status == 410) return forget_session();
    if (answer.status == 412) return find_own(answer);
    if (answer.status != 308) fail(answer);
    const uint64_t stored = stored_bytes(answer.headers);
    if (stored < stored_ || stored - stored_ > buffer_.size()) throw UploadLost(uri_.to_string());
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(stored - stored_));
    stored_ = stored;
    is_uncertain_ = false;
  }

  void forget_session() {
    if (stored_ > 0) throw UploadLost(uri_.to_string());
    session_.clear();
    is_uncertain_ = false;
    throw Error(Code::kUnavailable, "the upload's session expired", uri_.to_string());
  }

  GcsRequests& requests_;
  const Uri uri_;
  const Generation if_generation_;
  const std::string mark_ = random_letters(24);

  std::vector<std::byte> buffer_;  // from byte stored_ on
  uint64_t total_ = 0;             // written so far
  uint32_t crc_ = 0;               // of those
  std::string session_;            // its URL; empty: none yet
  uint64_t stored_ = 0;            // bytes the session is known to have
  bool is_uncertain_ = false;      // an answer was lost: it may have more
  std::optional<Stat> published_;
};

}  // namespace

std::unique_ptr<ByteSink> make_gcs_upload(GcsRequests& requests, const Uri& uri,
                                          const WriteOptions& options) {
  return std::make_unique<GcsUpload>(requests, uri, options);
}

}  // namespace berth
