#include "entrypoint/platform/machine_description.h"

#include <sys/utsname.h>

#include <fstream>

namespace berth {

std::string machine_description() {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      processor = line.substr(colon + 2);
      break;
    }
  }
  utsname system{};
  if (uname(&system) != 0) return processor;
  return processor + ", " + system.sysname + " " + system.release + " " + system.machine;
}

}  // namespace berth
