#include "entrypoint/memory/memory_text.h"

#include "storage/base/text.h"

namespace berth {
namespace {

MemoryParts engine_parts(const EngineMemory& engine) {
  return {{"parameters", engine.parameters},
          {"gradients", engine.gradients},
          {"moments", engine.moments},
          {"activations", engine.activations},
          {"scratch", engine.scratch}};
}

std::string total_text(size_t size_bytes, const std::optional<MemoryLimit>& limit,
                       const MemoryParts& parts) {
  std::string text = human_bytes(size_bytes);
  if (limit) text += cat(" of ", limit->what, ", ", human_bytes(limit->size_bytes));
  const char* separator = " (";
  for (const auto& [name, part_bytes] : parts) {
    text += cat(separator, name, " ", human_bytes(part_bytes));
    separator = ", ";
  }
  return text + ")";
}

}  // namespace

MemoryParts host_parts(const MemoryEstimate& memory) {
  MemoryParts parts = {{"program", memory.program}, {"tables", memory.tables}};
  if (memory.teacher > 0) parts.emplace_back("teacher", memory.teacher);
  if (!memory.engine.has_own_memory) {
    for (const auto& part : engine_parts(memory.engine)) parts.push_back(part);
  }
  if (memory.engine.plugin > 0) parts.emplace_back("plugin", memory.engine.plugin);
  parts.emplace_back("saving", memory.saving);
  if (memory.probe > 0) parts.emplace_back("probe", memory.probe);
  if (memory.reading > 0) parts.emplace_back("reading", memory.reading);
  return parts;
}

MemoryParts device_parts(const MemoryEstimate& memory) {
  return memory.engine.has_own_memory ? engine_parts(memory.engine) : MemoryParts();
}

std::string memory_text(const MemoryEstimate& memory, const MemoryLimits& limits) {
  std::string text = "at most " + total_text(memory.on_host(), limits.host, host_parts(memory));
  if (!memory.engine.has_own_memory) return text;
  return cat(text, "; on each device at most ",
             total_text(memory.on_device(), limits.device, device_parts(memory)));
}

}  // namespace berth
