#include "storage/http/curl_library.h"

#include <dlfcn.h>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

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

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary library = load();  // it stays loaded until the process ends
  return library;
}

}  // namespace berth
