#pragma once

#include <curl/curl.h>

namespace berth {

// The functions of libcurl that berth calls, under their names without "curl_".
struct CurlLibrary {
  decltype(&curl_easy_cleanup) easy_cleanup;
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

// Loads and initializes libcurl at the first call. The binary is not linked with it, because it
// brings 27 libraries (Kerberos, LDAP, GnuTLS). They took half of the time before main() in jobs
// that use no network. Thread-safe. Throws kNotFound if the system has no libcurl.
const CurlLibrary& curl_library();

}  // namespace berth
