// Replaces libFuzzer when the compiler has none. It feeds a fixed number of damaged copies of the
// seeds to the fuzz target. Every run uses the same copies, if BERTH_TEST_SEED does not ask for
// others.
//
//     fuzz_targets TARGET RUNS SEED...
//
// A SEED is FILE, N:FILE (a byte of value N, then the file) or =TEXT.

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/drawn_seed.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr long kMostMemory_KiB = 1 << 20;

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string parse_seed(std::string_view seed) {
  if (seed.starts_with('=')) return std::string(seed.substr(1));
  const size_t colon = seed.find(':');
  if (colon == std::string_view::npos) return file_content(std::string(seed));
  const int selector = std::atoi(std::string(seed.substr(0, colon)).c_str());
  return static_cast<char>(selector) + file_content(std::string(seed.substr(colon + 1)));
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())];
    for (size_t i = below(4); i < 4; ++i) damage(input);
    return input;
  }

 private:
  size_t below(size_t end) { return end == 0 ? 0 : random_() % end; }

  void damage(std::string& input) {
    const size_t at = below(input.size()), count = below(input.size() - at) % 64;
    switch (below(7)) {
      case 0:
        return input.resize(at);
      case 1:
        if (!input.empty()) input[at] ^= static_cast<char>(1 << below(8));
        return;
      case 2:
        if (!input.empty()) input[at] = static_cast<char>(random_());
        return;
      case 3:
        input.erase(at, count);
        return;
      case 4:
        input.insert(at, input.substr(below(input.size()), count));
        return;
      case 5:
        return write_number(input, at);
      case 6:  // splice
        const std::string& other = seeds_[below(seeds_.size())];
        input = input.substr(0, at) + other.substr(below(other.size()));
        return;
    }
  }

  // Writes a size or an offset that no reader may trust.
  void write_number(std::string& input, size_t at) {
    constexpr uint64_t kNumbers[] = {0,
                                     1,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0xffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x100000000,
                                     uint64_t{1} << 62,
                                     ~uint64_t{0}};
    const uint64_t number = kNumbers[below(std::size(kNumbers))];
    const size_t width = size_t{1} << below(4);
    if (at + width <= input.size()) std::memcpy(input.data() + at, &number, width);
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{20261121 + berth::drawn_seed()};
};

void feed(const std::string& input) {
  // The copy has exactly this size, so that AddressSanitizer detects a read past its end.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int count, char** arguments) {
  LLVMFuzzerInitialize(&count, &arguments);
  if (count < 3) return 2;
  const long runs = std::atol(arguments[1]);
  std::vector<std::string> seeds;
  for (int i = 2; i < count; ++i) seeds.push_back(parse_seed(arguments[i]));
  for (const std::string& seed : seeds) feed(seed);
  Mutator mutator(seeds);
  for (long run = 0; run < runs; ++run) feed(mutator.next());

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%ld runs, %ld MiB at most\n", runs, usage.ru_maxrss >> 10);
  return usage.ru_maxrss > kMostMemory_KiB ? 1 : 0;
}
