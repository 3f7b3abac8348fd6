#include "entrypoint/platform/process_name.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "storage/base/text.h"

namespace berth {
namespace {

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "pid:[4026531836]"; empty where that is not told.
std::string process_namespace() {
  char target[64] = {};
  const ssize_t size = ::readlink("/proc/self/ns/pid", target, sizeof target - 1);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : "";
}

// When the process started, in ticks since the boot (proc(5), field 22 of stat); empty where there
// is no such process. The fields are counted from the end of the program's name, the second one.
std::string start_of(const std::string& process_number) {
  const std::string stat = line_of(cat("/proc/", process_number, "/stat"));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return fields ? field : "";
}

std::string system_identity() {
  const std::string boot = line_of("/proc/sys/kernel/random/boot_id");
  const std::string space = process_namespace();
  return boot.empty() || space.empty() ? "" : cat(boot, " ", space);
}

}  // namespace

std::string process_name() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') return cat("host.", ::getpid());
  return cat(host, ".", ::getpid());
}

std::string process_identity() {
  const std::string system = system_identity(), number = cat(::getpid());
  const std::string start = start_of(number);
  return system.empty() || start.empty() ? "" : cat(system, " ", number, " ", start);
}

bool has_process_ended(std::string_view identity) {
  std::istringstream words{std::string(identity)};
  std::string boot, space, number, start;
  if (!(words >> boot >> space >> number >> start)) return false;
  if (cat(boot, " ", space) != system_identity()) return false;
  const bool is_number = number.find_first_not_of("0123456789") == std::string::npos;
  return is_number && start_of(number) != start;
}

}  // namespace berth
