#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/text/load_tokenizer.h"

namespace berth {

inline std::optional<std::string> file_at(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::string testdata(const std::string& name) {
  return file_at(std::string(BERTH_TESTDATA) + "/tokenizer/" + name).value();
}

// A model's folder in memory.
using Files = std::map<std::string, std::string, std::less<>>;

inline std::unique_ptr<Tokenizer> load(const Files& files, const TokenizerOverrides& overrides = {},
                                       std::vector<std::string>* rules = nullptr) {
  return load_tokenizer(
      [&](std::string_view name) -> std::optional<std::string> {
        const auto found = files.find(name);
        if (found == files.end()) return std::nullopt;
        return found->second;
      },
      overrides, rules);
}

inline std::string lines(std::initializer_list<const char*> pieces) {
  std::string text;
  for (const char* piece : pieces) text += std::string(piece) + '\n';
  return text;
}

inline std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

inline std::vector<int32_t> ids(const Tokenizer& tokenizer, std::string_view text,
                                int32_t max_length = 1 << 20) {
  return tokenizer.encode(text, std::nullopt, max_length).input_ids;
}

}  // namespace berth
