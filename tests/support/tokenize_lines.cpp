#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "storage/base/json.h"
#include "trainer/text/load_tokenizer.h"

// Tokenizes lines for tests/peers/. Each line of standard input is a JSON value: a text or a pair
// [a, b].
//
// tokenize_lines VOCAB_DIR [MAX_LENGTH]    prints the ids, special tokens included
// tokenize_lines VOCAB_DIR --offsets       prints "id:begin-end" for each token
// tokenize_lines VOCAB_DIR --plain         the same without special tokens
// tokenize_lines VOCAB_DIR --types         prints "id:type" for each token
// tokenize_lines VOCAB_DIR --save FOLDER   writes the tokenizer's files to FOLDER

namespace {

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string folder = argv[1];
  const auto tokenizer = berth::load_tokenizer(
      [&](std::string_view name) { return read_file(folder + "/" + std::string(name)); });
  if (argc == 4 && std::string(argv[2]) == "--save") {
    for (const auto& [name, content] : tokenizer->files()) {
      std::ofstream(std::string(argv[3]) + "/" + name, std::ios::binary) << content;
    }
    return 0;
  }
  berth::EncodeOptions options(std::numeric_limits<int32_t>::max());
  const std::string mode = argc > 2 ? argv[2] : "";
  options.add_special_tokens = mode != "--plain";
  options.with_offsets = mode == "--offsets" || mode == "--plain";
  const bool with_types = mode == "--types";
  if (!mode.empty() && !mode.starts_with("--")) options.max_length = std::stoi(mode);
  std::string line, out;
  while (std::getline(std::cin, line)) {
    const berth::Json value = berth::parse_json(line);
    std::optional<std::string> pair;
    if (value.is_array()) pair = value[1].get<std::string>();
    const std::string text = (pair ? value[0] : value).get<std::string>();
    out.clear();
    const berth::Encoding encoding = tokenizer->encode(text, pair, options);
    for (size_t i = 0; i < encoding.input_ids.size(); ++i) {
      out += std::to_string(encoding.input_ids[i]);
      if (options.with_offsets) {
        const berth::Span span = encoding.offsets[i];
        out += ':' + std::to_string(span.begin) + '-' + std::to_string(span.end);
      } else if (with_types) {
        out += ':' + std::to_string(encoding.token_type_ids[i]);
      }
      out += ' ';
    }
    out += '\n';
    std::fputs(out.c_str(), stdout);
  }
}
