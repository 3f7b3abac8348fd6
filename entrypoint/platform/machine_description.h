#pragma once

#include <string>

namespace berth {

// The processor's own name, "AMD EPYC 7B13", or "unknown processor".
std::string processor_name();

// The processor and the operating system, for job.json: "AMD EPYC 7B13, Linux 6.1 x86_64".
std::string machine_description();

}  // namespace berth
