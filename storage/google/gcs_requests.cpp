#include "storage/google/gcs_requests.h"

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/timestamp.h"

namespace berth {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kLongestMessage = 300;

// Google's JSON writes 64-bit numbers as strings.
std::optional<uint64_t> number(const JsonObject& object, const char* name) {
  if (const std::optional<uint64_t> value = object.count(name)) return value;
  return parse_number(object.text(name).value_or(""));
}

// Returns error.message of an answer, or else the beginning of its body.
std::string message_of(std::string_view body) {
  const Json answer = parse_json(body);
  const JsonObject error(JsonObject(&answer).object("error"));
  const std::string message = error.text("message").value_or("");
  if (!message.empty()) return quoted(message, kLongestMessage);
  return body.empty() ? "no reason given" : quoted(body, 100);
}

// Whether an answer says that the bucket has requester pays, and the request names no project.
bool needs_user_project(std::string_view body) {
  const std::string said = lower_ascii(body);
  return said.find("requester pays") != std::string::npos ||
         said.find("user project") != std::string::npos ||
         said.find("userproject") != std::string::npos;
}

}  // namespace

GcsRequests::GcsRequests(std::string endpoint, HttpClient& http, Credentials& credentials,
                         std::string user_project)
    : endpoint_(std::move(endpoint)),
      user_project_(std::move(user_project)),
      http_(http),
      credentials_(credentials) {
  if (!endpoint_.starts_with("https://") && !endpoint_.starts_with("http://")) {
    throw Error(Code::kUsage, "a storage endpoint that is not an http(s):// URL",
                quoted(endpoint_));
  }
}

std::string GcsRequests::object(const Uri& uri) const {
  return cat(objects(uri), "/", percent_encoded(uri.path()));
}

std::string GcsRequests::media(const Uri& uri) const {
  return cat(endpoint_, "/download/storage/v1/b/", percent_encoded(uri.host()), "/o/",
             percent_encoded(uri.path()), "?alt=media");
}

std::string GcsRequests::objects(const Uri& uri) const {
  return cat(endpoint_, "/storage/v1/b/", percent_encoded(uri.host()), "/o");
}

std::string GcsRequests::uploads(const Uri& uri) const {
  return cat(endpoint_, "/upload/storage/v1/b/", percent_encoded(uri.host()), "/o");
}

template <typename Exchange>
auto GcsRequests::authorised(HttpRequest& request, const Exchange& exchange) {
  // The address of a resumable upload is the server's, which knows who is billed.
  if (!user_project_.empty() && request.url.find("upload_id=") == std::string::npos) {
    request.url += cat(request.url.find('?') == std::string::npos ? "?" : "&",
                       "userProject=", percent_encoded(user_project_));
  }
  const HttpHeaders own = request.headers;
  HttpHeaders proof = credentials_.headers();
  if (proof.find("authorization")) {
    if (travels_in_the_clear(request.url)) {
      throw Error(Code::kUsage, "a token must not travel over plain http", endpoint_,
                  "use https://, or --anonymous");
    }
    // Plain http goes to this machine itself. A proxy could read the token.
    request.bypass_proxy = request.url.starts_with("http://");
  }
  request.headers.add(proof);
  auto answer = exchange(request);
  if (answer.second != 401 || !credentials_.drop(proof)) return std::move(answer.first);
  request.headers = own;
  request.headers.add(credentials_.headers());
  return exchange(request).first;
}

HttpAnswer GcsRequests::send(HttpRequest request) {
  return authorised(request, [this](const HttpRequest& ready) {
    HttpAnswer answer = http_.send(ready);
    const int status = answer.status;
    return std::pair(std::move(answer), status);
  });
}

std::unique_ptr<HttpStream> GcsRequests::open(HttpRequest request) {
  return authorised(request, [this](const HttpRequest& ready) {
    std::unique_ptr<HttpStream> stream = http_.open(ready);
    const int status = stream->status();
    return std::pair(std::move(stream), status);
  });
}

Error gcs_error(int status, const HttpHeaders& headers, std::string_view body, const Uri& uri,
                std::string_view permission) {
  const std::string where = uri.to_string();
  const std::string said = cat(" (HTTP ", status, ": ", message_of(body), ")");
  switch (status) {
    case 400:
      if (!needs_user_project(body)) break;
      return Error(Code::kNotPermitted,
                   "the bucket bills requests to the requester (requester pays)" + said, where,
                   "name the project of Google Cloud that pays by --user-project");
    case 401:
      return Error(Code::kNotPermitted, "the credentials are not accepted" + said, where,
                   "check the service account, or pass --anonymous for a public bucket");
    case 403:
      if (body.find("serviceusage.services.use") != std::string_view::npos) {
        return Error(Code::kNotPermitted, "the project may not be billed" + said, where,
                     "grant the job's service account the role Service Usage Consumer in the "
                     "project of --user-project");
      }
      return Error(Code::kNotPermitted, cat("not permitted, ", permission, " is needed", said),
                   where, "grant the job's service account a role that includes it");
    case 404: {
      const bool is_bucket = permission != "storage.objects.get" ||
                             body.find("bucket does not exist") != std::string_view::npos;
      return Error(Code::kNotFound, is_bucket ? "no such bucket" : "no such object" + said, where,
                   "check the spelling");
    }
    case 412:
      return Error(Code::kInUse, "was written by another process meanwhile" + said, where,
                   "stop one of them or name another directory");
    default:
      break;
  }
  if (is_transient(status)) {
    return Error(Code::kUnavailable, "storage is temporarily unavailable" + said, where)
        .after(headers.retry_after_s());
  }
  return Error(Code::kBadData, "storage refuses the request" + said, where);
}

Stat parse_gcs_object(std::string_view json, const Uri& bucket) {
  const Json parsed = parse_json(json);
  const JsonObject object(&parsed);
  const std::string name = object.text("name").value_or("");
  const std::optional<uint64_t> generation = number(object, "generation");
  if (name.empty() || !generation) {
    throw Error(Code::kUnavailable, "an answer that does not describe an object",
                bucket.to_string());
  }
  const Uri root = Uri::parse(cat(bucket.scheme(), "://", bucket.host()));
  return {.name = (root / name).to_string(),
          .size = number(object, "size").value_or(0),
          .generation = *generation,
          .crc32c = parse_gcs_crc(object.text("crc32c").value_or("")),
          .content_encoding = object.text("contentEncoding").value_or(""),
          .updated_s = parse_timestamp(object.text("updated").value_or(""))};
}

std::optional<uint32_t> parse_gcs_crc(std::string_view base64) {
  if (base64.size() != 8 || !base64.ends_with("==")) return std::nullopt;
  uint64_t bits = 0;
  for (const char c : base64.substr(0, 6)) {
    const size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | digit;
  }
  return static_cast<uint32_t>(bits >> 4);
}

std::string gcs_crc(uint32_t crc) {
  const uint64_t bits = uint64_t{crc} << 4;
  std::string encoded;
  for (int shift = 30; shift >= 0; shift -= 6) encoded += kBase64[bits >> shift & 63];
  return encoded + "==";
}

}  // namespace berth
