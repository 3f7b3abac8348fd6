#include "storage/google/gcs_upload.h"

#include <charconv>

#include "storage/base/background.h"
#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/google/gcs_new_object.h"

namespace berth {
namespace {

constexpr uint64_t kOneShot = uint64_t{8} << 20;
constexpr uint64_t kChunk = uint64_t{16} << 20;  // a multiple of 256 KiB, as the protocol wants
constexpr const char* kBytes = "application/octet-stream";

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
  GcsUpload(GcsRequests& requests, SpareBuffers& buffers, const Uri& uri,
            const WriteOptions& options)
      : requests_(requests),
        buffers_(buffers),
        uri_(uri),
        object_(requests, uri, options.if_generation.value()),
        filling_(buffers.take(std::min(options.size_hint.value_or(0), kOneShot))) {}

  ~GcsUpload() override { buffers_.give_back(std::move(filling_)); }

  // Sends a chunk while the next one fills. What goes wrong with it is thrown by the call that has
  // the next to send; a call after that tries again.
  void write(Bytes bytes) override {
    crc_ = crc32c(bytes, crc_);
    total_ += bytes.size();
    filling_.insert(filling_.end(), bytes.begin(), bytes.end());
    while (filling_.size() > kChunk) hand_over();
  }

  Stat close() override {
    if (!sending_ && total_ <= kOneShot) {
      send_at_once();
    } else {
      send_last();
    }
    return object_.intact(*published_, total_, crc_);
  }

 private:
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
    const HttpAnswer answer =
        requests_.send({.method = "POST",
                        .url = new_object("multipart"),
                        .headers = {{"Content-Type", "multipart/related; boundary=" + boundary}},
                        .body = {as_bytes(head), filling_, as_bytes(tail)}});
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

  // Until the session has the whole chunk.
  void finish_chunk() {
    if (sending_) sending_->wait();
    while (!published_ && sent_ < chunk_.size()) send_chunk();
  }

  // What is to fill next is what a chunk's length leaves of filling_.
  void next_chunk() {
    chunk_.swap(filling_);
    const auto end = static_cast<ptrdiff_t>(std::min<uint64_t>(chunk_.size(), kChunk));
    filling_.assign(chunk_.begin() + end, chunk_.end());
    chunk_.resize(static_cast<size_t>(end));
    sent_ = 0;
  }

  // The chunk that ends at total_ publishes the object.
  void send_last() {
    if (!is_last_) {
      finish_chunk();
      next_chunk();
      is_last_ = true;
    }
    while (!published_) send_chunk();
  }

  // Once: what is left of the chunk, or the question how much that is.
  void send_chunk() {
    if (session_.empty()) {
      start_session();
      if (published_) return;
    }
    const std::string total = is_last_ ? cat(total_) : "*";
    if (is_uncertain_) {
      take(put({}, "bytes */" + total, false));
      return;
    }
    const Bytes rest = Bytes(chunk_).subspan(sent_);
    const std::string range = rest.empty() ? "*" : cat(stored_, "-", stored_ + rest.size() - 1);
    const uint64_t before = stored_;
    take(put(rest, cat("bytes ", range, "/", total), is_last_));
    if (!published_ && stored_ == before) {
      throw Error(Code::kUnavailable, "storage kept nothing of a chunk", uri_.to_string());
    }
  }

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

  // Of the caller alone.
  std::vector<std::byte> filling_;  // follows chunk_
  uint64_t total_ = 0;              // written so far
  uint32_t crc_ = 0;                // of those
  bool is_last_ = false;            // nothing follows chunk_

  // Of whoever sends: the thread while it has work, the caller else.
  std::vector<std::byte> chunk_;
  size_t sent_ = 0;            // bytes of chunk_ the session is known to have
  uint64_t stored_ = 0;        // of all bytes
  std::string session_;        // its URL; empty: none yet
  bool is_uncertain_ = false;  // an answer was lost: it may have more
  std::optional<Stat> published_;
  std::optional<Background> sending_;  // last, so that it ends before what it uses
};

}  // namespace

std::unique_ptr<ByteSink> make_gcs_upload(GcsRequests& requests, SpareBuffers& buffers,
                                          const Uri& uri, const WriteOptions& options) {
  return std::make_unique<GcsUpload>(requests, buffers, uri, options);
}

}  // namespace berth
