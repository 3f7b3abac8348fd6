#include "storage/base/bytes.h"
#include "trainer/data/text_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = berth::as_text(std::as_bytes(std::span(data, size)));
  const auto parts = berth::parse_text_list(text);
  if (parts && !berth::begins_list(text)) __builtin_trap();
  return 0;
}
