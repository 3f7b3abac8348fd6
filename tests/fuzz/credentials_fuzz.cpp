#include <string>

#include "storage/base/error.h"
#include "storage/google/credential_types.h"
#include "storage/google/token_answer.h"

// Reads the same bytes once as a credential file and once as the answer of a token server.
namespace {

class NoHttp final : public berth::HttpClient {
 public:
  std::unique_ptr<berth::HttpStream> open(const berth::HttpRequest&) override { __builtin_trap(); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  NoHttp http;
  const berth::TokenContext context{http, [] { return 1e9; }, "metadata.google.internal"};
  try {
    const berth::CredentialFields fields(text, "key.json");
    berth::make_token_source(fields, context, berth::kStorageScope);
    berth::holds_a_key(fields);
  } catch (const berth::Error& error) {
    if (error.code() != berth::Code::kUsage) __builtin_trap();
  }

  const berth::HttpAnswer answer{.status = 400, .body = text};
  const berth::TokenRequest request{.url = "https://oauth.example/token",
                                    .secrets = {"a-secret-of-the-account"}};
  const std::string refusal = berth::refusal(answer, request).what();
  if (refusal.size() > 400 || refusal.find("a-secret") != std::string::npos) __builtin_trap();
  try {
    if (berth::parse_token_answer(answer, 1e9, request).value.empty()) __builtin_trap();
  } catch (const berth::Error&) {
  }
  try {
    if (berth::parse_iam_answer(answer, request).value.empty()) __builtin_trap();
  } catch (const berth::Error&) {
  }
  return 0;
}
