#pragma once

#include <string>

#include "trainer/loop/results.h"
#include "trainer/model/config.h"

namespace berth {

// The README.md of a finished model: what it is, how it is loaded, and its scores. It begins with
// the metadata that the Hugging Face Hub reads (huggingface.co/docs/hub/model-cards), with the
// scores as a model index. Labels and names are shown as text, whatever they hold.
std::string model_card(const ModelConfig& config, const JobMetrics& metrics);

// How the card calls a file of data or a model: by the name on the hub, "org/name", or else by the
// last part of the path. It contains no server, user or query.
std::string card_name(const std::string& uri);
// The same for a model, which has a name only on the hub. Empty: it is not from there.
std::string hub_name(const std::string& uri);

}  // namespace berth
