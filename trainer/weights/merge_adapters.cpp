#include "trainer/weights/merge_adapters.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace berth {
namespace {

// w [N,K] += scale * b [N,R] a [R,K], in double.
void add_product(std::vector<float>& w, const std::vector<float>& a, const std::vector<float>& b,
                 int64_t rank, double scale) {
  const auto terms = static_cast<size_t>(rank);
  const size_t outputs = b.size() / terms, inputs = a.size() / terms;
  std::vector<double> row(inputs);
  for (size_t n = 0; n < outputs; ++n) {
    std::fill(row.begin(), row.end(), 0.0);
    for (size_t r = 0; r < terms; ++r) {
      const auto factor = static_cast<double>(b[n * terms + r]);
      for (size_t k = 0; k < inputs; ++k) row[k] += factor * static_cast<double>(a[r * inputs + k]);
    }
    for (size_t k = 0; k < inputs; ++k) {
      float& value = w[n * inputs + k];
      value = static_cast<float>(static_cast<double>(value) + scale * row[k]);
    }
  }
}

}  // namespace

void merge_adapters(const LoraOptions& lora, const ParameterTensors& adapted,
                    ParameterTensors& merged) {
  constexpr std::string_view kWeight = ".weight";
  std::map<std::string_view, size_t> index_of;
  for (size_t i = 0; i < adapted.specs().size(); ++i) index_of[adapted.specs()[i].name] = i;
  for (size_t i = 0; i < merged.specs().size(); ++i) {
    const std::string& name = merged.specs()[i].name;
    std::vector<float> values = adapted.read(index_of.at(name));
    const std::string target = name.substr(0, name.size() - kWeight.size());
    const auto a = index_of.find(lora_a_name(target));
    if (name.ends_with(kWeight) && a != index_of.end()) {
      add_product(values, adapted.read(a->second), adapted.read(index_of.at(lora_b_name(target))),
                  lora.rank, static_cast<double>(lora.scale()));
    }
    merged.write(i, 0, std::as_bytes(std::span(values)));
  }
}

}  // namespace berth
