#include "entrypoint/platform/certificates.h"

#include <system_error>

#include "entrypoint/platform/program_folder.h"

namespace berth {
namespace {

constexpr const char* kPlaces[] = {
    "etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Gentoo, Alpine
    "etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "etc/ssl/ca-bundle.pem",                             // openSUSE
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL without the older name
    "etc/ssl/cert.pem",                                  // Alpine and others without the package
};

}  // namespace

CertificateAuthorities find_authorities(const CertificateAuthorities& named,
                                        const std::filesystem::path& program_folder,
                                        const std::filesystem::path& root) {
  if (!named.file.empty() || !named.folder.empty()) return named;
  std::error_code unreadable;
  for (const char* place : kPlaces) {
    if (std::filesystem::exists(root / place, unreadable)) return {.file = root / place};
  }
  const std::filesystem::path own =
      (program_folder / "../share/berth/ca-certificates.crt").lexically_normal();
  return {.file = std::filesystem::exists(own, unreadable) ? own.string() : ""};
}

CertificateAuthorities find_authorities(const CertificateAuthorities& named) {
  return find_authorities(named, program_folder());
}

}  // namespace berth
