#include <gtest/gtest.h>

#include "entrypoint/platform/platform.h"
#include "entrypoint/platform/program_files.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class Certificates : public testing::Test {
 protected:
  void put(const fs::path& file) {
    fs::create_directories((scratch_.path() / file).parent_path());
    write_text(scratch_.path() / file, "a certificate");
  }
  std::string found(const CertificateAuthorities& named = {}) {
    return find_authorities(named, scratch_.path() / "opt/bin", scratch_.path()).file;
  }

  ScratchDirectory scratch_;
};

TEST_F(Certificates, AreThoseOfTheDistribution) {
  put("opt/share/berth/ca-certificates.crt");
  for (const char* place :
       {"etc/ssl/cert.pem", "etc/ssl/ca-bundle.pem", "etc/pki/tls/certs/ca-bundle.crt",
        "etc/ssl/certs/ca-certificates.crt"}) {
    put(place);
    EXPECT_EQ(found(), scratch_ / place);
  }
}

TEST_F(Certificates, AreTheProgramsOwnWhereTheSystemHasNone) {
  EXPECT_EQ(found(), "");  // what libcurl was built with
  put("opt/share/berth/ca-certificates.crt");
  EXPECT_EQ(found(), scratch_ / "opt/share/berth/ca-certificates.crt");
}

TEST_F(Certificates, OfTheEnvironmentComeFirst) {
  put("etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(found({.file = "/a.pem"}), "/a.pem");
  EXPECT_EQ(found({.folder = "/certificates"}), "");
}

TEST_F(Certificates, AreNamedByTheVariablesOfOpenSslCurlAndRequests) {
  const auto read = [](const std::string& wanted, const std::string& value) {
    return read_platform([&](const char* name) { return wanted == name ? value.c_str() : nullptr; })
        .authorities;
  };
  EXPECT_EQ(read("SSL_CERT_FILE", "/a.pem").file, "/a.pem");
  EXPECT_EQ(read("SSL_CERT_DIR", "/a").folder, "/a");
  EXPECT_EQ(read("CURL_CA_BUNDLE", "/a.pem").file, "/a.pem");
  EXPECT_EQ(read("REQUESTS_CA_BUNDLE", "/a.pem").file, "/a.pem");
  EXPECT_EQ(read("REQUESTS_CA_BUNDLE", scratch_.path()).folder, scratch_.path());
  const CertificateAuthorities both = read_platform([](const char* name) {
                                        return std::string(name) == "SSL_CERT_FILE"    ? "/a.pem"
                                               : std::string(name) == "CURL_CA_BUNDLE" ? "/b.pem"
                                                                                       : nullptr;
                                      }).authorities;
  EXPECT_EQ(both.file, "/a.pem");
}

}  // namespace
}  // namespace berth
