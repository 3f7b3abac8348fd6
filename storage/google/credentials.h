#pragma once

#include <memory>
#include <string>

#include "storage/base/clock.h"
#include "storage/http/http_client.h"

namespace berth {

// The identity under which requests are made. Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // Returns the header fields that authorize one request: Authorization and x-goog-user-project. If
  // there is no fresh token, one thread fetches it while the others wait. Throws kUnavailable if
  // another attempt may help. Otherwise throws kNotPermitted, or kUsage for a bad credential file.
  // Error messages and log lines never contain secrets.
  virtual HttpHeaders headers() = 0;

  // Call this after a request with these fields was answered with 401. Drops the token. Returns
  // false if a new token cannot help, because there are no credentials.
  virtual bool drop(const HttpHeaders& refused) = 0;
};

// Where to look for credentials. entrypoint/ fills this in from the environment.
struct CredentialOptions {
  std::string application_credentials{};  // GOOGLE_APPLICATION_CREDENTIALS; empty: not set
  std::string gcloud_directory{};  // CLOUDSDK_CONFIG, or HOME/.config/gcloud; empty: not used
  std::string metadata_host = "metadata.google.internal";  // GCE_METADATA_HOST: host[:port]
  bool metadata_server = true;                             // false if NO_GCE_CHECK=true
  // A file whose text begins with "Google" on Google's machines. On any other machine, a metadata
  // host that does not resolve means at once that there is no metadata server.
  std::string machine_product_file = "/sys/class/dmi/id/product_name";
};

// Returns credentials that send nothing, for public objects and emulators.
std::unique_ptr<Credentials> anonymous_credentials();

// Returns Application Default Credentials. It looks in this order: the file that
// GOOGLE_APPLICATION_CREDENTIALS names, gcloud's application_default_credentials.json, and the
// metadata server. Supported types of file are service_account, authorized_user, external_account
// (with a file or url source) and impersonated_service_account. A file that exists but is invalid
// throws kUsage; it is never skipped. If nothing is found, throws kNotPermitted, which lists what
// was tried.
//
// Reads the file at once, but makes no request before the first headers(). `http` must outlive the
// result. `now` returns seconds since 1970.
std::unique_ptr<Credentials> default_credentials(const CredentialOptions& options, HttpClient& http,
                                                 Clock now = wall_clock_s);

}  // namespace berth
