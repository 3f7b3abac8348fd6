#include "entrypoint/platform/program_files.h"

#include <system_error>

namespace berth {

std::filesystem::path program_folder() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path();
}

std::optional<std::filesystem::path> find_bundled_model() {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  const fs::path directory = program_folder();
  for (const fs::path& candidate :
       {directory / "../share/berth/model", directory / "../../examples/model"}) {
    if (fs::exists(candidate / "config.json", unreadable)) return candidate.lexically_normal();
  }
  return std::nullopt;
}

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
