#include "entrypoint/platform/process_name.h"

#include <unistd.h>

#include "storage/base/text.h"

namespace berth {

std::string process_name() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') return cat("host.", ::getpid());
  return cat(host, ".", ::getpid());
}

}  // namespace berth
