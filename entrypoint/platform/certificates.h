#pragma once

#include <filesystem>

#include "storage/http/http_client.h"

namespace berth {

// The authorities that a job trusts: those that the environment names, or else the first file that
// is there of the places where Linux distributions keep theirs, below `root`, and of the program's
// own copy, ../share/berth/ca-certificates.crt as seen from `program_folder`. libcurl was built for
// the place of one distribution.
CertificateAuthorities find_authorities(const CertificateAuthorities& named,
                                        const std::filesystem::path& program_folder,
                                        const std::filesystem::path& root = "/");
CertificateAuthorities find_authorities(const CertificateAuthorities& named);

}  // namespace berth
