#include "trainer/model/generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/part_names.h"

namespace berth {

GeneratorSizes scaled_generator(const ModelConfig& discriminator, double fraction) {
  const auto scaled = [fraction](int64_t size) {
    return std::max<int64_t>(1, std::llround(static_cast<double>(size) * fraction));
  };
  GeneratorSizes sizes{.num_hidden_layers = discriminator.num_hidden_layers,
                       .hidden_size = scaled(discriminator.hidden_size),
                       .num_attention_heads = scaled(discriminator.num_attention_heads),
                       .intermediate_size = scaled(discriminator.intermediate_size)};
  while (sizes.hidden_size % sizes.num_attention_heads != 0) --sizes.num_attention_heads;
  return sizes;
}

GeneratorSizes saved_generator(const ModelConfig& discriminator, const ModelConfig& generator) {
  if (generator.type != discriminator.type) {
    throw Error(Code::kUsage,
                cat("the generator is a ", model_type_name(generator.type),
                    ", and the discriminator a ", model_type_name(discriminator.type)));
  }
  const auto require = [](const char* key, int64_t own, int64_t wanted) {
    if (own == wanted) return;
    throw Error(Code::kUsage, cat("the generator shares the discriminator's embeddings, but its ",
                                  key, " is ", own, " where the discriminator has ", wanted));
  };
  require("vocab_size", generator.vocab_size, discriminator.vocab_size);
  require("embedding_size", generator.embedding_width(), discriminator.embedding_width());
  require("max_position_embeddings", generator.max_position_embeddings,
          discriminator.max_position_embeddings);
  require("type_vocab_size", generator.type_vocab_size, discriminator.type_vocab_size);
  return {.num_hidden_layers = generator.num_hidden_layers,
          .hidden_size = generator.hidden_size,
          .num_attention_heads = generator.num_attention_heads,
          .intermediate_size = generator.intermediate_size};
}

ModelConfig generator_config(const ModelConfig& discriminator) {
  if (!discriminator.generator) throw Error(Code::kInternal, "the model has no generator");
  const GeneratorSizes& sizes = *discriminator.generator;
  ModelConfig config = discriminator;
  config.task = Task::kMaskedLm;
  config.ties_word_embeddings = true;  // both models share them
  config.labels.clear();
  config.embedding_size = discriminator.embedding_width();
  config.num_hidden_layers = sizes.num_hidden_layers;
  config.hidden_size = sizes.hidden_size;
  config.num_attention_heads = sizes.num_attention_heads;
  config.intermediate_size = sizes.intermediate_size;
  config.generator.reset();
  config.is_generator = true;
  return config;
}

namespace {

// The name of a generator's parameter in a file that holds only the generator, which transformers
// loads as ElectraForMaskedLM. "" if only the discriminator has the parameter.
std::string name_in_generator_file(const ModelConfig& discriminator, std::string_view name) {
  if (name.starts_with(kGeneratorPrefix)) return std::string(name.substr(kGeneratorPrefix.size()));
  const EmbeddingNames names = embedding_names(discriminator);
  const std::array<std::string_view, 4> shared = {names.word, names.position, names.token_type,
                                                  names.norm};
  const bool is_shared = std::ranges::any_of(shared, [&](std::string_view part) {
    return !part.empty() && name.starts_with(cat(part, "."));
  });
  return is_shared ? std::string(name) : "";
}

}  // namespace

GeneratorTensors::GeneratorTensors(const ModelConfig& config, ParameterTensors& all)
    : GeneratorTensors(config, std::as_const(all)) {
  written_ = &all;
}

GeneratorTensors::GeneratorTensors(const ModelConfig& config, const ParameterTensors& all)
    : all_(all) {
  const std::string prefix = base_prefix(config);
  for (size_t i = 0; i < all.specs().size(); ++i) {
    ParameterSpec spec = all.specs()[i];
    spec.name = name_in_generator_file(config, spec.name);
    if (spec.name.empty()) continue;
    for (std::string& alias : spec.aliases) {
      if (alias.starts_with(kGeneratorPrefix)) alias.erase(0, kGeneratorPrefix.size());
    }
    spec.is_head = !spec.name.starts_with(prefix);
    specs_.push_back(std::move(spec));
    places_.push_back(i);
  }
}

void GeneratorTensors::read(size_t index, int64_t first, std::span<float> values) const {
  all_.read(places_[index], first, values);
}

void GeneratorTensors::write(size_t index, int64_t first, Bytes values) {
  if (written_ == nullptr) throw Error(Code::kInternal, "the generator's tensors are constant");
  const size_t place = places_[index];
  if (all_.specs()[place].name.starts_with(kGeneratorPrefix)) written_->write(place, first, values);
}

}  // namespace berth
