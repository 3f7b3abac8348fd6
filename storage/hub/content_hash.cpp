#include "storage/hub/content_hash.h"

#include <openssl/evp.h>

#include <new>
#include <string_view>

#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kSha256Digits = 64, kSha1Digits = 40;

}  // namespace

void ContentHash::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

ContentHash::ContentHash(const std::string& expected, uint64_t size) : context_(EVP_MD_CTX_new()) {
  const bool is_blob = expected.size() == kSha1Digits;
  if (context_ == nullptr ||
      EVP_DigestInit_ex(context_.get(), is_blob ? EVP_sha1() : EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  if (is_blob) {
    const std::string header = cat("blob ", size) + '\0';
    update(as_bytes(header));
  }
}

void ContentHash::update(Bytes bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string ContentHash::finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), digest, &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

bool ContentHash::is_one(std::string_view text) {
  return (text.size() == kSha256Digits || text.size() == kSha1Digits) &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace berth
