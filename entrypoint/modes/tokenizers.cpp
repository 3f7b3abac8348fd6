#include "entrypoint/modes/tokenizers.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/job/text_files.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/text_lines.h"
#include "storage/whole_file.h"
#include "trainer/inputs/data_source.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/training/tokenizer_trainer.h"

namespace berth {
namespace {

struct Input {
  std::string text;
  std::optional<std::string> text_pair{};
};

class StandardInput final : public ByteSource {
 public:
  size_t read(std::span<std::byte> buffer) override {
    const size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin);
    if (count > 0 || std::ferror(stdin) == 0) return count;
    throw Error(Code::kUnavailable, cat("cannot be read: ", std::strerror(errno)),
                "standard input");
  }
};

TextLines open_lines(Storage& storage, const std::string& path) {
  if (path == "-") return TextLines(std::make_unique<StandardInput>());
  const Uri uri = Uri::parse(path);
  return TextLines(DataSource(storage, path).open(uri));
}

Input parse_input(std::string_view line, bool is_json) {
  if (!is_json) return {.text = std::string(line)};
  const OrderedJson object = parse_ordered_json(line);
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

// A line that is written while it is made: as one JSON value it would take hundreds of bytes of
// memory for each token.
class Line {
 public:
  explicit Line(ByteSink& output) : output_(output) {}

  void add(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBufferBytes) flush();
  }
  void flush() {
    output_.write(as_bytes(buffer_));
    buffer_.clear();
  }

 private:
  static constexpr size_t kBufferBytes = 64 << 10;

  ByteSink& output_;
  std::string buffer_;
};

// Adds a member of an object: "name":[...] with an element for each of `items`.
template <typename Items, typename ToJson>
void add_list(const char* name, const Items& items, ToJson to_json, Line& line) {
  line.add(cat("\"", name, "\":["));
  const char* separator = "";
  for (const auto& item : items) {
    line.add(separator);
    line.add(to_json(item));
    separator = ",";
  }
  line.add("]");
}

void print(const Tokenizer& tokenizer, const Input& input, const EncodeOptions& options,
           ByteSink& output) {
  const Encoding encoding = tokenizer.encode(input.text, input.text_pair, options);
  const auto number = [](int32_t value) { return std::to_string(value); };
  const auto token = [&](int32_t id) {
    return printable_json(to_text(OrderedJson(tokenizer.token(id))));
  };
  const auto offsets = [](const Span& span) {
    return "[" + std::to_string(span.begin) + "," + std::to_string(span.end) + "]";
  };
  Line line(output);
  line.add("{");
  add_list("tokens", encoding.input_ids, token, line);
  line.add(",");
  add_list("ids", encoding.input_ids, number, line);
  line.add(",");
  add_list("offsets", encoding.offsets, offsets, line);
  line.add("}\n");
  line.flush();
}

}  // namespace

void run_tokenization(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  ModelOptions model = job.command_line.settings.model;
  model.model = local_or_hub_model(job.storage, model.model);
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(job.storage, model);
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
  try {
    TextLines lines = open_lines(job.storage, tool.input);
    for (std::string_view line; lines.next(line);) {
      job.stop_point();
      if (is_json && line.empty()) continue;
      try {
        print(*tokenizer, parse_input(line, is_json), options, output);
      } catch (const Error& error) {
        throw error.at(line_position(lines.number()));
      }
    }
  } catch (const Error& error) {
    throw error.in(Uri::parse(tool.input).to_string());
  }
  output.close();
}

void TokenizerProgress::on_texts(uint64_t texts, uint64_t bytes) {
  texts_ += texts;
  bytes_ += bytes;
  if (!reading_.is_due()) return;
  const double rate = reading_.rate(static_cast<double>(bytes_));
  log_info(cat("tokenizer: read ", human_bytes(bytes_), " in ", counted(texts_, "text"), ", ",
               human_bytes(static_cast<uint64_t>(rate)), " a second"));
}

void TokenizerProgress::on_pieces(size_t pieces, size_t goal) {
  if (!pieces_.is_due()) return;
  log_info(pieces <= goal
               ? cat("tokenizer: ", pieces, " of ", goal, " pieces")
               : cat("tokenizer: ", pieces, " candidates are left for ", goal, " pieces"));
}

namespace {

void say_what_was_read(const TextStatistics& text, uint64_t distinct_words, size_t files) {
  log_info(cat("read ", human_bytes(text.bytes), " of text in ", counted(text.rows, "row"), " of ",
               counted(files, "file"), ": ", counted(distinct_words, "distinct word")));
  if (text.malformed > 0) {
    log_warning(cat(counted(text.malformed, "malformed sequence"),
                    " of bytes, which are not UTF-8, were read as U+FFFD"));
  }
  if (text.long_words > 0) {
    log_warning(cat(counted(text.long_words, "word"), " were left out because of their length"));
  }
  if (text.words_removed > 0) {
    log_warning(cat("the memory for words was full, so ", counted(text.words_removed, "rare word"),
                    " were removed while counting; a "
                    "word's count may be too low by at most ",
                    text.largest_deficit));
  }
}

// Loads the tokenizer from the files just made, so that no job ends with files that cannot be read.
void require_loadable(const TrainedTokenizer& trained) {
  load_tokenizer([&](std::string_view name) -> std::optional<std::string> {
    for (const Tokenizer::File& file : trained.files) {
      if (file.name == name) return file.content;
    }
    return std::nullopt;
  });
}

}  // namespace

void run_tokenizer_training(Job& job) {
  const Settings& settings = job.command_line.settings;
  preflight(job.storage, settings);
  TokenizerTrainingOptions options = job.command_line.tool.tokenizer;
  options.lowercase = settings.model.do_lower_case;
  TextFiles files(job.storage, settings.data.train_data_file, settings.data.text_column,
                  settings.data.text_pair_column, settings.data.text_form);
  TokenizerProgress progress;
  const auto read = [&](TextBlock& block) {
    job.stop_point();
    if (!files.next(block)) return false;
    progress.on_texts(block.rows(), block.bytes.size());
    return true;
  };
  const TokenizerObserver observer{.on_words =
                                       [&](const TextStatistics& text, uint64_t distinct_words) {
                                         say_what_was_read(text, distinct_words, files.size());
                                       },
                                   .on_pieces =
                                       [&](size_t pieces, size_t goal) {
                                         job.stop_point();
                                         progress.on_pieces(pieces, goal);
                                       }};
  ThreadPool pool(compute_threads(settings));
  TrainedTokenizer trained;
  try {
    trained = train_tokenizer(read, options, pool, observer);
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw error.at(settings.data.train_data_file);
  }
  if (trained.vocab_size < vocab_size_of(options)) {
    log_warning(cat("the vocabulary has ", trained.vocab_size, " pieces and not ",
                    vocab_size_of(options), ", because no other pair occurs ",
                    counted(options.min_frequency, "time"), " in these texts"));
  }
  require_loadable(trained);
  const std::string& place =
      settings.output.export_dir.empty() ? settings.output.job_dir : settings.output.export_dir;
  const Uri directory = Uri::parse(place);
  for (const Tokenizer::File& file : trained.files) {
    write_text(job.storage, directory / file.name, file.content);
  }
  log_info(cat("wrote a tokenizer of ", trained.vocab_size, " pieces to ", directory.to_string()));
}

}  // namespace berth
