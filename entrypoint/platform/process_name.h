#pragma once

#include <string>
#include <string_view>

namespace berth {

// The name of this machine or container; "host" if the system does not report it.
std::string host_name();

// "host.pid": identifies this process among others that write to the same directory.
std::string process_name();

// Identifies this process among all processes that ever were: the system's boot, the namespace of
// process numbers, the number and when the process started. Empty if /proc does not have it.
std::string process_identity();

// Whether the process of this identity runs on this system, in this namespace of process numbers.
bool is_process_running(std::string_view identity);

// Whether the process of this identity has certainly ended: it was started on this system, in this
// namespace of process numbers, and is not there any more. Nothing is known about other systems.
bool has_process_ended(std::string_view identity);

}  // namespace berth
