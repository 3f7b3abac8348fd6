#pragma once

#include <filesystem>

#include "storage/http/http_client.h"

namespace berth {

// The authorities that a job trusts: the authorities that the environment names, or else the first
// file that exists in a list. The list has the paths of Linux distributions, below `root`, and then
// the program's own copy, `program_folder`/../share/berth/ca-certificates.crt. libcurl was built
// for the path of one distribution.
CertificateAuthorities find_authorities(const CertificateAuthorities& named,
                                        const std::filesystem::path& program_folder,
                                        const std::filesystem::path& root = "/");
CertificateAuthorities find_authorities(const CertificateAuthorities& named);

}  // namespace berth
