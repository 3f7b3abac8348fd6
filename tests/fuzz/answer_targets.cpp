#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/google/credential_types.h"
#include "storage/google/gcs_requests.h"
#include "storage/google/token_request.h"
#include "storage/hub/content_hash.h"
#include "storage/hub/hub_requests.h"
#include "storage/storage.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_http.h"

namespace berth {
namespace {

void uri(Bytes input) {
  may_refuse([&] {
    const Uri parsed = Uri::parse(as_text(input));
    require(Uri::parse(parsed.url()) == parsed);
  });
}

// The first 24 bytes are the secret, and the others the text.
void secrets(Bytes input) {
  constexpr size_t kSecretBytes = 24, kShared = 16;
  if (input.size() < kSecretBytes) return;
  const std::string_view secret = as_text(input).substr(0, kSecretBytes);
  const std::string_view text = as_text(input).substr(kSecretBytes);
  SecretSet set;
  set.add(secret);
  const std::vector<bool> found = set.find_in(text, kShared);
  require(found.size() == text.size());
  const size_t plain = text.find(secret);
  for (size_t i = 0; plain != text.npos && i < kSecretBytes; ++i) require(found[plain + i]);
}

class NoHttp final : public HttpClient {
 public:
  std::unique_ptr<HttpStream> open(const HttpRequest&) override { __builtin_trap(); }
};

// Reads the same bytes once as a credential file and once as the answer of a token server.
void credentials(Bytes input) {
  const std::string text(as_text(input));
  NoHttp http;
  const TokenContext context{http, [] { return 1e9; }, "metadata.google.internal"};
  try {
    const CredentialFields fields(text, "key.json");
    make_token_source(fields, context, kStorageScope);
    holds_a_key(fields);
  } catch (const Error& error) {
    require(error.code() == Code::kUsage);
  }

  const HttpAnswer answer{.status = 400, .body = text};
  const TokenRequest request{.url = "https://oauth.example/token",
                             .secrets = {"a-secret-of-the-account"}};
  const std::string told = refusal(answer, request).what();
  require(told.size() <= 400 && told.find("a-secret") == std::string::npos);
  may_refuse([&] { require(!parse_token_answer(answer, 1e9, request).value.empty()); });
  may_refuse([&] { require(!parse_iam_answer(answer, request).value.empty()); });
}

// Reads the input as each kind of answer of Google Cloud Storage: an object's JSON, the body of an
// error, and a checksum.
void gcs_answer(Bytes input) {
  const Uri object = Uri::parse("gs://bucket/object");
  const std::string_view text = as_text(input);
  may_refuse([&] { parse_gcs_object(text, object); });
  gcs_error(403, {}, text, object, "storage.objects.get");
  const auto crc = parse_gcs_crc(text);
  require(!crc || gcs_crc(*crc) == text || text.size() == 8);
}

constexpr std::string_view kEndpoint = "https://hub.example", kToken = "hf_aVerySecretToken0123";

HttpAnswer parse_answer(std::string_view text) {
  if (text.starts_with('{')) return {.status = 200, .body = std::string(text)};
  HttpAnswer answer;
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
void check_request(const HttpRequest& request) {
  const std::string_view url = request.url;
  require(url.starts_with("https://"));
  const bool is_endpoint = url.starts_with(kEndpoint) &&
                           (url.size() == kEndpoint.size() ||
                            std::string_view("/?#").find(url[kEndpoint.size()]) != url.npos);
  require(request.headers.find("Authorization").has_value() == is_endpoint);
}

void check_snapshot(const HubSnapshot& snapshot) {
  require(is_commit(snapshot.commit));
  require(std::ranges::is_sorted(snapshot.files, {}, &HubFile::path));
  for (const HubFile& file : snapshot.files) {
    const std::filesystem::path path(file.path);
    require(path.is_relative() && !path.empty() && ContentHash::is_one(file.hash));
    for (const auto& part : path) require(part != ".." && part != "." && !part.empty());
  }
}

// The answers of a hub, one after the other and then the last one for ever: a status, header fields
// "Name: value", an empty line and the body, as in HTTP/1.1 without its version. A zero byte ends
// an answer. An input without one that begins with "{" is the body of a list of files.
void hub(Bytes input) {
  std::string_view rest = as_text(input);
  FakeHttp http([&](const AskedRequest& asked) {
    check_request(asked.request);
    const std::string_view answer = rest.substr(0, rest.find('\0'));
    if (answer.size() < rest.size()) rest.remove_prefix(answer.size() + 1);
    return parse_answer(answer);
  });
  HubRequests requests(http, {.endpoint = std::string(kEndpoint), .token = std::string(kToken)});
  const auto path = HubPath::parse(Uri::parse("hf://datasets/org/name@v1.0"));
  try {
    const HubSnapshot snapshot = requests.snapshot(path);
    check_snapshot(snapshot);
    if (!snapshot.files.empty()) {
      requests.open(path, snapshot.commit, snapshot.files.front(), 7, {});
    }
  } catch (const Error& error) {
    require(cat(error.what()).find(kToken) == std::string::npos);
  }
}

const FuzzTargets kAnswerTargets = {{"credentials", credentials},
                                    {"gcs_answer", gcs_answer},
                                    {"hub", hub},
                                    {"secrets", secrets},
                                    {"uri", uri}};

}  // namespace
}  // namespace berth
