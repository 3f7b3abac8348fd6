#pragma once

#include <pjrt_c_api.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace berth {

// What the fake plugin (fake_plugin.cpp) shall do, and what was done with it. A test gets it from
// the library by the function fake_plugin_control. `lock` guards everything but `released`.
struct FakePluginControl {
  std::mutex lock{};

  // ---- What it shall do: functions are named as in PJRT_Api, without the prefix "PJRT_". ----
  int major_version = PJRT_API_MAJOR;
  int minor_version = 70;
  size_t struct_size =
      PJRT_Api_STRUCT_SIZE;  // of the table; functions beyond it are there all the same
  bool has_table = true;
  std::string fails{};        // this function returns an error
  std::string event_fails{};  // the event that this function returns fails
  PJRT_Error_Code code = PJRT_Error_Code_INTERNAL;
  std::string message = "the fake plugin was told to fail";
  std::string hangs{};  // this function does not return until `released`
  std::atomic<bool> released = false;
  size_t devices = 2;
  size_t other_devices = 0;                    // of other hosts; their ids come first
  std::vector<int64_t> bytes_in_use = {5, 5};  // by device
  int64_t bytes_limit = 100;                   // of each device
  int64_t temporary_bytes = 8;                 // of every program

  // ---- What was done. ----
  std::map<std::string, int> calls{};    // by function
  std::map<void*, std::string> alive{};  // what was created and not yet destroyed, with its kind

  // Forgets what is alive, because the test lets it leak on purpose. LeakSanitizer, which looks
  // after all destructors of static objects, still finds it in a list that is never destroyed.
  void leave_behind() {
    static auto* const left_behind = new std::vector<std::map<void*, std::string>>;
    left_behind->push_back(std::move(alive));
    alive.clear();
  }

  std::vector<std::string> mistakes{};  // what no caller may do, such as to destroy twice
  int destroyed_errors = 0;
  std::string compile_options{};  // of the last compilation
  // What clients were told of hosts, as "node_id 1", and what their store gave back.
  std::vector<std::string> hosts{};
};

using FakePluginControlFunction = FakePluginControl* (*)();

}  // namespace berth
