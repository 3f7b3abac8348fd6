#pragma once

#include <memory>
#include <string>

#include "storage/base/clock.h"
#include "storage/http/http_client.h"

namespace berth {

// Who asks. Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // The header fields of one request: Authorization, x-goog-user-project. Fetches a token where
  // none is fresh: one thread does, the others wait. Throws kUnavailable when another try may help,
  // kNotPermitted (kUsage for a bad file) when not. No error, and no log line, holds a secret.
  virtual HttpHeaders headers() = 0;

  // A request with these fields was answered 401: their token is dropped. False when asking again
  // cannot help, as there is none.
  virtual bool drop(const HttpHeaders& refused) = 0;
};

// What tells where credentials are. The environment's, read by entrypoint/platform.
struct CredentialOptions {
  std::string application_credentials{};  // GOOGLE_APPLICATION_CREDENTIALS; empty: not set
  std::string gcloud_directory{};         // CLOUDSDK_CONFIG, or HOME/.config/gcloud; empty: none
  std::string metadata_host = "metadata.google.internal";  // GCE_METADATA_HOST: host[:port]
  bool metadata_server = true;                             // NO_GCE_CHECK=true: false
  // /sys/class/dmi/id/product_name: "Google..." on Google's machines. Elsewhere a metadata host
  // that does not resolve is no metadata server, at once.
  std::string machine_product_file = "/sys/class/dmi/id/product_name";
};

// Requests without credentials, for public objects and emulators.
std::unique_ptr<Credentials> anonymous_credentials();

// Application Default Credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names; gcloud's
// application_default_credentials.json; the metadata server. A file that is there but bad is an
// error (kUsage), never passed over. Files of type service_account, authorized_user,
// external_account (file and url sources) and impersonated_service_account. Where there is none of
// them, kNotPermitted lists what was tried. Reads the file at once; no request is made before the
// first headers(). `http` outlives them. `now` counts seconds since 1970.
std::unique_ptr<Credentials> default_credentials(const CredentialOptions& options, HttpClient& http,
                                                 Clock now = wall_clock_s);

}  // namespace berth
