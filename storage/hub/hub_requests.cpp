#include "storage/hub/hub_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/archive.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/google/local_text.h"
#include "storage/http/http_storage.h"
#include "storage/hub/content_hash.h"

namespace berth {
namespace {

constexpr int kMostRedirects = 10;
constexpr uint64_t kLargestAnswer = 64 << 20;

// Scheme, host and port of an address: "https://huggingface.co".
std::string_view origin_of(std::string_view url) {
  const size_t authority = url.find("://");
  if (authority == url.npos) return url;
  return url.substr(0, url.find_first_of("/?#", authority + 3));
}

// The address that a Location field names (RFC 9110 section 10.2.2).
std::string resolved(const std::string& location, const std::string& base) {
  if (location.starts_with("http://") || location.starts_with("https://")) return location;
  const std::string origin(origin_of(base));
  if (location.starts_with("//")) return cat(origin.substr(0, origin.find("//")), location);
  if (location.starts_with('/')) return origin + location;
  return cat(base.substr(0, base.rfind('/') + 1), location);
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string read_token(const HubOptions& options) {
  std::string token = options.token;
  if (token.empty() && !options.token_file.empty()) {
    if (const auto file = read_local_text(options.token_file)) token = file->text;
  }
  token = trimmed(token);
  if (token.find_first_of("\r\n") != token.npos) {
    throw Error(Code::kUsage, "the token of the hub has several lines", "HF_TOKEN",
                "give the token alone");
  }
  remember_secret(token);
  return token;
}

std::string encoded_path(const std::string& path) {
  std::string encoded;
  for (const std::string& part : parted(path, "/")) {
    if (!encoded.empty()) encoded += '/';
    encoded += percent_encoded(part);
  }
  return encoded;
}

Error bad_answer(const HubPath& path, const std::string& problem) {
  return Error(Code::kBadData, cat("the hub's list of files ", problem), path.repository_uri(),
               "HF_ENDPOINT must name a server that answers as huggingface.co does");
}

std::vector<std::byte> whole_list(HttpStream& answer, const HubPath& path) {
  try {
    return read_all(answer, kLargestAnswer, path.repository_uri());
  } catch (const Error& error) {
    if (error.code() != Code::kMemory) throw;
    throw bad_answer(path, cat("is larger than ", human_bytes(kLargestAnswer)));
  }
}

HubFile file_of(const Json& sibling, const HubPath& path) {
  if (!sibling.is_object()) throw bad_answer(path, "has an entry that is no object");
  const JsonObject members(&sibling);
  const Json* const large = members.object("lfs");
  const JsonObject content(large != nullptr ? large : &sibling);
  HubFile file{.path = members.text("rfilename").value_or(""),
               .size = 0,
               .hash = content.text(large != nullptr ? "sha256" : "blobId").value_or("")};
  const std::optional<uint64_t> size = content.count("size");
  if (!size || !ContentHash::is_one(file.hash)) {
    throw bad_answer(path, cat("does not send the size and hash of ", quoted(file.path)));
  }
  file.size = *size;
  return file;
}

// Whether the name can be the relative path of a local file.
bool is_usable(const std::string& name, EntryPaths& paths) {
  try {
    return !name.empty() && paths.add(name, /*is_directory=*/false) == name;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

HubSnapshot parse_snapshot(std::string_view answer, const HubPath& path) {
  const Json info = parse_json(answer);
  if (!info.is_object()) throw bad_answer(path, "is not JSON");
  const JsonObject members(&info);
  HubSnapshot snapshot{.commit = members.text("sha").value_or(""), .files = {}};
  if (!is_commit(snapshot.commit)) throw bad_answer(path, "names no commit");
  const Json* const siblings = members.list("siblings");
  if (siblings == nullptr) throw bad_answer(path, "has no files");
  EntryPaths paths;
  for (const Json& sibling : *siblings) {
    HubFile file = file_of(sibling, path);
    if (is_usable(file.path, paths)) {
      snapshot.files.push_back(std::move(file));
    } else {
      log_debug(cat("left out of ", path.repository_uri(), ": ", quoted(file.path)));
    }
  }
  std::ranges::sort(snapshot.files, {}, &HubFile::path);
  return snapshot;
}

std::string to_answer(const HubSnapshot& snapshot) {
  Json siblings = Json::array();
  for (const HubFile& file : snapshot.files) {
    siblings.push_back({{"rfilename", file.path}, {"size", file.size}, {"blobId", file.hash}});
  }
  return to_text(Json{{"sha", snapshot.commit}, {"siblings", std::move(siblings)}});
}

HubRequests::HubRequests(HttpClient& http, HubOptions options)
    : http_(http), options_(std::move(options)), token_(read_token(options_)) {}

std::unique_ptr<HttpStream> HubRequests::get(std::string url, const std::string& range,
                                             const std::stop_token& stop) {
  const std::string origin(origin_of(options_.endpoint));
  for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
    HttpRequest request{.url = url,
                        .headers = {{"Accept-Encoding", "identity"}},
                        .is_redirected = redirects > 0,
                        .stop = stop};
    if (!range.empty()) request.headers.add("Range", range);
    if (!token_.empty() && origin_of(url) == origin) {
      if (travels_in_the_clear(url)) {
        throw Error(Code::kUsage, "the token would be sent unencrypted", options_.endpoint,
                    "give an https:// address in HF_ENDPOINT");
      }
      remember_secret(token_);
      request.headers.add("Authorization", cat("Bearer ", token_));
    }
    std::unique_ptr<HttpStream> answer = http_.open(request);
    const std::optional<std::string> location = answer->headers().find("location");
    if (!is_redirect(answer->status()) || location.value_or("").empty()) return answer;
    const std::string next = resolved(*location, url);
    if (url.starts_with("https://") && !next.starts_with("https://")) {
      throw Error(Code::kNotPermitted, "the hub redirects from https to http", options_.endpoint);
    }
    // A repository's new name is answered without the question that was asked.
    const size_t query = url.find('?');
    const bool asks_again = origin_of(next) == origin && next.find('?') == next.npos;
    url = asks_again && query != url.npos ? cat(next, url.substr(query)) : next;
  }
  throw Error(Code::kUnavailable, "the hub redirects without end", options_.endpoint);
}

Error HubRequests::refusal(const HttpStream& answer, const HubPath& path) const {
  const int status = answer.status();
  const std::string said = cat(" (HTTP ", status, ")");
  const std::string code = answer.headers().find("x-error-code").value_or("");
  const std::string where = path.repository_uri();
  const char* const kind = path.is_dataset ? "data set" : "model";
  if (code == "GatedRepo") {
    return Error(Code::kNotPermitted, cat("this ", kind, " is gated", said), where,
                 cat("accept its terms at ", options_.endpoint, "/", path.web_path(),
                     token_.empty() ? ", and give a token in HF_TOKEN" : ""));
  }
  if (code == "RevisionNotFound") {
    return Error(Code::kNotFound, cat("the hub has no such revision", said), where,
                 cat("see ", options_.endpoint, "/", path.web_path(), "/branches"));
  }
  if (status == 404 || (status == 401 && token_.empty())) {
    return Error(Code::kNotFound, cat("the hub has no such ", kind, ", or it is private", said),
                 where,
                 token_.empty() ? "check the spelling; for a private one give a token in HF_TOKEN"
                                : "check the spelling, and that the token gives access to it");
  }
  if (status == 401 || status == 403) {
    return Error(Code::kNotPermitted, cat("the hub refuses the token", said), where,
                 "make a new one at https://huggingface.co/settings/tokens");
  }
  if (status == 408 || status == 429 || status >= 500) {
    return Error(Code::kUnavailable, cat("the hub is temporarily unavailable", said), where)
        .after(answer.headers().retry_after_s());
  }
  return Error(Code::kBadData, cat("the hub refuses the request", said), where);
}

HubSnapshot HubRequests::snapshot(const HubPath& path) {
  const std::string url = cat(options_.endpoint, "/api/", path.api_path(), "/revision/",
                              percent_encoded(path.revision), "?blobs=true");
  const std::unique_ptr<HttpStream> answer = get(url, "", {});
  if (answer->status() != 200) throw refusal(*answer, path);
  const std::vector<std::byte> body = whole_list(*answer, path);
  return parse_snapshot(as_text(body), path);
}

std::unique_ptr<HttpStream> HubRequests::open(const HubPath& path, const std::string& commit,
                                              const HubFile& file, uint64_t offset,
                                              const std::stop_token& stop) {
  const std::string url = cat(options_.endpoint, "/", path.web_path(), "/resolve/", commit, "/",
                              encoded_path(file.path));
  ReadOptions part;
  part.offset = offset;
  std::unique_ptr<HttpStream> answer = get(url, range_field(part), stop);
  if (answer->status() != 200 && answer->status() != 206) throw refusal(*answer, path);
  return answer;
}

}  // namespace berth
