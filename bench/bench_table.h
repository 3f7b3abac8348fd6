#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace berth {

struct Timing {
  double median_s, spread;  // spread: half the distance of the quartiles, divided by the median
  double least_s;
};

inline double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline Timing timing_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const double quartiles = seconds[seconds.size() * 3 / 4] - seconds[seconds.size() / 4];
  return {median, quartiles / 2 / median, seconds.front()};
}

// Calls `work` at least 9 times and for at least `at_least_s` seconds in total.
inline Timing measure(const std::function<void()>& work, double at_least_s = 0.15) {
  work();  // warms up the memory and the threads
  std::vector<double> seconds;
  for (double total = 0; seconds.size() < 9 || total < at_least_s;) {
    seconds.push_back(seconds_of(work));
    total += seconds.back();
  }
  return timing_of(std::move(seconds));
}

// The first argument as a number of threads, or `all` if there is none. If it is not a number,
// prints the usage and ends the process.
inline int threads_asked(int argc, char** argv, int all, const char* usage) {
  if (argc < 2) return all;
  const int threads = std::atoi(argv[1]);
  if (threads > 0) return threads;
  std::fprintf(stderr, "usage: %s\n", usage);
  std::exit(2);
}

inline void print_head(const std::string& what) {
  std::string cpu = "unknown";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) cpu = line.substr(line.find(':') + 2);
  }
  std::printf("%s\nCPU     %s\n", what.c_str(), cpu.c_str());
#if !defined(__OPTIMIZE__) || !defined(NDEBUG)
  std::printf("WARNING: this build is not optimized; its times mean nothing\n");
#endif
}

// Prints a row: layer_norm_forward   T=1600 H=128   0.41 ms  +-2%   61 GB/s   x1.04 memcpy
inline void print_row(const std::string& name, const std::string& shape, const Timing& timing,
                      double rate, const char* unit, double ratio, const char* of) {
  std::printf("%-28s %-26s %9.4f ms  +-%2.0f%%  %8.1f %s  x%.2f %s\n", name.c_str(), shape.c_str(),
              timing.median_s * 1e3, timing.spread * 100, rate, unit, ratio, of);
}

}  // namespace berth
