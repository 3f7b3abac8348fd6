#pragma once

#include <map>
#include <string>
#include <utility>

#include "entrypoint/explain/python_reader.h"

namespace berth {

// By the names of functions and of their parameters.
using GivenValues = std::map<std::pair<std::string, std::string>, PythonValue>;

// The values that parameters get, where all calls of their function give the same. Lacks a function
// that another one gets, which may be called with anything, and one that is not plain.
GivenValues given_values(const PythonProgram& program);

}  // namespace berth
