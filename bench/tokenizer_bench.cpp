#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "trainer/text/load_tokenizer.h"

// tokenizer_bench VOCAB_DIR TEXT_FILE
//
// Loads the tokenizer and encodes every line on one thread. It measures processor time, so that
// other load on the machine matters little.

namespace {

constexpr int kRepetitions = 7;

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double median_seconds(const auto& run) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepetitions; ++i) {
    const double start = cpu_seconds();
    run();
    seconds.push_back(cpu_seconds() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
  return seconds[kRepetitions / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tokenizer_bench VOCAB_DIR TEXT_FILE\n");
    return 2;
  }
#ifndef NDEBUG
  std::printf("WARNING: not optimized; build with the release preset\n");
#endif
  const std::string folder = argv[1];
  const auto file = [&](std::string_view name) {
    return read_file(folder + "/" + std::string(name));
  };
  const auto tokenizer = berth::load_tokenizer(file);
  const double load_s = median_seconds([&] { berth::load_tokenizer(file); });

  std::vector<std::string> lines;
  size_t bytes = 0, tokens = 0;
  std::ifstream text(argv[2]);
  for (std::string line; std::getline(text, line);) {
    bytes += line.size();
    lines.push_back(std::move(line));
  }
  const double encode_s = median_seconds([&] {
    tokens = 0;
    for (const std::string& line : lines) {
      tokens += tokenizer->encode(line, std::nullopt, 1 << 30).input_ids.size();
    }
  });
  std::printf("load    vocabulary=%d  %.2f ms\n", tokenizer->vocab_size(), 1e3 * load_s);
  std::printf("encode  lines=%zu tokens=%zu  %.2f ms  %.1f Mtokens/s  %.0f MB/s\n", lines.size(),
              tokens, 1e3 * encode_s, 1e-6 * static_cast<double>(tokens) / encode_s,
              1e-6 * static_cast<double>(bytes) / encode_s);
}
