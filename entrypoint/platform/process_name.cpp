#include "entrypoint/platform/process_name.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
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

// "pid:[4026531836]"; empty if the system does not say it.
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

// The parts of an identity; nullopt if the text is malformed.
struct Identity {
  std::string system, number, start;
};
std::optional<Identity> parse_identity(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string boot, space, number, start;
  if (!(words >> boot >> space >> number >> start)) return std::nullopt;
  if (number.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return Identity{.system = cat(boot, " ", space), .number = number, .start = start};
}

// Whether the process of an identity of this system is there.
bool is_there(const Identity& identity) { return start_of(identity.number) == identity.start; }

}  // namespace

std::string host_name() {
  char host[256] = {};
  return ::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0' ? "host" : host;
}

std::string process_name() { return cat(host_name(), ".", ::getpid()); }

std::string process_identity() {
  const std::string system = system_identity(), number = cat(::getpid());
  const std::string start = start_of(number);
  return system.empty() || start.empty() ? "" : cat(system, " ", number, " ", start);
}

bool is_process_running(std::string_view identity) {
  const std::optional<Identity> process = parse_identity(identity);
  return process && process->system == system_identity() && is_there(*process);
}

bool has_process_ended(std::string_view identity) {
  const std::optional<Identity> process = parse_identity(identity);
  return process && process->system == system_identity() && !is_there(*process);
}

}  // namespace berth
