#include "storage/http/redirects.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace berth {
namespace {

bool is_link_local_text(const char* text) {
  sockaddr_storage storage{};
  if (std::strchr(text, ':') != nullptr) {
    auto& six = reinterpret_cast<sockaddr_in6&>(storage);
    six.sin6_family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, text, &six.sin6_addr), 1) << text;
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(storage);
    four.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, text, &four.sin_addr), 1) << text;
  }
  return is_link_local(reinterpret_cast<const sockaddr&>(storage));
}

TEST(Redirects, LinkLocalAddressesAreKnown) {
  for (const char* address : {"169.254.0.0", "169.254.169.254", "169.254.255.255", "fe80::1",
                              "febf::1", "::ffff:169.254.1.1", "fd00:ec2::254", "fd20:ce::254"}) {
    EXPECT_TRUE(is_link_local_text(address)) << address;
  }
  for (const char* address : {"169.253.0.1", "169.255.0.1", "127.0.0.1", "10.0.0.1", "fec0::1",
                              "::1", "::ffff:10.0.0.1", "2001:db8::1", "fd00:ec2::255"}) {
    EXPECT_FALSE(is_link_local_text(address)) << address;
  }
}

TEST(Redirects, ToOtherServersAndPathsAreFollowed) {
  for (const char* location :
       {"", "/a", "a b", "?x=http://169.254.169.254/", "a?b=//169.254.169.254",
        "https://cdn.example.com/x?y=z", "http://10.0.0.1:8080/", "//host_1/x", "https://[::1]/",
        "HTTP://EXAMPLE.COM", "http://user:word@host/"}) {
    EXPECT_EQ(refused_redirect(location), "") << location;
  }
}

TEST(Redirects, ToLinkLocalAddressesAreRefusedHoweverTheyAreWritten) {
  for (const char* location :
       {"http://169.254.169.254", "http://169.254.169.254:80/x", "HTTP://169.254.1.1?x",
        "http://user@169.254.1.1/", "http://2852039166/", "http://0xA9FEA9FE/",
        "http://0251.0376.1.1/", "http://169.254.257/", "http:///169.254.1.1/", "//169.254.1.1",
        "http://169.254.1.1./", "https://Metadata.Google.Internal./computeMetadata/v1/",
        "http://[fe80::1]:80/", "http://[::ffff:169.254.1.1]/", "http://[::ffff:a9fe:101]/"}) {
    EXPECT_NE(refused_redirect(location).find("link-local"), std::string::npos) << location;
  }
}

TEST(Redirects, ToWhatIsNoHostAreRefused) {
  for (const char* location :
       {"http://a b/", "http://%31%36/", "http://a\\b/", "http://[::1", "http://[x]/",
        "http://\xEF\xBC\x91.2.3.4/", "http://[fe80::1%25eth0]/"}) {
    EXPECT_EQ(refused_redirect(location), "a malformed address") << location;
  }
}

}  // namespace
}  // namespace berth
