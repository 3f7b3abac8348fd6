#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/error.h"
#include "trainer/text/load_tokenizer.h"

// Loads the bytes as the spiece.model of a folder without a config or of XLM-RoBERTa, and encodes a
// text with it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view model(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool is_bare = data[0] % 2 == 0;
  try {
    const auto tokenizer =
        berth::load_tokenizer([&](std::string_view name) -> std::optional<std::string> {
          if (name == "spiece.model") return std::string(model);
          if (name == "config.json" && !is_bare) return R"({"model_type": "xlm-roberta"})";
          return std::nullopt;
        });
    berth::EncodeOptions options(64);
    options.with_offsets = true;
    tokenizer->encode("ab <s> \xC3\x89!", model.substr(0, 200), options);
    tokenizer->files();
  } catch (const berth::Error&) {
  }
  return 0;
}
