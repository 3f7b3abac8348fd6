#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "entrypoint/job.h"
#include "entrypoint/standard_output.h"
#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/text/load_tokenizer.h"

namespace berth {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestLine = size_t{64} << 20;

struct Input {
  std::string text;
  std::optional<std::string> text_pair{};
};

// Lines of a file, or of standard input.
class Lines {
 public:
  Lines(Storage& storage, const std::string& path) {
    if (path == "-") return;
    const Uri uri = Uri::parse(path);
    source_ = decompress(storage.open(uri), compression_of(uri.file_name()));
  }

  bool next(std::string& line) {
    if (!source_) return static_cast<bool>(std::getline(std::cin, line));
    line.clear();
    while (true) {
      const size_t feed = std::string_view(buffer_).substr(begin_, end_ - begin_).find('\n');
      const size_t size = feed == std::string::npos ? end_ - begin_ : feed;
      line.append(buffer_, begin_, size);
      if (line.size() > kLongestLine) throw Error(Code::kBadData, "a line above 64 MiB");
      begin_ += size;
      if (feed != std::string::npos) {
        ++begin_;
        return true;
      }
      begin_ = 0;
      end_ = source_->read(std::as_writable_bytes(std::span(buffer_)));
      if (end_ == 0) return !line.empty();
    }
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string buffer_ = std::string(size_t{64} << 10, '\0');
  size_t begin_ = 0, end_ = 0;
};

Input parse_input(const std::string& line, bool is_json) {
  if (!is_json) return {.text = line};
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto text = [&](const char* key) -> std::optional<std::string> {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (!found->is_string()) throw Error(Code::kBadData, cat(quoted(key), " is not a text"));
    return found->get<std::string>();
  };
  if (!object.is_object()) throw Error(Code::kBadData, "is not a JSON object");
  const std::optional<std::string> first = text("text");
  if (!first) throw Error(Code::kBadData, "has no \"text\"");
  return {.text = *first, .text_pair = text("text_pair")};
}

void print(const Tokenizer& tokenizer, const Input& input, const EncodeOptions& options,
           ByteSink& output) {
  const Encoding encoding = tokenizer.encode(input.text, input.text_pair, options);
  Json tokens = Json::array(), offsets = Json::array();
  for (const int32_t id : encoding.input_ids) tokens.push_back(tokenizer.token(id));
  for (const Span& span : encoding.offsets) offsets.push_back({span.begin, span.end});
  const Json object = {{"tokens", tokens}, {"ids", encoding.input_ids}, {"offsets", offsets}};
  output.write(as_bytes(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
}

}  // namespace

void run_tokenization(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  const ModelOptions& model = job.settings.model;
  const Uri folder = Uri::parse(model.model);
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = load_tokenizer(
        [&](std::string_view name) {
          const bool elsewhere = name == "vocab.txt" && !model.vocab_file.empty();
          return read_text(job.storage, elsewhere ? Uri::parse(model.vocab_file) : folder / name);
        },
        {.do_lower_case = model.do_lower_case});
  } catch (const Error& error) {
    throw error.at(folder.to_string());
  }
  EncodeOptions options(std::numeric_limits<int32_t>::max());
  options.add_special_tokens = tool.add_special_tokens;
  options.with_offsets = true;
  StandardOutput output;
  if (tool.text) {
    print(*tokenizer, {.text = *tool.text}, options, output);
    output.close();
    return;
  }
  const std::string name(without_compression_suffix(tool.input));
  const bool is_json = name.ends_with(".jsonl");
  Lines lines(job.storage, tool.input);
  std::string line;
  for (uint64_t number = 1; lines.next(line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (is_json && line.empty()) continue;
    try {
      print(*tokenizer, parse_input(line, is_json), options, output);
    } catch (const Error& error) {
      throw error.at(cat(tool.input, " line ", number));
    }
  }
  output.close();
}

}  // namespace berth
