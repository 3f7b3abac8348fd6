#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/google/cached_credentials.h"
#include "storage/google/credential_types.h"
#include "storage/google/credentials.h"
#include "storage/google/local_text.h"
#include "storage/google/metadata_server.h"
#include "storage/google/no_credentials.h"
#include "storage/google/secret_text.h"

namespace berth {
namespace {

constexpr char kVariable[] = "GOOGLE_APPLICATION_CREDENTIALS";

std::unique_ptr<Credentials> from_text(LocalText file, const std::string& path,
                                       const TokenContext& context) {
  const CredentialFields fields(file.text, path);
  wipe(file.text);
  auto source = make_token_source(fields, context, kStorageScope);
  if (file.is_shared && holds_a_key(fields)) {
    log_warning(cat(path, ": others may read these credentials; run: chmod 600 ", path));
  }
  log_info(cat("credentials: ", fields.text("type"), " of ", path));
  return std::make_unique<CachedCredentials>(std::move(source), fields.text("quota_project_id", ""),
                                             context.now);
}

}  // namespace

std::unique_ptr<Credentials> default_credentials(const CredentialOptions& options, HttpClient& http,
                                                 Clock now) {
  const TokenContext context{http, std::move(now), options.metadata_host};

  if (const std::string& path = options.application_credentials; !path.empty()) {
    std::optional<LocalText> file = read_local_text(path);
    if (!file) {
      throw Error(Code::kUsage, cat("the file that ", kVariable, " names is absent"), path,
                  "correct the path, and in a container check that the volume is mounted");
    }
    return from_text(std::move(*file), path, context);
  }
  std::string tried = cat(kVariable, " is not set");

  if (!options.gcloud_directory.empty()) {
    const std::string path = options.gcloud_directory + "/application_default_credentials.json";
    if (std::optional<LocalText> file = read_local_text(path)) {
      return from_text(std::move(*file), path, context);
    }
    tried += cat(", ", path, " is absent");
  }

  if (!options.metadata_server) {
    throw no_credentials(tried + ", and NO_GCE_CHECK forbids the metadata server");
  }
  log_info(cat("credentials: the metadata server ", options.metadata_host));
  return std::make_unique<CachedCredentials>(
      metadata_server({.host = options.metadata_host,
                       .machine_product_file = options.machine_product_file,
                       .tried_before = tried},
                      context),
      "", context.now);
}

}  // namespace berth
