#pragma once

#include <string>

#include "storage/base/error.h"
#include "storage/http/curl_library.h"
#include "storage/http/http_client.h"

namespace berth {

// A failure of libcurl as an Error. `detail` is libcurl's own text about it, or empty.
Error curl_failure(CURLcode code, const std::string& detail, const std::string& host,
                   const CertificateAuthorities& authorities);

}  // namespace berth
