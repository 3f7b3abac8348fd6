#include "storage/google/gcs_storage.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/google/gcs_requests.h"
#include "storage/google/gcs_upload.h"

namespace berth {
namespace {

constexpr std::string_view kFields = "name,size,generation,crc32c,contentEncoding";

void require_object(const Uri& uri) {
  if (uri.scheme() == "gs" && !uri.path().empty()) return;
  throw Error(Code::kUsage, "a bucket where an object is needed", uri.to_string(),
              "write gs://bucket/object");
}

// The first byte of "bytes 10-19/100"; nullopt: not that.
std::optional<uint64_t> content_range_begin(const HttpHeaders& headers) {
  const std::string value = headers.find("content-range").value_or("");
  uint64_t begin = 0;
  constexpr std::string_view kUnit = "bytes ";
  if (!value.starts_with(kUnit)) return std::nullopt;
  const auto [end, error] =
      std::from_chars(value.data() + kUnit.size(), value.data() + value.size(), begin);
  if (error != std::errc() || *end != '-') return std::nullopt;
  return begin;
}

// The wanted part of an answer's body, which may begin before it and go on after it.
class MediaSource final : public ByteSource {
 public:
  MediaSource(std::unique_ptr<HttpStream> stream, uint64_t skip, std::optional<uint64_t> length)
      : stream_(std::move(stream)), skip_(skip), left_(length) {}

  size_t read(std::span<std::byte> buffer) override {
    while (skip_ > 0) {
      const size_t most = std::min<uint64_t>(skip_, buffer.size());
      const size_t count = stream_->read(buffer.first(most));
      if (count == 0) return 0;
      skip_ -= count;
    }
    if (left_) buffer = buffer.first(std::min<uint64_t>(*left_, buffer.size()));
    if (buffer.empty()) return 0;
    const size_t count = stream_->read(buffer);
    if (left_) *left_ -= count;
    return count;
  }

 private:
  const std::unique_ptr<HttpStream> stream_;
  uint64_t skip_;
  std::optional<uint64_t> left_;
};

class NoBytes final : public ByteSource {
 public:
  size_t read(std::span<std::byte>) override { return 0; }
};

class GcsStorage final : public Storage {
 public:
  GcsStorage(std::string endpoint, HttpClient& http, Credentials& credentials)
      : requests_(std::move(endpoint), http, credentials) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    require_object(uri);
    if (options.length == uint64_t{0}) return std::make_unique<NoBytes>();
    // Without it an object stored with Content-Encoding gzip would be decompressed by the server,
    // and then neither ranges nor checksums are those of the stored bytes.
    HttpRequest request{.url = requests_.media(uri),
                        .headers = {{"Accept-Encoding", "gzip"}},
                        .stop = options.stop};
    if (options.generation) request.url += cat("&generation=", *options.generation);
    const bool is_range = options.offset > 0 || options.length;
    if (is_range) request.headers.add("Range", range_of(options));
    std::unique_ptr<HttpStream> stream = requests_.open(request);
    switch (stream->status()) {
      case 200:
        return std::make_unique<MediaSource>(
            std::move(stream), options.offset - content_begin(*stream, options), options.length);
      case 206:
        return std::make_unique<MediaSource>(std::move(stream),
                                             skipped(*stream, uri, options.offset), options.length);
      case 416:
        return std::make_unique<NoBytes>();  // past the end, or an empty object
      default:
        throw error_of(*stream, uri, options);
    }
  }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    require_object(uri);
    WriteOptions conditional = options;
    if (!conditional.if_generation) {
      const std::optional<Stat> existing = stat(uri);
      conditional.if_generation = existing ? existing->generation : 0;
    }
    return make_gcs_upload(requests_, uri, conditional);
  }

  std::optional<Stat> stat(const Uri& uri) override {
    require_object(uri);
    const HttpAnswer answer =
        requests_.send({.url = cat(requests_.object(uri), "?fields=", percent_encoded(kFields))});
    if (answer.ok()) return parse_gcs_object(answer.body, uri);
    const Error error =
        gcs_error(answer.status, answer.headers, answer.body, uri, "storage.objects.get");
    if (answer.status == 404 && error.problem() != "no such bucket") return std::nullopt;
    throw error;
  }

  // "gs://b/dir" lists below "dir/"; a page may be empty and still not be the last.
  std::vector<Stat> list(const Uri& prefix) override {
    std::string below = prefix.path();
    if (!below.empty() && below.back() != '/') below += '/';
    const std::string url =
        cat(requests_.objects(prefix), "?maxResults=1000&prefix=", percent_encoded(below),
            "&fields=", percent_encoded(cat("items(", kFields, "),nextPageToken")));
    std::vector<Stat> found;
    std::string page_token;
    do {
      const std::string page =
          page_token.empty() ? url : cat(url, "&pageToken=", percent_encoded(page_token));
      const HttpAnswer answer = requests_.send({.url = page});
      if (!answer.ok()) {
        throw gcs_error(answer.status, answer.headers, answer.body, prefix, "storage.objects.list");
      }
      page_token = add_page(answer.body, prefix, found);
    } while (!page_token.empty());
    std::sort(found.begin(), found.end(),
              [](const Stat& a, const Stat& b) { return a.name < b.name; });
    return found;
  }

  // Names the version, so that a second try cannot remove what came after it.
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    require_object(uri);
    if (uri.path().ends_with('/')) return;  // directories are only names here
    if (!if_generation) {
      const std::optional<Stat> existing = stat(uri);
      if (!existing) return;
      if_generation = existing->generation;
    }
    const HttpAnswer answer =
        requests_.send({.method = "DELETE",
                        .url = cat(requests_.object(uri), "?ifGenerationMatch=", *if_generation)});
    if (answer.ok() || answer.status == 404) return;
    throw gcs_error(answer.status, answer.headers, answer.body, uri, "storage.objects.delete");
  }

 private:
  static std::string range_of(const ReadOptions& options) {
    if (!options.length) return cat("bytes=", options.offset, "-");
    return cat("bytes=", options.offset, "-", options.offset + *options.length - 1);
  }

  // A server may answer the whole object where a part was asked for.
  static uint64_t content_begin(const HttpStream& stream, const ReadOptions& options) {
    return std::min(content_range_begin(stream.headers()).value_or(0), options.offset);
  }

  static uint64_t skipped(const HttpStream& stream, const Uri& uri, uint64_t offset) {
    const std::optional<uint64_t> begin = content_range_begin(stream.headers());
    if (begin && *begin <= offset) return offset - *begin;
    throw Error(Code::kUnavailable, "storage answered another range than was asked for",
                uri.to_string());
  }

  static Error error_of(HttpStream& stream, const Uri& uri, const ReadOptions& options) {
    std::string body(4096, '\0');
    size_t size = 0;
    while (size < body.size()) {
      const size_t count = stream.read(std::as_writable_bytes(std::span(body)).subspan(size));
      if (count == 0) break;
      size += count;
    }
    body.resize(size);
    const Error error =
        gcs_error(stream.status(), stream.headers(), body, uri, "storage.objects.get");
    if (stream.status() != 404 || !options.generation || error.problem() == "no such bucket") {
      return error;
    }
    return Error(Code::kNotFound, "was replaced or removed since it was looked up", uri.to_string(),
                 "start again, and leave input files alone while a job reads them");
  }

  static std::string add_page(const std::string& body, const Uri& bucket,
                              std::vector<Stat>& found) {
    const auto page = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
    if (!page.is_object()) {
      throw Error(Code::kUnavailable, "an answer that lists nothing", bucket.to_string());
    }
    if (page.contains("items") && page.at("items").is_array()) {
      for (const auto& item : page.at("items")) {
        found.push_back(parse_gcs_object(item.dump(), bucket));
      }
    }
    const auto token = page.find("nextPageToken");
    return token != page.end() && token->is_string() ? token->get<std::string>() : "";
  }

  GcsRequests requests_;
};

}  // namespace

std::unique_ptr<Storage> make_gcs_storage(std::string endpoint, HttpClient& http,
                                          Credentials& credentials) {
  return std::make_unique<GcsStorage>(std::move(endpoint), http, credentials);
}

}  // namespace berth
