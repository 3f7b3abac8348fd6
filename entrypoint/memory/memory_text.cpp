#include "entrypoint/memory/memory_text.h"

#include "storage/base/text.h"

namespace berth {

std::array<std::pair<const char*, size_t>, 8> memory_parts(const MemoryEstimate& memory) {
  return {{{"program", memory.program},
           {"tables", memory.tables},
           {"parameters", memory.engine.parameters},
           {"gradients", memory.engine.gradients},
           {"moments", memory.engine.moments},
           {"activations", memory.engine.activations},
           {"scratch", memory.engine.scratch},
           {"saving", memory.saving}}};
}

std::string memory_text(const MemoryEstimate& memory, const std::optional<MemoryLimit>& limit) {
  std::string text = "at most " + human_bytes(memory.total());
  if (limit) text += cat(" of ", limit->what, ", ", human_bytes(limit->size_bytes));
  const char* separator = " (";
  for (const auto& [name, size_bytes] : memory_parts(memory)) {
    text += cat(separator, name, " ", human_bytes(size_bytes));
    separator = ", ";
  }
  return text + ")";
}

}  // namespace berth
