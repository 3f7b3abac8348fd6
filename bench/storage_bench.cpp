#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/open_storage.h"
#include "storage/whole_file.h"

// storage_bench --endpoint URL [--bucket B] [--mebibytes 1024] [--rounds 3] [--connections N]
//               [--only-upload | --against-one]
//
// Uploads one object from memory, as a checkpoint is uploaded, and downloads it with berth's
// storage. The checksums are compared. The printed memory is the growth of the resident set at its
// peak. The CPU time is this process's only: a training beside the transfer loses this time.
// --against-one also downloads with a single connection. tests/support/fault_server_main.cpp is a
// server for this benchmark, and can be a slow one.

namespace berth {
namespace {

constexpr double kMebibyte = 1 << 20;

struct Options {
  std::string endpoint, bucket = "bucket";
  uint64_t mebibytes = 1024;
  int rounds = 3;
  TransferOptions transfer{.joins_parts = true};
  bool against_one = false, only_upload = false;
};

// The value of a field of /proc/self/status ("VmRSS" or "VmHWM"), in bytes.
double resident_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field))
      return 1024 * std::strtod(line.c_str() + field.size() + 1, nullptr);
  }
  return 0;
}

struct Run {
  Timing timing;
  double cpu_s;  // mean of the rounds
  double peak_bytes;
};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Unlike measure() it runs few rounds, because a round may transfer a gibibyte.
Run run(int rounds, const std::function<void()>& prepare, const std::function<void()>& work) {
  prepare();
  work();  // touches the memory at both ends
  const double base_bytes = resident_bytes("VmRSS");
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak, VmHWM
  std::vector<double> seconds;
  double cpu_s = 0;
  for (int i = 0; i < rounds; ++i) {
    prepare();
    const double cpu_before_s = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    work();
    cpu_s += cpu_seconds() - cpu_before_s;
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  return {{median, (seconds.back() - seconds.front()) / 2 / median, seconds.front()},
          cpu_s / rounds,
          resident_bytes("VmHWM") - base_bytes};
}

void print(const char* name, const Options& options, const Run& done, const std::string& ratio) {
  const double bytes = static_cast<double>(options.mebibytes) * kMebibyte;
  std::printf(
      "%-10s %5llu MiB  connections=%-3d %9.1f ms  +-%2.0f%%  %6.2f GB/s  %5.2f CPU s  peak +%.0f "
      "MiB%s\n",
      name, static_cast<unsigned long long>(options.mebibytes), options.transfer.connections,
      done.timing.median_s * 1e3, done.timing.spread * 100, bytes / done.timing.median_s / 1e9,
      done.cpu_s, done.peak_bytes / kMebibyte, ratio.c_str());
}

// Sets `uri` to the last object.
Run upload(const Options& options, const Uri& folder, Uri& uri) {
  const auto storage =
      open_storage({.emulator_host = options.endpoint, .transfer = options.transfer});
  int number = 0;
  std::vector<std::byte> bytes(options.mebibytes << 20);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  // Each round uses another name, because an object may be written only once a second.
  return run(
      options.rounds,
      [&] {
        if (!uri.file_name().empty()) storage->remove(uri);
        uri = folder / cat("object", ++number);
      },
      [&] {
        store_object(*storage, uri, [&](ByteSink& sink) { sink.lend(bytes); },
                     {.if_generation = {}, .size_hint = bytes.size()});
      });
}

Run download(const Options& options, const Uri& uri) {
  const auto storage =
      open_storage({.emulator_host = options.endpoint, .transfer = options.transfer});
  std::vector<std::byte> buffer(size_t{1} << 20);
  return run(
      options.rounds, [] {},
      [&] {
        uint64_t size = 0;
        const auto source = storage->open(uri);
        while (const size_t count = source->read(buffer)) size += count;
        if (size != options.mebibytes << 20)
          throw Error(Code::kInternal, "wrong size", uri.to_string());
      });
}

int bench(const Options& options) {
  print_head("storage: one object, CRC-32C compared");
  Uri uri;
  const Uri folder = Uri::parse("gs://" + options.bucket + "/storage_bench");
  print("upload", options, upload(options, folder, uri), "");
  if (options.only_upload) return 0;
  const Run many = download(options, uri);
  if (!options.against_one) {
    print("download", options, many, "");
    return 0;
  }
  Options single = options;
  single.transfer.connections = 1;
  const Run one = download(single, uri);
  char ratio[48];
  std::snprintf(ratio, sizeof(ratio), "  x%.1f of one", one.timing.median_s / many.timing.median_s);
  print("download", single, one, "");
  print("download", options, many, ratio);
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--against-one") {
      options.against_one = true;
      continue;
    }
    if (flag == "--only-upload") {
      options.only_upload = true;
      continue;
    }
    ++i;
    if (flag == "--endpoint") {
      options.endpoint = value;
    } else if (flag == "--bucket") {
      options.bucket = value;
    } else if (flag == "--mebibytes") {
      options.mebibytes = std::strtoull(value, nullptr, 10);
    } else if (flag == "--rounds") {
      options.rounds = std::max(1, std::atoi(value));
    } else if (flag == "--connections") {
      options.transfer.connections = std::atoi(value);
    } else {
      std::fprintf(stderr, "storage_bench: unknown flag %s\n", argv[i - 1]);
      return 2;
    }
  }
  try {
    return berth::bench(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "storage_bench: %s\n", error.what());
    return 1;
  }
}
