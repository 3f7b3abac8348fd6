#include "storage/hub/hub_path.h"

#include <algorithm>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::string_view kDatasets = "datasets/";
constexpr size_t kLongestName = 96;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The hub's rule for each part of a repository's name.
bool is_name(std::string_view part) {
  const auto is_allowed = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  };
  return !part.empty() && part.size() <= kLongestName &&
         std::all_of(part.begin(), part.end(), is_allowed) && part.front() != '-' &&
         part.front() != '.' && part.back() != '-' && part.back() != '.' &&
         part.find("--") == part.npos && part.find("..") == part.npos;
}

bool is_revision(std::string_view revision) {
  const auto is_allowed = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '/';
  };
  return !revision.empty() && revision.size() <= 200 &&
         std::all_of(revision.begin(), revision.end(), is_allowed) && revision.front() != '/' &&
         revision.back() != '/' && revision.front() != '.' &&
         revision.find("..") == revision.npos && revision.find("//") == revision.npos &&
         revision.find("/.") == revision.npos;
}

// Splits at the first `mark`, which is in neither half.
std::pair<std::string_view, std::string_view> split(std::string_view text, char mark) {
  const size_t at = text.find(mark);
  if (at == text.npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string without_encoded_slashes(std::string_view text) {
  std::string decoded(text);
  for (const std::string_view code : {"%2F", "%2f"}) {
    for (size_t at = 0; (at = decoded.find(code, at)) != decoded.npos;) decoded.replace(at, 3, "/");
  }
  return decoded;
}

[[noreturn]] void refuse(const Uri& uri, std::string_view problem) {
  throw Error(Code::kUsage, std::string(problem), uri.to_string(),
              "write hf://ORGANISATION/NAME@REVISION/PATH or hf://datasets/ORGANISATION/NAME");
}

}  // namespace

HubPath HubPath::parse(const Uri& uri) {
  HubPath parsed;
  const std::string whole = uri.path().empty() ? uri.host() : cat(uri.host(), "/", uri.path());
  std::string_view rest = whole;
  if (rest.starts_with(kDatasets)) {
    parsed.is_dataset = true;
    rest.remove_prefix(kDatasets.size());
  } else if (rest.starts_with("spaces/")) {
    refuse(uri, "a space of the hub holds programs, not models");
  }
  const auto [first, after_first] = split(rest, '/');
  std::string_view name, path = after_first;
  std::string_view organisation = {};
  if (first.find('@') != first.npos) {
    name = first;
  } else {
    organisation = first;
    std::tie(name, path) = split(after_first, '/');
  }
  std::string_view revision;
  std::tie(name, revision) = split(name, '@');
  if (name.empty()) std::swap(name, organisation);
  if (!is_name(name) || (!organisation.empty() && !is_name(organisation))) {
    refuse(uri, "the hub has no repository of such a name");
  }
  parsed.repository = organisation.empty() ? std::string(name) : cat(organisation, "/", name);
  if (!revision.empty()) parsed.revision = without_encoded_slashes(revision);
  if (!is_revision(parsed.revision)) refuse(uri, "the hub has no revision of such a name");
  while (path.ends_with('/')) path.remove_suffix(1);
  parsed.path = path;
  return parsed;
}

std::string HubPath::web_path() const {
  return is_dataset ? cat(kDatasets, repository) : repository;
}

std::string HubPath::api_path() const {
  return cat(is_dataset ? "datasets/" : "models/", repository);
}

std::string HubPath::cache_folder() const {
  std::string folder = is_dataset ? "datasets--" : "models--";
  for (const char c : repository) folder += c == '/' ? "--" : std::string(1, c);
  return folder;
}

std::string HubPath::repository_uri() const {
  return cat("hf://", web_path(), revision == "main" ? "" : cat("@", revision));
}

std::optional<std::string> hub_uri_of(std::string_view name) {
  const auto [repository, revision] = split(name, '@');
  const auto [first, second] = split(repository, '/');
  const bool has_slash = repository.size() > first.size();
  if (!is_name(first) || (has_slash && !is_name(second))) return std::nullopt;
  if (name.size() > repository.size() && !is_revision(revision)) return std::nullopt;
  std::string encoded;
  for (const char c : revision) encoded += c == '/' ? "%2F" : std::string(1, c);
  return cat("hf://", repository, "@", encoded.empty() ? "main" : encoded);
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace berth
