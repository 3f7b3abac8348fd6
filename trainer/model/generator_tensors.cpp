#include "trainer/model/generator_tensors.h"

#include <utility>

#include "storage/base/error.h"
#include "trainer/model/generator_config.h"
#include "trainer/model/part_names.h"

namespace berth {

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
