#include "trainer/text/tokenizer.h"

#include <nlohmann/json.hpp>
#include <string>

#include "storage/base/checksum.h"
#include "storage/base/json.h"

namespace berth {
namespace {

constexpr std::string_view kProbe =
    "The Caf\xC3\xA9 in Stra\xC3\x9F"
    "e 12345, don't: NA\xC3\x8FVE  \xE4\xB8\xAD\xE6\x96\x87 "
    "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xF0\x9F\x98\x80 [MASK] x_y.";

}  // namespace

uint32_t tokenizer_checksum(const Tokenizer& tokenizer) {
  std::string tokens;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) tokens += tokenizer.token(id) + '\n';
  uint32_t crc = crc32c(as_bytes(tokens));
  for (const int32_t id : tokenizer.encode(kProbe, std::nullopt, 512).input_ids) {
    crc = crc32c(as_bytes(std::to_string(id) + ","), crc);
  }
  return crc;
}

std::string with_input_names(const std::string& config_json, bool has_token_types) {
  OrderedJson config = parse_ordered_json(config_json);
  OrderedJson names = OrderedJson::array({"input_ids"});
  if (has_token_types) names.push_back("token_type_ids");
  names.push_back("attention_mask");
  config["model_input_names"] = names;
  return to_text(config, 2) + "\n";
}

}  // namespace berth
