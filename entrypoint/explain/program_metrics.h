#pragma once

#include <string_view>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Compares the metrics of a program's compute_metrics with the task's metrics in berth. Other
// metrics are refused. So is a function that the program does not hold.
void check_metrics(const PythonProgram& program, std::string_view task, Launch& launch);

}  // namespace berth
