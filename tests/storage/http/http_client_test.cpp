#include "storage/http/http_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "tests/support/http_server.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class HttpClientTest : public testing::Test {
 protected:
  // Starts a server that answers every request by calling `answer`.
  HttpServer& serve(HttpServer::Handle answer) { return server_.emplace(std::move(answer)); }

  HttpAnswer get(const std::string& target) {
    return client_->send({.url = server_->url() + target});
  }

  std::optional<HttpServer> server_;
  std::unique_ptr<HttpClient> client_ = make_http_client({.stall_timeout_s = 0.3});
};

TEST_F(HttpClientTest, SendsMethodTargetFieldsAndBody) {
  ServedRequest seen;
  serve([&](const ServedRequest& request) {
    seen = request;
    return ServedAnswer{.body = "done"};
  });
  const std::string a = "first ", b = "second";
  const HttpAnswer answer = client_->send({.method = "PUT",
                                           .url = server_->url() + "/a/../b%2Fc?d=%20",
                                           .headers = {{"X-One", "1"}, {"X-Empty", ""}},
                                           .body = {as_bytes(a), {}, as_bytes(b)}});
  EXPECT_EQ(answer.body, "done");
  EXPECT_EQ(seen.method, "PUT");
  EXPECT_EQ(seen.target, "/a/../b%2Fc?d=%20");
  EXPECT_EQ(seen.body.view(), "first second");
  EXPECT_EQ(seen.header("x-one"), "1");
  EXPECT_EQ(seen.header("x-empty"), "");
  EXPECT_EQ(seen.header("content-length"), "12");
  EXPECT_FALSE(seen.header("expect"));
}

TEST_F(HttpClientTest, EveryStatusIsAnAnswer) {
  for (const int status : {204, 301, 308, 404, 412, 500, 503}) {
    serve([&](const ServedRequest&) { return ServedAnswer{.status = status}; });
    EXPECT_EQ(get("/").status, status);
  }
}

TEST_F(HttpClientTest, FieldsOfTheAnswerAreFoundWithoutCase) {
  serve([](const ServedRequest&) {
    return ServedAnswer{.headers = {{"X-Hash", "a=1"}, {"x-hash", "b=2"}}};
  });
  EXPECT_THAT(get("/").headers.find_all("X-HASH"), testing::ElementsAre("a=1", "b=2"));
}

TEST_F(HttpClientTest, ConnectionsAreKept) {
  serve([](const ServedRequest&) { return ServedAnswer{.body = "x"}; });
  for (int i = 0; i < 5; ++i) get("/");
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(HttpClientTest, ChunkedBodiesArrive) {
  serve([](const ServedRequest&) {
    return ServedAnswer{.body = std::string(100'000, 'x'), .chunked = true};
  });
  EXPECT_EQ(get("/").body, std::string(100'000, 'x'));
}

TEST_F(HttpClientTest, ASlowReaderIsNoStall) {
  // The time must be long enough for a server on a busy machine.
  client_ = make_http_client({.stall_timeout_s = 1.5});
  serve([](const ServedRequest&) { return ServedAnswer{.body = std::string(20 << 20, 'x')}; });
  const auto stream = client_->open({.url = server_->url()});
  std::vector<std::byte> buffer(1 << 20);
  size_t size = 0;
  while (const size_t count = stream->read(buffer)) {
    if (size == 0) sleep_s(2);
    size += count;
  }
  EXPECT_EQ(size, size_t{20} << 20);
}

TEST_F(HttpClientTest, BrokenConnectionsAreTransient) {
  const WireFault faults[] = {{.reset = true},  {.cut_header = true},
                              {.cut_after = 3}, {.cut_after = 3, .cut_resets = true},
                              {.stall_s = 3},   {.stall_s = 3, .stall_at = 4}};
  for (const WireFault& fault : faults) {
    serve([&](const ServedRequest&) { return ServedAnswer{.body = "0123456789", .fault = fault}; });
    EXPECT_THAT([&] { get("/"); }, ThrowsCode(Code::kUnavailable));
    serve([&](const ServedRequest&) {
      return ServedAnswer{.body = "0123456789", .chunked = true, .fault = fault};
    });
    EXPECT_THAT([&] { get("/"); }, ThrowsCode(Code::kUnavailable));
  }
}

TEST_F(HttpClientTest, AnAbsentServerIsTransient) {
  const std::string url = serve([](const ServedRequest&) { return ServedAnswer{}; }).url();
  server_.reset();
  EXPECT_THAT([&] { client_->send({.url = url}); }, ThrowsCode(Code::kUnavailable, "127.0.0.1"));
  EXPECT_THAT([&] { client_->send({.url = "http://nowhere.invalid/"}); },
              ThrowsCode(Code::kUnavailable, "nowhere.invalid"));
}

TEST_F(HttpClientTest, TellsWhetherAServerAcceptedTheConnection) {
  client_ = make_http_client({});
  const auto problem = [&](const std::string& url) {
    try {
      client_->send({.url = url, .timeout_s = 0.4, .connect_timeout_s = 0.2});
      return std::string();
    } catch (const Error& error) {
      return error.problem();
    }
  };
  serve([](const ServedRequest&) { return ServedAnswer{.fault = {.stall_s = 1}}; });
  EXPECT_THAT(problem(server_->url()), testing::HasSubstr("no answer"));
  const std::string url = server_->url();
  server_.reset();
  EXPECT_THAT(problem(url), testing::HasSubstr(std::string(kNoConnection)));

  // A server whose queue of new connections is full.
  const FileDescriptor busy(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  ASSERT_EQ(::bind(busy.get(), address, size), 0);
  ASSERT_EQ(::listen(busy.get(), 0), 0);
  ASSERT_EQ(::getsockname(busy.get(), address, &size), 0);
  std::vector<FileDescriptor> queued;
  for (int i = 0; i < 4; ++i) {
    queued.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    ::connect(queued.back().get(), address, size);
  }
  EXPECT_THAT(problem(cat("http://127.0.0.1:", ntohs(place.sin_port))),
              testing::HasSubstr(std::string(kNoConnection)));
}

TEST_F(HttpClientTest, AnInvalidUrlIsAUsageError) {
  for (const char* url : {"", "http://", "file:///etc/passwd", "ftp://a/b", "http://a:b:c/"}) {
    EXPECT_THAT([&] { client_->send({.url = url}); }, ThrowsCode(Code::kUsage)) << url;
  }
}

TEST_F(HttpClientTest, ErrorsShowNoPathQueryOrUser) {
  try {
    client_->send({.url = "http://user:word@nowhere.invalid/secret-path?secret-query"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("secret")));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("word")));
  }
}

TEST_F(HttpClientTest, RedirectsAreFollowedWhereAsked) {
  serve([&](const ServedRequest& request) {
    if (request.path == "/end") return ServedAnswer{.body = "here"};
    return ServedAnswer{.status = 302, .headers = {{"Location", "/end"}}, .body = "elsewhere"};
  });
  EXPECT_EQ(get("/start").status, 302);
  const HttpAnswer answer =
      client_->send({.url = server_->url() + "/start", .follow_redirects = true});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "here");
}

TEST_F(HttpClientTest, RedirectsToOtherProtocolsOrWithoutEndAreRefused) {
  serve([&](const ServedRequest&) {
    return ServedAnswer{.status = 302, .headers = {{"Location", "file:///etc/passwd"}}};
  });
  EXPECT_THROW(client_->send({.url = server_->url(), .follow_redirects = true}), Error);
  serve([&](const ServedRequest&) {
    return ServedAnswer{.status = 302, .headers = {{"Location", "/again"}}};
  });
  EXPECT_THROW(client_->send({.url = server_->url(), .follow_redirects = true}), Error);
}

TEST_F(HttpClientTest, RedirectsToLinkLocalAddressesAreNotFollowed) {
  for (const char* location :
       {"http://169.254.169.254/latest/meta-data", "http://metadata.google.internal/",
        "http://2852039166/", "//[fe80::1]/", "http:/169.254.0.1"}) {
    serve([&](const ServedRequest&) {
      return ServedAnswer{.status = 302, .headers = {{"Location", location}}};
    });
    EXPECT_THAT([&] { client_->send({.url = server_->url(), .follow_redirects = true}); },
                ThrowsCode(Code::kNotPermitted, "link-local"))
        << location;
    EXPECT_EQ(get("/").status, 302) << "a caller that does not follow it";
  }
  EXPECT_THAT([&] { client_->send({.url = "http://169.254.169.254/", .is_redirected = true}); },
              ThrowsCode(Code::kNotPermitted, "link-local"));
}

// A proxy has the address here that a name may have elsewhere.
TEST_F(HttpClientTest, NoSocketLeadsFromARedirectToALinkLocalAddress) {
  serve([&](const ServedRequest&) {
    return ServedAnswer{.status = 302, .headers = {{"Location", "http://name.invalid/"}}};
  });
  ::setenv("http_proxy", "http://169.254.1.1:9", 1);
  ::setenv("no_proxy", "127.0.0.1", 1);
  EXPECT_THAT([&] { client_->send({.url = server_->url(), .follow_redirects = true}); },
              ThrowsCode(Code::kNotPermitted, "link-local"));
  ::unsetenv("http_proxy");
  ::unsetenv("no_proxy");
}

TEST_F(HttpClientTest, AMalformedLocationIsTheServersFault) {
  for (const char* location : {"http://a b/", "http://a b", "http://%31/", "http://a:b:c/"}) {
    serve([&](const ServedRequest&) {
      return ServedAnswer{.status = 302, .headers = {{"Location", location}}};
    });
    EXPECT_THAT([&] { client_->send({.url = server_->url(), .follow_redirects = true}); },
                ThrowsCode(Code::kNotPermitted, "the server redirects to"))
        << location;
  }
  EXPECT_THAT([&] { client_->send({.url = "http://127.0.0.1/a b", .is_redirected = true}); },
              ThrowsCode(Code::kNotPermitted, "the server redirects to"));
}

TEST_F(HttpClientTest, BlanksAroundALocationDoNotCount) {
  serve([&](const ServedRequest& request) {
    if (request.path == "/end") return ServedAnswer{.body = "here"};
    return ServedAnswer{.status = 302, .headers = {{"Location", "  /end \t"}}};
  });
  EXPECT_EQ(client_->send({.url = server_->url(), .follow_redirects = true}).body, "here");
  serve([&](const ServedRequest&) {
    return ServedAnswer{.status = 302, .headers = {{"Location", "  "}}, .body = "nowhere"};
  });
  const HttpAnswer answer = client_->send({.url = server_->url(), .follow_redirects = true});
  EXPECT_EQ(answer.status, 302);
  EXPECT_EQ(answer.body, "nowhere");
}

TEST_F(HttpClientTest, AFieldWithALineBreakIsRefused) {
  serve([](const ServedRequest&) { return ServedAnswer{}; });
  EXPECT_THAT(
      [&] {
        client_->send({.url = server_->url(), .headers = {{"X", "a\r\nInjected: b"}}});
      },
      ThrowsCode(Code::kUsage));
}

double retry_after_s(const std::string& value) {
  return HttpHeaders{{"Retry-After", value}}.retry_after_s();
}

TEST(RetryAfter, IsInSecondsOrUntilADate) {
  EXPECT_EQ(HttpHeaders().retry_after_s(), 0);
  EXPECT_EQ(retry_after_s("7"), 7);
  EXPECT_EQ(retry_after_s("99999999999"), 3600);
  for (const char* none : {"", "-7", "7 s", "soon", "Fri, 31 Dec 1999 23:59:59 GMT",
                           "Fri, 31 Dec 2999 23:59:59", "Fri, 31 Dec 2999 23:59:59 GMT+1"}) {
    EXPECT_EQ(retry_after_s(none), 0) << none;
  }
  EXPECT_EQ(retry_after_s("Tue, 31 Dec 2999 23:59:59 GMT"), 3600);
  const std::time_t later = std::time(nullptr) + 100;
  char date[64];
  std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&later));
  EXPECT_GT(retry_after_s(date), 50);
  EXPECT_LE(retry_after_s(date), 100);
}

TEST(Urls, TravelInTheClearToOtherMachinesOnly) {
  for (const char* clear :
       {"http://example.org/a", "http://localhost.example.org", "http://10.0.0.1",
        "http://127.0.0.1.example.org", "http://user@example.org", "HTTP://EXAMPLE.org",
        "http://127.0.0.1@example.org"}) {
    EXPECT_TRUE(travels_in_the_clear(clear)) << clear;
  }
  for (const char* safe : {"https://example.org", "http://localhost:80/a", "http://127.0.0.1:1",
                           "http://127.3.2.1", "http://[::1]:8080/", "HTTPS://a"}) {
    EXPECT_FALSE(travels_in_the_clear(safe)) << safe;
  }
}

TEST(Credentials, AreNotSentInTheClear) {
  const auto send = [](const std::string& url, HttpHeaders headers) {
    make_http_client({})->send({.url = url, .headers = std::move(headers), .timeout_s = 5});
  };
  for (const char* field : {"Authorization", "authorization"}) {
    EXPECT_THAT(
        [&] {
          send("http://192.0.2.1/path", {{field, "Bearer secret"}});
        },
        ThrowsCode(Code::kUsage, "a credential would be sent unencrypted"));
  }
  for (const char* url : {"http://user:secret@192.0.2.1/", "http://user@192.0.2.1?a"}) {
    EXPECT_THAT([&] { send(url, {}); }, ThrowsCode(Code::kUsage, "unencrypted"));
  }
  require_private_credentials({.url = "http://192.0.2.1/a@b"}, "");
  require_private_credentials({.url = "https://user@host", .headers = {{"Authorization", "x"}}},
                              "");
  require_private_credentials({.url = "http://127.0.0.1", .headers = {{"Authorization", "x"}}}, "");
}

TEST(Urls, AreEncoded) {
  EXPECT_EQ(percent_encoded("a/b c+d~e_f-g.h\xc3\xa9"), "a%2Fb%20c%2Bd~e_f-g.h%C3%A9");
  EXPECT_EQ(form_encoded({{"a", "1 2"}, {"empty", ""}, {"b", "&="}}), "a=1%202&b=%26%3D");
}

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
