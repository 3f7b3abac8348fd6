#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "storage/formats/token_shard.h"
#include "trainer/corpus/clean_text.h"
#include "trainer/corpus/corpus_cleaner.h"
#include "trainer/text/load_tokenizer.h"

// corpus_bench TEXTS [VOCAB_DIR]
//
// Cleans a text file, a document a line, on one thread: each step alone, then all of them as --mode
// prepare --task mlm does. With VOCAB_DIR it also tokenizes and packs the remaining documents. It
// measures processor time, so that other load on the machine matters little.

namespace {

using namespace berth;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure_step(const char* name, size_t bytes, const auto& run) {
  const double start = cpu_seconds();
  run();
  const double seconds = cpu_seconds() - start;
  std::printf("%-24s %8.1f MB/s\n", name, 1e-6 * static_cast<double>(bytes) / seconds);
}

size_t size_of(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

// Each step alone, on the output of the steps before it.
void measure_steps(const std::vector<std::string>& texts) {
  const size_t bytes = size_of(texts);
  std::vector<std::string> cleaned(texts.size());
  measure_step("normalization", bytes, [&] {
    for (size_t i = 0; i < texts.size(); ++i) clean_text(texts[i], cleaned[i]);
  });
  std::vector<std::vector<Word>> words(texts.size());
  measure_step("words and letters", bytes, [&] {
    for (size_t i = 0; i < texts.size(); ++i) find_words(cleaned[i], words[i]);
  });
  measure_step("repetition", bytes, [&] {
    RepetitionMeter meter;
    for (size_t i = 0; i < texts.size(); ++i) {
      meter.find(cleaned[i], words[i], RepetitionMeter::kGopher);
    }
  });
  measure_step("equal documents", bytes, [&] {
    TextHashSet hashes;
    for (const std::string& text : cleaned) hashes.insert(hash_text(text));
  });
  measure_step("similar documents", bytes, [&] {
    MinHasher hasher;
    NearDuplicateIndex index(0.8);
    for (const auto& of_text : words) {
      if (!of_text.empty()) index.find_or_add(hasher.of(of_text));
    }
  });
}

std::vector<std::string> measure_cleaning(const std::vector<std::string>& texts) {
  constexpr size_t kBatch = 10'000;
  ThreadPool pool(1);
  CorpusCleaner cleaner(CleaningOptions(), pool);
  std::vector<std::string> kept;
  measure_step("all of cleaning", size_of(texts), [&] {
    for (size_t begin = 0; begin < texts.size(); begin += kBatch) {
      const size_t count = std::min(kBatch, texts.size() - begin);
      cleaner.clean(
          std::span(texts).subspan(begin, count), [](size_t) { return std::string(); },
          [&](std::string_view text) { kept.emplace_back(text); });
    }
  });
  const CleaningReport& report = cleaner.report();
  std::printf("kept %zu of %zu documents; %zu bytes of memory each\n", kept.size(), texts.size(),
              static_cast<size_t>(report.memory_bytes) / std::max<size_t>(1, kept.size()));
  return kept;
}

void measure_packing(const std::vector<std::string>& texts, const std::string& folder) {
  const auto tokenizer = load_tokenizer([&](std::string_view name) -> std::optional<std::string> {
    std::ifstream file(folder + "/" + std::string(name), std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
  const auto vocab_size = static_cast<uint32_t>(tokenizer->vocab_size());
  size_t tokens = 0;
  measure_step("tokenizing and packing", size_of(texts), [&] {
    std::vector<std::byte> ids;
    for (const std::string& text : texts) {
      ids.clear();
      for (const int32_t id : tokenizer->encode(text, std::nullopt, 1 << 30).input_ids) {
        append_token_id(id, vocab_size, ids);
        ++tokens;
      }
    }
  });
  std::printf("%zu tokens\n", tokens);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: corpus_bench TEXTS [VOCAB_DIR]\n");
    return 2;
  }
#ifndef NDEBUG
  std::printf("WARNING: not optimized; build with the release preset\n");
#endif
  std::vector<std::string> texts;
  std::ifstream file(argv[1]);
  for (std::string line; std::getline(file, line);) texts.push_back(std::move(line));
  std::printf("%zu documents, %.1f MB\n", texts.size(), 1e-6 * static_cast<double>(size_of(texts)));
  measure_steps(texts);
  const std::vector<std::string> kept = measure_cleaning(texts);
  if (argc == 3) measure_packing(kept, argv[2]);
}
