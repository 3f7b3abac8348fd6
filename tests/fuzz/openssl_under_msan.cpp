#include <openssl/pem.h>
#include <sanitizer/msan_interface.h>

#include <cstddef>
#include <cstdlib>

// OpenSSL's library is not instrumented, so MemorySanitizer does not see what it writes. Its heap
// is declared initialized, and the texts on its own stack are not checked. scripts/test-memory.sh
// links this file with every program, also with those that CMake tries out and that lack OpenSSL's
// functions, hence `weak`.
#pragma weak CRYPTO_set_mem_functions
#pragma weak PEM_read_bio_PrivateKey_ex

namespace {

void* initialized(void* memory, size_t size) {
  if (memory != nullptr) __msan_unpoison(memory, size);
  return memory;
}

[[gnu::constructor]] void set_functions() {
  if (CRYPTO_set_mem_functions == nullptr) return;
  CRYPTO_set_mem_functions(
      [](size_t size, const char*, int) { return initialized(std::malloc(size), size); },
      [](void* memory, size_t size, const char*, int) {
        return initialized(std::realloc(memory, size), size);
      },
      [](void* memory, const char*, int) { std::free(memory); });
}

}  // namespace

// Takes the place of OpenSSL's function, which makes the same call.
extern "C" EVP_PKEY* PEM_read_bio_PrivateKey(BIO* source, EVP_PKEY** key, pem_password_cb* callback,
                                             void* argument) {
  __msan_scoped_disable_interceptor_checks();
  EVP_PKEY* const result =
      PEM_read_bio_PrivateKey_ex(source, key, callback, argument, nullptr, nullptr);
  __msan_scoped_enable_interceptor_checks();
  return result;
}
