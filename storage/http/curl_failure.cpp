#include "storage/http/curl_failure.h"

#include "storage/base/text.h"

namespace berth {
namespace {

std::string authorities_hint(const CertificateAuthorities& authorities) {
  const std::string& named = authorities.file.empty() ? authorities.folder : authorities.file;
  return cat("its certificate must be signed by an authority in ",
             named.empty() ? "/etc/ssl/certs" : named,
             "; the environment variable SSL_CERT_FILE names another file of authorities");
}

}  // namespace

Error curl_failure(CURLcode code, const std::string& detail, const std::string& host,
                   const CertificateAuthorities& authorities) {
  const std::string problem =
      cat("no answer (", detail.empty() ? curl_library().easy_strerror(code) : detail, ")");
  // libcurl takes an answer without a status line for HTTP/0.9, which it does not support.
  if (detail.find("HTTP/0.9") != std::string::npos) return Error(Code::kUnavailable, problem, host);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Error(Code::kUsage, problem, host, "check the URL");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
      return Error(Code::kNotPermitted, problem, host, authorities_hint(authorities));
    case CURLE_TOO_MANY_REDIRECTS:
      return Error(Code::kNotFound, problem, host);
    case CURLE_COULDNT_RESOLVE_HOST:
      return Error(Code::kUnavailable, cat("no answer (", kUnknownHost, ")"), host);
    case CURLE_OUT_OF_MEMORY:
      return Error(Code::kMemory, problem, host);
    default:
      return Error(Code::kUnavailable, problem, host);
  }
}

}  // namespace berth
