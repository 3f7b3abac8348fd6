#include "storage/google/gcs_upload.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/google/gcs_requests.h"
#include "storage/storage.h"

namespace berth {
namespace {

constexpr const char* kMarkName = "berth-upload";  // name of the custom metadata field
constexpr const char* kPermission = "storage.objects.create (and .delete, to replace)";

// The common part of all ways to write an object: the object's metadata, which contain a mark
// unique to this writer, and the interpretation of answers. `requests` must outlive it.
class GcsNewObject {
 public:
  // Writes the object `uri` if its current version is `if_generation`; 0 means that it must not
  // exist.
  GcsNewObject(GcsRequests& requests, const Uri& uri, Generation if_generation)
      : requests_(requests), uri_(uri), if_generation_(if_generation), mark_(random_letters(24)) {}

  GcsRequests& requests() const { return requests_; }
  const Uri& uri() const { return uri_; }
  const std::string& mark() const { return mark_; }
  std::string precondition() const { return cat("ifGenerationMatch=", if_generation_); }

  // The object's metadata, as JSON.
  std::string metadata(std::optional<uint32_t> crc = {}) const {
    Json resource = {{"name", uri_.path()},
                     {"contentType", "application/octet-stream"},
                     {"cacheControl", "no-store"},
                     {"metadata", {{kMarkName, mark_}}}};
    if (crc) resource["crc32c"] = gcs_crc(*crc);
    return to_text(resource);
  }

  // Returns the object that an answer to a write describes. If the answer is 412 (precondition
  // failed), returns the object if it carries this writer's mark: then an earlier attempt of the
  // same write succeeded, and only its answer was lost. Throws the error that any other answer
  // means, and UploadLost if the bytes arrived damaged.
  Stat published(const HttpAnswer& answer) const {
    if (answer.ok()) return parse_gcs_object(answer.body, uri_);
    const std::optional<Stat> found = answer.status == 412 ? find() : std::nullopt;
    if (!found) fail(answer);
    return *found;
  }

  // Returns the object if it carries this writer's mark.
  std::optional<Stat> find() const {
    const HttpAnswer answer = requests_.send({.url = requests_.object(uri_)});
    if (!answer.ok()) {
      if (answer.status != 404) fail(answer);
      return std::nullopt;
    }
    const Json object = parse_json(answer.body);
    const JsonObject marks(JsonObject(&object).object("metadata"));
    if (marks.text(kMarkName) != mark_) return std::nullopt;
    return parse_gcs_object(answer.body, uri_);
  }

  // Returns `published` with its checksum. If size or checksum differ from what was sent, removes
  // the object and throws UploadLost.
  Stat intact(Stat published, uint64_t size, uint32_t crc) const {
    if (published.size == size && published.crc32c.value_or(crc) == crc) {
      published.crc32c = crc;
      return published;
    }
    requests_.send(
        {.method = "DELETE",
         .url = cat(requests_.object(uri_), "?ifGenerationMatch=", published.generation)});
    throw UploadLost(uri_.to_string());
  }

 private:
  [[noreturn]] void fail(const HttpAnswer& answer) const {
    const bool damaged =
        answer.status == 400 && lower_ascii(answer.body).find("crc32c") != std::string::npos;
    // The server refused bytes that were damaged on their way.
    if (damaged) throw UploadLost(uri_.to_string());
    throw gcs_error(answer.status, answer.headers, answer.body, uri_, kPermission);
  }

  GcsRequests& requests_;
  Uri uri_;
  Generation if_generation_;
  std::string mark_;
};

}  // namespace

void UploadBytes::copy(Bytes bytes) {
  if (bytes.empty()) return;
  copied_.insert(copied_.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
  if (!pieces_.empty() && pieces_.back().lent == nullptr) {
    pieces_.back().size += bytes.size();
  } else {
    pieces_.push_back({nullptr, bytes.size()});
  }
}

void UploadBytes::lend(Bytes bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({bytes.data(), bytes.size()});
  size_ += bytes.size();
}

std::vector<Bytes> UploadBytes::from(size_t offset) const {
  std::vector<Bytes> rest;
  const std::byte* copied = copied_.data();
  for (const auto& [lent, size] : pieces_) {
    const Bytes piece(lent != nullptr ? lent : copied, size);
    if (lent == nullptr) copied += size;
    if (offset < size) rest.push_back(piece.subspan(offset));
    offset -= std::min(offset, size);
  }
  return rest;
}

void UploadBytes::split(size_t size, UploadBytes& rest) {
  rest.pieces_.clear();
  rest.copied_.clear();
  rest.size_ = 0;
  size_t copied = 0, kept_copied = 0;
  for (Piece& piece : pieces_) {
    const size_t kept = std::min(piece.size, size), left = piece.size - kept;
    if (piece.lent != nullptr) {
      rest.lend({piece.lent + kept, left});
    } else {
      rest.copy(Bytes(copied_).subspan(copied + kept, left));
      copied += piece.size;
      kept_copied += kept;
    }
    piece.size = kept;
    size -= kept;
  }
  std::erase_if(pieces_, [](const Piece& piece) { return piece.size == 0; });
  copied_.resize(kept_copied);
  size_ -= rest.size_;
}

namespace {

constexpr uint64_t kOneShot = uint64_t{8} << 20;
constexpr uint64_t kChunk = uint64_t{16} << 20;  // the protocol requires a multiple of 256 KiB
constexpr const char* kBytes = "application/octet-stream";

// Returns N + 1 for a Range field "bytes=0-N", or 0 if nothing is stored yet.
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
  GcsUpload(GcsRequests& requests, SpareBuffers& buffers, const Uri& uri,
            const WriteOptions& options)
      : requests_(requests),
        buffers_(buffers),
        uri_(uri),
        object_(requests, uri, options.if_generation.value()),
        filling_(buffers.take(std::min(options.size_hint.value_or(0), kOneShot))) {}

  ~GcsUpload() override { buffers_.give_back((is_last_ ? chunk_ : filling_).release()); }

  // A chunk is sent in the background while the next one fills. If sending fails, the call that
  // needs to send the next chunk throws. A later call tries again.
  void write(Bytes bytes) override { take(bytes, &UploadBytes::copy); }
  void lend(Bytes bytes) override { take(bytes, &UploadBytes::lend); }

  uint64_t arrived() override { return sending_ && !sending_->idle() ? 0 : stored_; }

  Stat close() override {
    if (!is_last_) {
      finish_chunk();
      next_chunk();
      is_last_ = true;
    }
    if (!sending_ && total_ <= kOneShot) {
      send_at_once();
    } else {
      while (!published_) send_chunk();
    }
    return object_.intact(*published_, total_, crc_);
  }

 private:
  void take(Bytes bytes, void (UploadBytes::*append)(Bytes)) {
    total_ += bytes.size();
    (filling_.*append)(bytes);
    while (filling_.size() > kChunk) hand_over();
  }

  std::string new_object(const char* type) const {
    return cat(requests_.uploads(uri_), "?uploadType=", type,
               "&name=", percent_encoded(uri_.path()), "&", object_.precondition());
  }

  void send_at_once() {
    const std::string boundary = "berth_" + object_.mark();
    const std::string head =
        cat("--", boundary, "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n",
            object_.metadata(crc_), "\r\n--", boundary, "\r\nContent-Type: ", kBytes, "\r\n\r\n");
    const std::string tail = cat("\r\n--", boundary, "--\r\n");
    std::vector<Bytes> body = chunk_.from(0);
    body.insert(body.begin(), as_bytes(head));
    body.push_back(as_bytes(tail));
    const HttpAnswer answer =
        requests_.send({.method = "POST",
                        .url = new_object("multipart"),
                        .headers = {{"Content-Type", "multipart/related; boundary=" + boundary}},
                        .body = std::move(body)});
    published_ = object_.published(answer);
  }

  void start_session() {
    const std::string about = object_.metadata();
    const HttpAnswer answer =
        requests_.send({.method = "POST",
                        .url = new_object("resumable"),
                        .headers = {{"Content-Type", "application/json; charset=UTF-8"},
                                    {"X-Upload-Content-Type", kBytes}},
                        .body = {as_bytes(about)}});
    if (!answer.ok()) {
      published_ = object_.published(answer);
      return;
    }
    session_ = answer.headers.find("location").value_or("");
    if (session_.empty()) {
      throw Error(Code::kUnavailable, "an upload session without an address", uri_.to_string());
    }
  }

  void hand_over() {
    finish_chunk();
    next_chunk();
    if (!sending_) sending_.emplace();
    sending_->submit([this] { send_chunk(); });
  }

  // Returns when the session has stored the whole chunk.
  void finish_chunk() {
    if (sending_) sending_->wait();
    while (!published_ && sent_ < chunk_.size()) send_chunk();
  }

  // Moves the first kChunk bytes of filling_ to chunk_ and keeps the rest. The checksum is taken
  // only now: this brings the bytes into the CPU cache just before they are sent.
  void next_chunk() {
    std::swap(chunk_, filling_);
    chunk_.split(kChunk, filling_);
    sent_ = 0;
    for (const Bytes piece : chunk_.from(0)) crc_ = crc32c(piece, crc_);
  }

  // Makes one attempt: sends the rest of the chunk, or asks how much of it the session has.
  void send_chunk() {
    if (session_.empty()) {
      start_session();
      if (published_) return;
    }
    const std::string total = is_last_ ? cat(total_) : "*";
    if (is_uncertain_) {
      learn(put({}, "bytes */" + total, false));
      return;
    }
    const size_t rest = chunk_.size() - sent_;
    const std::string range = rest == 0 ? "*" : cat(stored_, "-", stored_ + rest - 1);
    const uint64_t before = stored_;
    learn(put(chunk_.from(sent_), cat("bytes ", range, "/", total), is_last_));
    if (!published_ && stored_ == before) {
      throw Error(Code::kUnavailable, "storage kept nothing of a chunk", uri_.to_string());
    }
  }

  HttpAnswer put(std::vector<Bytes> body, const std::string& range, bool last) {
    HttpRequest request{.method = "PUT",
                        .url = session_,
                        .headers = {{"Content-Type", kBytes}, {"Content-Range", range}},
                        .body = std::move(body)};
    if (last) request.headers.add("x-goog-hash", "crc32c=" + gcs_crc(crc_));
    is_uncertain_ = true;
    try {
      return requests_.send(std::move(request));
    } catch (const Error& error) {
      // HTTP errors show only the host, because a session's URL works like a key. Name the object
      // instead.
      throw error.at(uri_.to_string());
    }
  }

  // Takes over the progress that the session reports.
  void learn(const HttpAnswer& answer) {
    if (answer.status == 404 || answer.status == 410) return forget_session();
    if (answer.status != 308) {
      published_ = object_.published(answer);
      return;
    }
    const uint64_t stored = stored_bytes(answer.headers);
    if (stored < stored_ || stored - stored_ > chunk_.size() - sent_) {
      throw UploadLost(uri_.to_string());
    }
    sent_ += stored - stored_;
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
  SpareBuffers& buffers_;
  const Uri uri_;
  const GcsNewObject object_;

  // Used by the caller's thread only.
  UploadBytes filling_;   // the bytes after chunk_
  uint64_t total_ = 0;    // bytes written so far
  uint32_t crc_ = 0;      // of all bytes up to the end of chunk_
  bool is_last_ = false;  // chunk_ is the last chunk; sending it publishes the object

  // Used by the sending thread while it has work, and by the caller otherwise.
  UploadBytes chunk_;
  size_t sent_ = 0;            // bytes of chunk_ that the session has confirmed
  uint64_t stored_ = 0;        // bytes of the whole object that it has confirmed
  std::string session_;        // its URL; empty if there is no session yet
  bool is_uncertain_ = false;  // an answer was lost: the session may have stored more
  std::optional<Stat> published_;
  std::optional<Background> sending_;  // declared last: it uses the members above
};

}  // namespace

std::unique_ptr<ByteSink> make_gcs_upload(GcsRequests& requests, SpareBuffers& buffers,
                                          const Uri& uri, const WriteOptions& options) {
  return std::make_unique<GcsUpload>(requests, buffers, uri, options);
}

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
