#pragma once

#include <string>

#include "trainer/model/config.h"

namespace berth {

// "  NAME      TEXT\n": one line of the summary of a model.
std::string summary_line(const std::string& name, const std::string& text);

// What a configuration says of its model, for people: architecture, size, positions, vocabulary,
// task and labels.
std::string model_lines(const ModelConfig& config);

}  // namespace berth
