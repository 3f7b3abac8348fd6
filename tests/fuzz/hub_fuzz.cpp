#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/hub/content_hash.h"
#include "storage/hub/hub_requests.h"
#include "tests/support/fake_http.h"

// The answers of a hub, one after the other and then the last one for ever: a status, header fields
// "Name: value", an empty line and the body, as in HTTP/1.1 without its version. A zero byte ends
// an answer. An input without one that begins with "{" is the body of a list of files.
namespace {

using berth::cat;

constexpr std::string_view kEndpoint = "https://hub.example", kToken = "hf_aVerySecretToken0123";

berth::HttpAnswer parse_answer(std::string_view text) {
  if (text.starts_with('{')) return {.status = 200, .body = std::string(text)};
  berth::HttpAnswer answer;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (is_first) {
      for (const char c : line.substr(0, 3)) answer.status = answer.status * 10 + (c & 15);
      continue;
    }
    if (line.empty()) break;
    const size_t colon = std::min(line.find(": "), line.size());
    answer.headers.add(std::string(line.substr(0, colon)),
                       std::string(line.substr(std::min(colon + 2, line.size()))));
  }
  answer.body = text;
  return answer;
}

// The token goes to the endpoint alone, and no address that it leads to is unencrypted.
void check_request(const berth::HttpRequest& request) {
  const std::string_view url = request.url;
  if (!url.starts_with("https://")) __builtin_trap();
  const bool is_endpoint = url.starts_with(kEndpoint) &&
                           (url.size() == kEndpoint.size() ||
                            std::string_view("/?#").find(url[kEndpoint.size()]) != url.npos);
  if (request.headers.find("Authorization").has_value() != is_endpoint) __builtin_trap();
}

void check_snapshot(const berth::HubSnapshot& snapshot) {
  if (!berth::is_commit(snapshot.commit)) __builtin_trap();
  if (!std::ranges::is_sorted(snapshot.files, {}, &berth::HubFile::path)) __builtin_trap();
  for (const berth::HubFile& file : snapshot.files) {
    const std::filesystem::path path(file.path);
    if (!path.is_relative() || path.empty() || !berth::ContentHash::is_one(file.hash)) {
      __builtin_trap();
    }
    for (const auto& part : path) {
      if (part == ".." || part == "." || part.empty()) __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  berth::FakeHttp http([&](const berth::AskedRequest& asked) {
    check_request(asked.request);
    const std::string_view answer = rest.substr(0, rest.find('\0'));
    if (answer.size() < rest.size()) rest.remove_prefix(answer.size() + 1);
    return parse_answer(answer);
  });
  berth::HubRequests requests(http,
                              {.endpoint = std::string(kEndpoint), .token = std::string(kToken)});
  const auto path = berth::HubPath::parse(berth::Uri::parse("hf://datasets/org/name@v1.0"));
  try {
    const berth::HubSnapshot snapshot = requests.snapshot(path);
    check_snapshot(snapshot);
    if (!snapshot.files.empty()) {
      requests.open(path, snapshot.commit, snapshot.files.front(), 7, {});
    }
  } catch (const berth::Error& error) {
    if (cat(error.what()).find(kToken) != std::string::npos) __builtin_trap();
  }
  return 0;
}
