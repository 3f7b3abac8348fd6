#include "entrypoint/report/standard_error.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace berth {

void write_standard_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool standard_error_takes_text(double timeout_s) {
  pollfd descriptor{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&descriptor, 1, static_cast<int>(timeout_s * 1000)) == 1 &&
         (descriptor.revents & POLLOUT) != 0;
}

bool standard_error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::optional<int> terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace berth
