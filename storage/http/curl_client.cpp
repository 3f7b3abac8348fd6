#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/http/http_client.h"

namespace berth {
namespace {

// The functions of libcurl that berth calls, under their names without "curl_".
struct CurlLibrary {
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_pause) easy_pause;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_global_init) global_init;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_strerror) multi_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

constexpr const char* kName = "libcurl.so.4";

[[noreturn]] void refuse_library() {
  const char* reason = ::dlerror();
  throw Error(Code::kNotFound,
              cat("libcurl cannot be loaded: ", reason == nullptr ? "no reason given" : reason),
              kName, "install Debian's package libcurl4, or use berth's image");
}

template <typename Function>
void look_up(void* library, const char* name, Function& function) {
  void* found = ::dlsym(library, name);
  if (found == nullptr) refuse_library();
  function = reinterpret_cast<Function>(found);
}

CurlLibrary load() {
  void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse_library();
  CurlLibrary curl{};
  look_up(library, "curl_easy_cleanup", curl.easy_cleanup);
  look_up(library, "curl_easy_getinfo", curl.easy_getinfo);
  look_up(library, "curl_easy_init", curl.easy_init);
  look_up(library, "curl_easy_pause", curl.easy_pause);
  look_up(library, "curl_easy_setopt", curl.easy_setopt);
  look_up(library, "curl_easy_strerror", curl.easy_strerror);
  look_up(library, "curl_global_init", curl.global_init);
  look_up(library, "curl_multi_add_handle", curl.multi_add_handle);
  look_up(library, "curl_multi_cleanup", curl.multi_cleanup);
  look_up(library, "curl_multi_info_read", curl.multi_info_read);
  look_up(library, "curl_multi_init", curl.multi_init);
  look_up(library, "curl_multi_perform", curl.multi_perform);
  look_up(library, "curl_multi_poll", curl.multi_poll);
  look_up(library, "curl_multi_remove_handle", curl.multi_remove_handle);
  look_up(library, "curl_multi_strerror", curl.multi_strerror);
  look_up(library, "curl_slist_append", curl.slist_append);
  look_up(library, "curl_slist_free_all", curl.slist_free_all);
  const CURLcode result = curl.global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw Error(Code::kInternal, curl.easy_strerror(result), kName);
  return curl;
}

// Loads and initializes libcurl at the first call. The binary is not linked with it, because it
// brings 27 libraries (Kerberos, LDAP, GnuTLS). They took half of the time before main() in jobs
// that use no network. Thread-safe. Throws kNotFound if the system has no libcurl.
const CurlLibrary& curl_library() {
  static const CurlLibrary library = load();  // it stays loaded until the process ends
  return library;
}

std::string authorities_hint(const CertificateAuthorities& authorities) {
  const std::string& named = authorities.file.empty() ? authorities.folder : authorities.file;
  return cat("its certificate must be signed by an authority in ",
             named.empty() ? "/etc/ssl/certs" : named,
             "; the environment variable SSL_CERT_FILE names another file of authorities");
}

// A failure of libcurl as an Error. `detail` is libcurl's own text about it, or empty.
Error curl_failure(CURLcode code, const std::string& detail, const std::string& host,
                   const CertificateAuthorities& authorities) {
  const std::string why =
      cat(" (", detail.empty() ? curl_library().easy_strerror(code) : detail, ")");
  const std::string problem = cat("no answer", why);
  // libcurl takes an answer without a status line for HTTP/0.9, which it does not support.
  if (detail.find("HTTP/0.9") != std::string::npos) return Error(Code::kUnavailable, problem, host);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Error(Code::kUsage, problem, host, "check the URL");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
      return Error(Code::kNotPermitted, problem, host, authorities_hint(authorities));
    case CURLE_TOO_MANY_REDIRECTS:
      return Error(Code::kNotFound, problem, host);
    case CURLE_COULDNT_RESOLVE_HOST:
      return Error(Code::kUnavailable, cat("no answer (", kUnknownHost, ")"), host);
    case CURLE_COULDNT_CONNECT:
      return Error(Code::kUnavailable, cat(kNoConnection, why), host);
    case CURLE_OUT_OF_MEMORY:
      return Error(Code::kMemory, problem, host);
    default:
      return Error(Code::kUnavailable, problem, host);
  }
}

// libcurl's handle of a connection. It runs one request at a time and keeps its connection for the
// next.
struct Multi {
  Multi() : handle(curl_library().multi_init()) {
    if (handle == nullptr) throw Error(Code::kMemory, "libcurl cannot make a handle");
  }
  ~Multi() { curl_library().multi_cleanup(handle); }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  CURLM* handle;
};

// Connections that are not in use. Thread-safe.
class IdleConnections {
 public:
  std::unique_ptr<Multi> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Multi>();
    std::unique_ptr<Multi> multi = std::move(idle_.back());
    idle_.pop_back();
    return multi;
  }

  void give_back(std::unique_ptr<Multi> multi) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleConnections) idle_.push_back(std::move(multi));
  }

 private:
  static constexpr size_t kIdleConnections = 32;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Multi>> idle_;
};

// libcurl 7.85 deprecates these options. An older libcurl, such as 7.81 of Ubuntu 22.04, does not
// know their replacements, and the libcurl that runs may be older than the header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
constexpr CURLoption kProtocols = CURLOPT_PROTOCOLS;
constexpr CURLoption kRedirectProtocols = CURLOPT_REDIR_PROTOCOLS;
#pragma GCC diagnostic pop

constexpr int kLongestPoll_ms = 200;
constexpr uint64_t kLeastBytes =
    1024;  // fewer bytes than this within the stall timeout are a stall

// Returns the host of a URL. Messages show no more of a URL than that.
std::string host_of(const std::string& url) {
  const size_t begin = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  const std::string authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  const size_t user_info = authority.rfind('@');
  return user_info == std::string::npos ? authority : authority.substr(user_info + 1);
}

Error not_followed(const std::string& what, const std::string& host) {
  return Error(Code::kNotPermitted, cat("the server redirects to ", what, ", and is not followed"),
               host);
}

class CurlStream final : public HttpStream {
 public:
  CurlStream(IdleConnections& pool, const HttpClientOptions& options, const HttpRequest& request)
      : pool_(pool),
        options_(options),
        request_(request),
        host_(host_of(request.url)),
        is_redirected_(request.is_redirected),
        multi_(pool.take()),
        easy_(curl_library().easy_init()) {
    try {
      set_up();
      check(curl_library().multi_add_handle(multi_->handle, easy_));
      is_added_ = true;
      while (!has_headers_ && !is_done_) pump();
      if (!has_headers_)
        throw failure_.value_or(curl_failure(CURLE_GOT_NOTHING, "", host_, options_.authorities));
    } catch (...) {
      let_go();
      throw;
    }
    request_.body.clear();  // it has been sent, and the caller may free it
  }

  ~CurlStream() override { let_go(); }

  int status() const override { return status_; }
  const HttpHeaders& headers() const override { return headers_; }

  size_t read(std::span<std::byte> buffer) override {
    size_t count = 0;
    if (!pending_.empty()) {
      count = std::min(buffer.size(), pending_.size() - pending_begin_);
      std::memcpy(buffer.data(), pending_.data() + pending_begin_, count);
      pending_begin_ += count;
      if (pending_begin_ == pending_.size()) {
        pending_.clear();
        pending_begin_ = 0;
      }
      return count;
    }
    target_ = buffer;
    if (is_paused_ && !is_done_) {
      is_paused_ = false;
      curl_library().easy_pause(easy_, CURLPAUSE_CONT);
    }
    while (target_.size() == buffer.size() && !is_done_) pump();
    count = buffer.size() - target_.size();
    target_ = {};
    if (count == 0 && failure_)
      throw *failure_;  // only after everything that arrived before the failure
    return count;
  }

 private:
  static size_t on_header(char* data, size_t size, size_t count, void* self) {
    return static_cast<CurlStream*>(self)->take_header({data, size * count});
  }
  static size_t on_body(char* data, size_t size, size_t count, void* self) {
    return static_cast<CurlStream*>(self)->take_body(
        {reinterpret_cast<std::byte*>(data), size * count});
  }
  static size_t on_send(char* data, size_t size, size_t count, void* self) {
    return static_cast<CurlStream*>(self)->give_body(
        {reinterpret_cast<std::byte*>(data), size * count});
  }
  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* to) {
    return static_cast<CurlStream*>(self)->make_socket(*to);
  }
  void check(CURLMcode code) const {
    if (code != CURLM_OK) throw Error(Code::kInternal, curl_library().multi_strerror(code), host_);
  }

  template <typename Value>
  void set(CURLoption option, Value value) {
    if (curl_library().easy_setopt(easy_, option, value) != CURLE_OK) {
      throw Error(Code::kInternal, cat("libcurl refuses option ", static_cast<int>(option)), host_);
    }
  }

  void set_up() {
    if (easy_ == nullptr) throw Error(Code::kMemory, "libcurl cannot make a handle", host_);
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(kProtocols, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    const double own_s = request_.connect_timeout_s;
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>((own_s > 0 ? own_s : options_.connect_timeout_s) * 1000));
    if (request_.timeout_s > 0)
      set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.timeout_s * 1000));
    if (!options_.authorities.file.empty()) {
      set(CURLOPT_CAINFO, options_.authorities.file.c_str());
    }
    if (!options_.authorities.folder.empty()) {
      set(CURLOPT_CAPATH, options_.authorities.folder.c_str());
    }
    if (request_.bypass_proxy) set(CURLOPT_NOPROXY, "*");
    if (request_.follow_redirects) {
      set(CURLOPT_FOLLOWLOCATION, 1L);
      set(CURLOPT_MAXREDIRS, 10L);
      const bool is_secret = lower_ascii(request_.url).starts_with("https:");
      set(kRedirectProtocols,
          static_cast<long>(is_secret ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
    }
    set(CURLOPT_ERRORBUFFER, error_text_);
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    set(CURLOPT_HEADERFUNCTION, &CurlStream::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &CurlStream::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_OPENSOCKETFUNCTION, &CurlStream::on_socket);
    set(CURLOPT_OPENSOCKETDATA, this);
    set_method();
    add_field("Expect:");
    for (const auto& [name, value] : request_.headers.fields()) {
      // libcurl's syntax for a field with an empty value is "Name;".
      add_field(value.empty() ? name + ";" : name + ": " + value);
    }
    set(CURLOPT_HTTPHEADER, fields_);
  }

  void set_method() {
    if (request_.method == "GET") set(CURLOPT_BUFFERSIZE, 512L << 10);
    if (request_.method == "HEAD") return set(CURLOPT_NOBODY, 1L);
    if (request_.method != "PUT" && request_.method != "POST") {
      return set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    }
    uint64_t size = 0;
    for (const Bytes piece : request_.body) size += piece.size();
    const auto length = static_cast<curl_off_t>(size);
    if (request_.method == "PUT") {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_INFILESIZE_LARGE, length);
    } else {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, length);
    }
    set(CURLOPT_UPLOAD_BUFFERSIZE, 1L << 20);
    // There is no seek function on purpose. With one, libcurl would resend a body by itself when a
    // reused connection breaks, although the first copy may have arrived.
    set(CURLOPT_READFUNCTION, &CurlStream::on_send);
    set(CURLOPT_READDATA, this);
  }

  void add_field(const std::string& line) {
    if (line.find_first_of("\r\n") != std::string::npos) {
      throw Error(Code::kUsage, "a header field with a line break", host_);
    }
    curl_slist* const longer = curl_library().slist_append(fields_, line.c_str());
    if (longer == nullptr) throw Error(Code::kMemory, "no memory for a header field", host_);
    fields_ = longer;
  }

  // Lets libcurl work once. Waits for the network if nothing moved.
  void pump() {
    if (request_.stop.stop_requested() || (options_.gives_up && options_.gives_up())) {
      throw Error(Code::kStopped, "stopped while waiting for an answer", host_);
    }
    int running = 0;
    const uint64_t before = moved_;
    check(curl_library().multi_perform(multi_->handle, &running));
    int queued = 0;
    while (const CURLMsg* message = curl_library().multi_info_read(multi_->handle, &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      is_done_ = true;
      CURLcode result = message->data.result;
      if (result == CURLE_OK) continue;
      double connected_s = 0;
      curl_library().easy_getinfo(easy_, CURLINFO_CONNECT_TIME, &connected_s);
      if (result == CURLE_OPERATION_TIMEDOUT && connected_s == 0) result = CURLE_COULDNT_CONNECT;
      if (is_redirected_ &&
          (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL)) {
        refuse_redirect("an address that is malformed or of another protocol");
      }
      failure_ = refusal_.value_or(curl_failure(result, error_text_, host_, options_.authorities));
    }
    if (is_done_ || is_paused_ || moved_ != before) return;
    const auto start = std::chrono::steady_clock::now();
    check(curl_library().multi_poll(multi_->handle, nullptr, 0, kLongestPoll_ms, nullptr));
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    notice_stall(waited.count());
  }

  // Counts only the time that we spent waiting, so that a slow reader is not taken for a slow
  // network.
  void notice_stall(double waited_s) {
    if (moved_ - moved_at_last_look_ >= kLeastBytes) {
      moved_at_last_look_ = moved_;
      waited_s_ = 0;
    }
    waited_s_ += waited_s;
    if (waited_s_ < options_.stall_timeout_s) return;
    throw Error(Code::kUnavailable,
                cat("stalled: nothing moved in ", options_.stall_timeout_s, " s"), host_);
  }

  size_t take_header(std::string_view line) {
    const size_t size = line.size();
    moved_ += size;
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (line.starts_with("HTTP/")) {
      status_ = 0;
      const size_t space = std::min(line.find(' '), line.size() - 1);
      std::from_chars(line.data() + space + 1, line.data() + line.size(), status_);
      headers_ = {};
    } else if (line.empty()) {
      const bool is_redirect = !has_headers_ && names_another_address();
      if (refusal_) return 0;
      has_headers_ = has_headers_ || (status_ >= 200 && !is_redirect);
    } else if (colon != std::string_view::npos && !has_headers_) {
      headers_.add(std::string(line.substr(0, colon)),
                   std::string(trimmed(line.substr(colon + 1))));
    }
    return size;
  }

  // Whether the header that has arrived makes libcurl go on to another address.
  bool names_another_address() {
    if (!request_.follow_redirects || status_ < 300 || status_ >= 400) return false;
    bool is_redirect = false;
    for (const std::string& location : headers_.find_all("location")) {
      is_redirect = is_redirect || !location.empty();
      if (const std::string what = refused_redirect(location); !what.empty()) refuse_redirect(what);
    }
    is_redirected_ = is_redirected_ || is_redirect;
    return is_redirect;
  }

  void refuse_redirect(const std::string& what) { refusal_ = not_followed(what, host_); }

  // A later redirect must not find a connection to a link-local address, so such a connection is
  // not reused.
  curl_socket_t make_socket(const curl_sockaddr& to) {
    if (is_link_local(to.addr)) {
      if (is_redirected_) {
        refuse_redirect("a link-local address");
        return CURL_SOCKET_BAD;
      }
      keeps_connection_ = false;
    }
    return ::socket(to.family, to.socktype | SOCK_CLOEXEC, to.protocol);
  }

  // Copies into the reader's buffer. Bytes that do not fit go to pending_; after that, libcurl is
  // paused.
  size_t take_body(Bytes bytes) {
    const size_t size = bytes.size();
    if (!has_headers_) return size;  // the body of a redirect
    if (target_.empty() && !pending_.empty()) {
      is_paused_ = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    moved_ += size;
    const size_t direct = std::min(size, target_.size());
    std::copy_n(bytes.begin(), direct, target_.begin());
    target_ = target_.subspan(direct);
    pending_.insert(pending_.end(), bytes.begin() + static_cast<ptrdiff_t>(direct), bytes.end());
    return size;
  }

  size_t give_body(std::span<std::byte> buffer) {
    size_t filled = 0;
    while (filled < buffer.size() && piece_ < request_.body.size()) {
      const Bytes rest = request_.body[piece_].subspan(piece_offset_);
      const size_t count = std::min(rest.size(), buffer.size() - filled);
      std::copy_n(rest.begin(), count, buffer.begin() + static_cast<ptrdiff_t>(filled));
      filled += count;
      piece_offset_ += count;
      if (count == rest.size()) {
        ++piece_;
        piece_offset_ = 0;
      }
    }
    moved_ += filled;
    return filled;
  }

  void let_go() {
    if (is_added_) curl_library().multi_remove_handle(multi_->handle, easy_);
    curl_library().easy_cleanup(easy_);
    curl_library().slist_free_all(fields_);
    fields_ = nullptr;
    if (keeps_connection_) pool_.give_back(std::move(multi_));
  }

  IdleConnections& pool_;
  const HttpClientOptions& options_;
  HttpRequest request_;
  const std::string host_;
  bool is_redirected_;
  bool keeps_connection_ = true;
  std::optional<Error> refusal_;  // why a redirect was not followed
  std::unique_ptr<Multi> multi_;
  CURL* const easy_;
  curl_slist* fields_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};

  int status_ = 0;
  HttpHeaders headers_;
  std::optional<Error> failure_;
  bool is_added_ = false, has_headers_ = false, is_done_ = false, is_paused_ = false;

  std::span<std::byte> target_;     // the free part of the reader's buffer
  std::vector<std::byte> pending_;  // arrived before the reader requested it
  size_t pending_begin_ = 0;
  size_t piece_ = 0, piece_offset_ = 0;  // position in the request's body

  uint64_t moved_ = 0, moved_at_last_look_ = 0;  // bytes in both directions
  double waited_s_ = 0;
};

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(const HttpClientOptions& options) : options_(options) {}

  std::unique_ptr<HttpStream> open(const HttpRequest& request) override {
    require_private_credentials(request, host_of(request.url));
    if (request.is_redirected) {
      const std::string what = refused_redirect(request.url);
      if (!what.empty()) throw not_followed(what, host_of(request.url));
    }
    return std::make_unique<CurlStream>(pool_, options_, request);
  }

 private:
  const HttpClientOptions options_;
  IdleConnections pool_;
};

}  // namespace

std::unique_ptr<HttpClient> make_http_client(const HttpClientOptions& options) {
  return std::make_unique<CurlClient>(options);
}

}  // namespace berth
