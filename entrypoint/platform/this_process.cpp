#include "entrypoint/platform/this_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// "pid:[4026531836]"; empty if the system does not say it.
std::string process_namespace() {
  char target[64] = {};
  const ssize_t size = ::readlink("/proc/self/ns/pid", target, sizeof target - 1);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : "";
}

// When the process started, in ticks since the boot (proc(5), field 22 of stat); empty where there
// is no such process. The fields are counted from the end of the program's name, the second one.
std::string start_of(const std::string& process_number) {
  const std::string stat = first_line(cat("/proc/", process_number, "/stat"));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return fields ? field : "";
}

std::string system_identity() {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
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

namespace {

constexpr double kPoll_s = 0.02;
constexpr const char* kThisProgram = "/proc/self/exe";

// Variables that are about one job, and not about the machine. A name that ends in '_' stands for
// all variables that begin with it.
constexpr std::string_view kOfOneJob[] = {"AIP_", "CLOUD_ML_", "TF_CONFIG", "CLUSTER_SPEC",
                                          "TMPDIR"};

bool is_of_one_job(std::string_view name) {
  for (const std::string_view other : kOfOneJob) {
    if (other.ends_with('_') ? name.starts_with(other) : name == other) return true;
  }
  return false;
}

std::vector<std::string> environment_of_child(const std::filesystem::path& temporary) {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!is_of_one_job(text.substr(0, text.find('=')))) variables.emplace_back(text);
  }
  variables.push_back("TMPDIR=" + temporary.string());
  return variables;
}

// The texts as the functions of C expect them. Borrows them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// How a child begins: with a file in place of a terminal, in a process group of its own, and with
// the signals' defaults. So Ctrl-C reaches the parent alone, which then decides.
class SpawnOptions {
 public:
  explicit SpawnOptions(const std::string& log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, defaults;
    ::sigemptyset(&none);
    ::sigemptyset(&defaults);
    for (const int signal : {SIGTERM, SIGINT, SIGPIPE}) ::sigaddset(&defaults, signal);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnOptions() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// A child that is killed if it is still running when the object ends.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {}
  ~Child() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    wait(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The end of the process; nullopt while it runs.
  std::optional<ProcessEnd> poll() { return wait(WNOHANG); }

 private:
  std::optional<ProcessEnd> wait(int flags) {
    int status = 0;
    pid_t ended = 0;
    do {
      ended = ::waitpid(process_, &status, flags);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) return std::nullopt;
    process_ = 0;
    if (ended > 0 && WIFEXITED(status)) return ProcessEnd{.exit_code = WEXITSTATUS(status)};
    return ProcessEnd{.exit_code = 1, .signal = ended > 0 ? WTERMSIG(status) : SIGKILL};
  }

  pid_t process_;  // 0: it has ended and was waited for
};

pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment,
            const std::string& log) {
  const SpawnOptions options(log);
  pid_t process = 0;
  const int failure = ::posix_spawn(&process, kThisProgram, options.actions(), options.attributes(),
                                    pointers_to(arguments).data(), pointers_to(environment).data());
  if (failure == 0) return process;
  throw Error(Code::kNoSpace, cat("cannot start another process: ", std::strerror(failure)),
              kThisProgram);
}

}  // namespace

std::optional<ProcessEnd> run_self(std::span<const std::string> arguments,
                                   const std::filesystem::path& log,
                                   const std::filesystem::path& temporary,
                                   const std::atomic<bool>& stop) {
  if (stop) return std::nullopt;
  std::vector<std::string> all = {"berth"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.push_back(cat("--parent-process=", ::getpid()));
  Child child(spawn(std::move(all), environment_of_child(temporary), log.string()));
  while (!stop) {
    if (const std::optional<ProcessEnd> end = child.poll()) return end;
    sleep_s(kPoll_s);
  }
  return std::nullopt;
}

void start_again() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  if (arguments.empty()) return;
  // Libraries do not close all of theirs.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(kThisProgram, pointers_to(arguments).data());
}

void end_with_parent(int64_t process) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != static_cast<pid_t>(process)) ::_exit(128 + SIGKILL);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

void stop_with_owner(int64_t process) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != static_cast<pid_t>(process)) ::kill(::getpid(), SIGTERM);
}

}  // namespace berth
