#pragma once

#include <filesystem>
#include <optional>

#include "storage/http/http_client.h"

namespace berth {

// The folder that holds this program's file; empty where /proc does not say.
std::filesystem::path program_folder();

// The folder of the model with which a job starts if it names none. It is installed with the
// program (../share/berth/model from bin/), or it is examples/model of the checkout in which the
// program was built. nullopt: both are absent.
std::optional<std::filesystem::path> find_bundled_model();

// The authorities that a job trusts: the authorities that the environment names, or else the first
// file that exists in a list. The list has the paths of Linux distributions, below `root`, and then
// the program's own copy, `program_folder`/../share/berth/ca-certificates.crt. libcurl was built
// for the path of one distribution.
CertificateAuthorities find_authorities(const CertificateAuthorities& named,
                                        const std::filesystem::path& program_folder,
                                        const std::filesystem::path& root = "/");
CertificateAuthorities find_authorities(const CertificateAuthorities& named);

}  // namespace berth
