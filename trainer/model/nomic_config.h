#pragma once

#include <optional>
#include <string>

#include "trainer/model/config.h"
#include "trainer/model/config_reader.h"

namespace berth {

// NomicBERT (Nussbaum et al. 2024, arXiv:2402.01613) has two kinds of config.json: one for Nomic's
// own code, whose keys are GPT-2's, and one for transformers 5. Converts an `object` of the first
// kind to the text of the second kind. Returns nullopt for any other object. Throws kUsage, naming
// the key, for features that transformers' NomicBERT does not have: biases, other gates, other
// rotary positions, layers that are normalized first or computed in parallel, mixtures of experts.
std::optional<std::string> nomic_config_for_transformers(const Json& object);

// The part of parse_config() that only NomicBERT has, under the keys of transformers. `object` is
// what `read` reads. Throws as parse_config() does.
void parse_nomic(const ConfigReader& read, const Json& object, ModelConfig& config);

}  // namespace berth
