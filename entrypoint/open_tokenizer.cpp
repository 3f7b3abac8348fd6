#include "entrypoint/open_tokenizer.h"

#include <optional>
#include <string>

#include "storage/base/error.h"
#include "storage/whole_file.h"
#include "trainer/text/load_tokenizer.h"

namespace berth {

std::unique_ptr<Tokenizer> open_tokenizer(Storage& storage, const ModelOptions& options) {
  const auto read = [&](std::string_view name) -> std::optional<std::string> {
    if (name == "vocab.txt" && !options.vocab_file.empty()) {
      return read_text(storage, Uri::parse(options.vocab_file));
    }
    if (options.model.empty()) return std::nullopt;
    return read_text(storage, Uri::parse(options.model) / name);
  };
  try {
    return load_tokenizer(read, {.do_lower_case = options.do_lower_case});
  } catch (const Error& error) {
    throw error.at(
        Uri::parse(options.model.empty() ? options.vocab_file : options.model).to_string());
  }
}

}  // namespace berth
