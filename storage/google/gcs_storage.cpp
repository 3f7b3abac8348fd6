#include "storage/google/gcs_storage.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/gcs_requests.h"
#include "storage/google/gcs_upload.h"
#include "storage/http/http_storage.h"

namespace berth {
namespace {

constexpr std::string_view kFields = "name,size,generation,crc32c,contentEncoding,updated";

void require_object(const Uri& uri) {
  if (uri.scheme() == "gs" && !uri.path().empty()) return;
  throw Error(Code::kUsage, "names a bucket, but an object is needed", uri.to_string(),
              "write gs://bucket/object");
}

class GcsStorage final : public JoiningStorage {
 public:
  GcsStorage(std::string endpoint, HttpClient& http, Credentials& credentials,
             std::string user_project)
      : requests_(std::move(endpoint), http, credentials, std::move(user_project)) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    require_object(uri);
    if (options.length == uint64_t{0}) return no_bytes();
    // Without this field the server would decompress an object that is stored with Content-Encoding
    // gzip. Then ranges and checksums would not refer to the stored bytes.
    HttpRequest request{.url = requests_.media(uri),
                        .headers = {{"Accept-Encoding", "gzip"}},
                        .stop = options.stop};
    if (options.generation) request.url += cat("&generation=", *options.generation);
    if (const std::string range = range_field(options); !range.empty()) {
      request.headers.add("Range", range);
    }
    std::unique_ptr<HttpStream> stream = requests_.open(request);
    switch (stream->status()) {
      case 200:
      case 206:
        return body_part(std::move(stream), options, uri);
      case 416:
        return no_bytes();  // the range is past the end, or the object is empty
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
    return make_gcs_upload(requests_, buffers_, uri, conditional);
  }

  std::unique_ptr<ByteSink> join(const Uri& uri, std::vector<Stat> parts,
                                 Generation if_generation) override {
    require_object(uri);
    return make_gcs_join(requests_, uri, std::move(parts), if_generation);
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

  // "gs://b/dir" lists the objects below "dir/". A page may be empty without being the last.
  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    std::string below = prefix.path();
    if (!below.empty() && below.back() != '/') below += '/';
    const std::string url =
        cat(requests_.objects(prefix), "?maxResults=1000&prefix=", percent_encoded(below),
            "&fields=", percent_encoded(cat("items(", kFields, "),nextPageToken")));
    std::vector<Stat> found;
    std::string page_token;
    PageGuard guard;
    do {
      const std::string page =
          page_token.empty() ? url : cat(url, "&pageToken=", percent_encoded(page_token));
      const HttpAnswer answer = requests_.send({.url = page});
      if (!answer.ok()) {
        throw gcs_error(answer.status, answer.headers, answer.body, prefix, "storage.objects.list");
      }
      page_token = add_page(answer.body, prefix, found);
      guard.check(page_token, found.size(), prefix);
    } while (!page_token.empty() && found.size() < enough);
    std::sort(found.begin(), found.end(),
              [](const Stat& a, const Stat& b) { return a.name < b.name; });
    return found;
  }

  // Names the version to delete, so that a second attempt cannot remove a newer one.
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    require_object(uri);
    if (uri.path().ends_with('/')) return;  // Cloud Storage has no directories to remove
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
  static Error error_of(HttpStream& stream, const Uri& uri, const ReadOptions& options) {
    std::string body(4096, '\0');
    body.resize(read_fully(stream, std::as_writable_bytes(std::span(body))));
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
    const Json page = parse_json(body);
    if (!page.is_object()) {
      throw Error(Code::kUnavailable, "an answer that is not a listing", bucket.to_string());
    }
    const JsonObject members(&page);
    if (const Json* items = members.list("items")) {
      for (const Json& item : *items) found.push_back(parse_gcs_object(to_text(item), bucket));
    }
    return members.text("nextPageToken").value_or("");
  }

  GcsRequests requests_;
  SpareBuffers buffers_;
};

}  // namespace

std::unique_ptr<JoiningStorage> make_gcs_storage(std::string endpoint, HttpClient& http,
                                                 Credentials& credentials,
                                                 std::string user_project) {
  return std::make_unique<GcsStorage>(std::move(endpoint), http, credentials,
                                      std::move(user_project));
}

}  // namespace berth
