#include "storage/storage.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::string_view kSchemes[] = {"file", "gs", "hf", "http", "https"};

bool is_known(std::string_view scheme) {
  return std::find(std::begin(kSchemes), std::end(kSchemes), scheme) != std::end(kSchemes);
}

bool is_web_scheme(std::string_view scheme) { return scheme == "http" || scheme == "https"; }

// Returns the scheme before "://" (RFC 3986 section 3.1) in lower case, or an empty string.
std::string scheme_of(std::string_view text) {
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return "";
  const std::string scheme = lower_ascii(text.substr(0, colon));
  for (const char c : scheme) {
    const bool letter = c >= 'a' && c <= 'z';
    const bool later = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && !(later && &c != scheme.data())) return "";
  }
  return scheme;
}

// Remembers the query, the user and the password of a web address, also of one whose scheme is
// spelled wrongly, because errors quote it.
void remember_secrets_of(std::string_view text) {
  constexpr size_t kLongValue = 16;  // shorter ones may be words that occur elsewhere
  const size_t name_end = text.find_first_of(":/");
  if (name_end == 0 || name_end == std::string_view::npos || text.find('/') > name_end + 1) return;
  const std::string name = lower_ascii(text.substr(0, name_end));
  const bool is_other = name == "file" || name == "gs" || name == "hf";
  if (is_other || (text[name_end] == '/' && !name.starts_with("http"))) return;
  const size_t query = std::min(text.find('?'), text.size());
  remember_secret(text.substr(query));
  for (size_t begin = query; begin < text.size();) {
    const size_t end = std::min(text.find('&', begin + 1), text.size());
    const size_t equals = text.substr(begin, end - begin).find('=');
    if (equals != std::string_view::npos) {
      const std::string_view value = text.substr(begin, end - begin).substr(equals + 1);
      if (value.size() >= kLongValue) remember_secret(value);
    }
    begin = end;
  }
  const size_t at = text.substr(0, query).rfind('@');
  if (at == std::string_view::npos) return;
  const size_t slash = text.substr(0, at).rfind('/');
  const std::string_view user = text.substr(slash + 1, at - slash);  // with the "@"
  remember_secret(user);
  const size_t colon = user.find(':');
  if (colon != std::string_view::npos)
    remember_secret(user.substr(colon + 1, user.size() - colon - 2));
}

// How an address of the scheme goes on after "://".
struct HostKind {
  const char *name, *example;
};
HostKind host_kind(std::string_view scheme) {
  if (scheme == "gs") return {"bucket", "bucket/object"};
  if (scheme == "hf") return {"repository", "organisation/name"};
  return {"host", "host/path"};
}

// Adds "@main" to a repository that has no organisation and no revision. Without it, a path that is
// appended later would read as the name after an organisation.
void complete_hub_name(std::string& host, std::string& path) {
  while (path.ends_with('/')) path.pop_back();
  const bool is_dataset = host == "datasets";
  std::string& name = is_dataset ? path : host;
  const bool is_alone = is_dataset ? path.find('/') == path.npos : path.empty();
  if (is_alone && !name.empty() && name.find('@') == name.npos) name += "@main";
}

}  // namespace

Uri Uri::parse(std::string_view text) {
  if (text.empty()) throw Error(Code::kUsage, "an empty path", "", "name a file or a gs:// URI");
  if (text.find('\0') != std::string_view::npos) {
    throw Error(Code::kUsage, "a path with a zero byte in it", quoted(text));
  }
  remember_secrets_of(text);
  Uri uri;
  const std::string scheme = scheme_of(text);
  if (scheme.empty()) {
    const size_t colon = text.find(":/");
    if (colon != std::string_view::npos && is_known(lower_ascii(text.substr(0, colon)))) {
      throw Error(Code::kUsage, "only one slash after the scheme", quoted(text),
                  cat("write ", text.substr(0, colon), "://"));
    }
    uri.path_ = text;
    return uri;
  }
  if (scheme == "bq") {  // so Vertex AI names the tables of a managed data set
    throw Error(Code::kUsage, "a table of BigQuery cannot be read", quoted(text),
                "export it to gs:// as Parquet, CSV or JSONL, and name those files");
  }
  if (!is_known(scheme)) {
    throw Error(Code::kUsage, cat("the scheme ", quoted(scheme), " is not known"), quoted(text),
                "use a local path, file:///, gs://, hf:// or https://");
  }
  const std::string_view rest = text.substr(scheme.size() + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  uri.scheme_ = scheme;
  uri.host_ = rest.substr(0, slash);
  if (const size_t at = uri.host_.rfind('@'); at != std::string::npos && is_web_scheme(scheme)) {
    uri.user_info_ = uri.host_.substr(0, at + 1);
    uri.host_.erase(0, at + 1);
  }
  if (uri.is_local()) {
    if (uri.host_ != "" && uri.host_ != "localhost") {
      throw Error(Code::kUsage, cat("files of the host ", quoted(uri.host_), " cannot be read"),
                  quoted(text), "write three slashes: file:///path");
    }
    uri.host_.clear();
    uri.path_ = rest.substr(slash);
    if (uri.path_.empty()) throw Error(Code::kUsage, "no path after the scheme", quoted(text));
    return uri;
  }
  if (uri.host_.empty()) {
    throw Error(Code::kUsage, cat("no ", host_kind(scheme).name),
                quoted(uri.user_info_.empty() ? text : uri.to_string()),
                cat("write ", scheme, "://", host_kind(scheme).example));
  }
  if (slash < rest.size()) uri.path_ = rest.substr(slash + 1);
  if (scheme == "hf") complete_hub_name(uri.host_, uri.path_);
  return uri;
}

Uri Uri::operator/(std::string_view child) const {
  Uri joined = *this;
  if (child.empty()) return joined;
  if (!joined.path_.empty() && joined.path_.back() != '/') joined.path_ += '/';
  joined.path_ += child;
  return joined;
}

std::string Uri::file_name() const { return std::string(last_part(without_query())); }

std::string Uri::to_string() const {
  return is_local() ? path_ : cat(scheme_, "://", host_, "/", without_query());
}

std::string Uri::url() const {
  return is_local() ? path_ : cat(scheme_, "://", user_info_, host_, "/", path_);
}

Uri Uri::with_path(std::string path) const {
  Uri other = *this;
  other.path_ = std::move(path);
  return other;
}

std::string Uri::without_query() const {
  return is_web_scheme(scheme_) ? path_.substr(0, path_.find_first_of("?#")) : path_;
}

}  // namespace berth
