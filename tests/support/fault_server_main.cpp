#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/fake_gcs.h"

// fake_gcs_server --port-file FILE [--bucket NAME]... [--random-faults SEED:P] [--require-token T]
//                 [--latency-ms N] [--connection-mbps MEGABYTES_A_SECOND]
//
// Serves the fake storage from memory until SIGTERM or SIGINT. It writes the port to FILE once the
// port is open.

namespace {

struct Options {
  std::string port_file, token;
  berth::FakeGcsOptions gcs;
  berth::RandomGcsFaults random{.damage = false, .expired_tokens = false};
};

bool set(Options& options, std::string_view flag, const std::string& value) {
  if (flag == "--port-file") {
    options.port_file = value;
  } else if (flag == "--bucket") {
    options.gcs.buckets.push_back(value);
  } else if (flag == "--random-faults") {
    const size_t colon = value.find(':');
    if (colon == std::string::npos) return false;
    options.random.seed = std::strtoull(value.c_str(), nullptr, 10);
    options.random.probability = std::strtod(value.c_str() + colon + 1, nullptr);
  } else if (flag == "--require-token") {
    options.token = value;
  } else if (flag == "--latency-ms") {
    options.gcs.latency_s = std::strtod(value.c_str(), nullptr) / 1e3;
  } else if (flag == "--connection-mbps") {
    options.gcs.bytes_per_second = std::strtod(value.c_str(), nullptr) * 1e6;
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.gcs.buckets.clear();
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || !set(options, argv[i], argv[i + 1])) {
      std::fprintf(stderr, "fake_gcs_server: bad flag %s\n", argv[i]);
      return 2;
    }
  }
  if (options.gcs.buckets.empty()) options.gcs.buckets.push_back("bucket");

  sigset_t ends;  // blocked in every thread, so that only sigwait() receives them
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  berth::FakeGcs gcs(options.gcs);
  if (!options.token.empty()) gcs.require_token(options.token);
  gcs.faults().draw(options.random);
  const std::string port = gcs.url().substr(gcs.url().rfind(':') + 1);
  if (!options.port_file.empty()) {
    std::ofstream(options.port_file + ".new") << port << '\n';
    std::filesystem::rename(options.port_file + ".new", options.port_file);
  }
  int signal = 0;
  sigwait(&ends, &signal);
}
