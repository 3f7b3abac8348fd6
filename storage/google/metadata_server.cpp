#include "storage/google/metadata_server.h"

#include <netdb.h>

#include <fstream>
#include <optional>

#include "storage/base/text.h"
#include "storage/google/no_credentials.h"
#include "storage/google/token_answer.h"

namespace berth {
namespace {

constexpr double kPatience_s = 60;
constexpr double kTimeout_s = 3;

bool is_googles_machine(const std::string& product_file) {
  std::string product;
  std::getline(std::ifstream(product_file), product);
  return product.starts_with("Google");
}

class MetadataServer final : public TokenSource {
 public:
  MetadataServer(const MetadataServerOptions& options, const TokenContext& context)
      : options_(options), context_(context) {}

  AccessToken fetch() override {
    const double now_s = context_.now();
    try {
      AccessToken token = ask(now_s);
      has_answered_ = true;
      return token;
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable || has_answered_) throw;
      if (!first_failure_s_) {
        first_failure_s_ = now_s;
        if (!is_googles_machine(options_.machine_product_file) &&
            !options_.resolves(options_.host)) {
          throw nobody("has no address");
        }
      }
      if (now_s - *first_failure_s_ >= kPatience_s) {
        throw nobody(cat("gave no token in ", kPatience_s, " s (", error.what(), ")"));
      }
      throw;
    }
  }

 private:
  AccessToken ask(double now_s) const {
    const TokenRequest request{
        .method = "GET",
        .url = cat("http://", options_.host,
                   "/computeMetadata/v1/instance/service-accounts/default/token"),
        .headers = {{"Metadata-Flavor", "Google"}},
        .timeout_s = kTimeout_s,
        .where = "metadata server",
        .hint = "check that a service account is attached to the machine or pod"};
    const HttpAnswer answer = exchange(context_.http, request);
    const bool is_google =
        lower_ascii(answer.headers.find("Metadata-Flavor").value_or("")) == "google";
    if (answer.status != 200) {
      const Error refused = refusal(answer, request);
      if (is_google || refused.code() == Code::kUnavailable) throw refused;
    }
    if (!is_google) throw nobody("answers, but is not Google's");
    return parse_token_answer(answer, now_s, request);
  }

  Error nobody(const std::string& why) const {
    return no_credentials(
        cat(options_.tried_before, ", and the metadata server ", options_.host, " ", why));
  }

  const MetadataServerOptions options_;
  const TokenContext context_;
  std::optional<double> first_failure_s_;
  bool has_answered_ = false;
};

}  // namespace

bool MetadataServerOptions::has_address(const std::string& host) {
  addrinfo* found = nullptr;
  const std::string name = host.substr(0, host.find(':'));
  if (getaddrinfo(name.c_str(), nullptr, nullptr, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

std::unique_ptr<TokenSource> metadata_server(const MetadataServerOptions& options,
                                             const TokenContext& context) {
  return std::make_unique<MetadataServer>(options, context);
}

}  // namespace berth
