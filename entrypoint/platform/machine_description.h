#pragma once

#include <string>

namespace berth {

// The processor and the operating system, for job.json: "AMD EPYC 7B13, Linux 6.1 x86_64".
std::string machine_description();

}  // namespace berth
