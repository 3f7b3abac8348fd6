#include "entrypoint/platform/machine_description.h"

#include <sys/utsname.h>

#include <fstream>

namespace berth {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string machine_description() {
  const std::string processor = processor_name();
  utsname system{};
  if (uname(&system) != 0) return processor;
  return processor + ", " + system.sysname + " " + system.release + " " + system.machine;
}

}  // namespace berth
