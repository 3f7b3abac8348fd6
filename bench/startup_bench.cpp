// Measures the time from the start of a program to its end, and its peak memory. If the program
// does one training step, this is the time that a job needs before it trains.
//
//   startup_bench ROUNDS COMMAND [ARGUMENT...]
//
// The first round has its own row, because it may read files that are not in the system's cache.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "bench/bench_table.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct Run {
  double seconds;
  uint64_t peak_bytes;
};

// Ends the process if the command fails, because its time would be meaningless.
Run run(char** command) {
  int status = 0;
  rusage used{};
  const double seconds = seconds_of([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      const int nowhere = ::open("/dev/null", O_RDWR);
      for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
      ::execvp(command[0], command);
      std::_Exit(127);
    }
    if (child < 0 || ::wait4(child, &status, 0, &used) != child) status = -1;
  });
  if (status != 0) {
    std::fprintf(stderr, "startup_bench: %s failed (status %d)\n", command[0], status);
    std::exit(1);
  }
  return {seconds, static_cast<uint64_t>(used.ru_maxrss) << 10};
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  using namespace berth;
  const int rounds = argc > 2 ? std::atoi(argv[1]) : 0;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: startup_bench ROUNDS COMMAND [ARGUMENT...]\n");
    return 2;
  }
  print_head(cat("from start to end: ", argv[2]));
  const Run first = run(argv + 2);
  std::printf("first   %8.3f s           %s\n", first.seconds,
              human_bytes(first.peak_bytes).c_str());
  std::vector<double> seconds;
  uint64_t peak_bytes = 0;
  for (int i = 0; i < rounds; ++i) {
    const Run again = run(argv + 2);
    seconds.push_back(again.seconds);
    peak_bytes = std::max(peak_bytes, again.peak_bytes);
  }
  const Timing timing = timing_of(std::move(seconds));
  std::printf("median  %8.3f s  +-%2.0f%%     %s\n", timing.median_s, timing.spread * 100,
              human_bytes(peak_bytes).c_str());
  return 0;
}
