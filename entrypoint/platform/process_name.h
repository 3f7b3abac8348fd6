#pragma once

#include <string>

namespace berth {

// "host.pid": tells this process apart from others that write to the same directory.
std::string process_name();

}  // namespace berth
