#include "storage/google/credentials.h"

namespace berth {
namespace {

class AnonymousCredentials final : public Credentials {
 public:
  HttpHeaders headers() override { return {}; }
  bool drop(const HttpHeaders&) override { return false; }
};

}  // namespace

std::unique_ptr<Credentials> anonymous_credentials() {
  return std::make_unique<AnonymousCredentials>();
}

}  // namespace berth
