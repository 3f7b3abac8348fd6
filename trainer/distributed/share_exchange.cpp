#include "trainer/distributed/share_exchange.h"

#include <algorithm>

#include "trainer/distributed/scatter_sums.h"
#include "trainer/distributed/wire_numbers.h"

namespace berth {
namespace {

using Share = std::vector<std::span<float>>;

size_t elements_of(const Share& share) {
  size_t elements = 0;
  for (const std::span<float> part : share) elements += part.size();
  return elements;
}

size_t largest_of(const Shares& shares) {
  size_t most = 0;
  for (const Share& share : shares) most = std::max(most, elements_of(share));
  return most;
}

// Writes the numbers of a share and zeros behind them, `count` in all.
template <typename Element>
void encode_share(const Share& share, Element* out, size_t count) {
  Element* const end = out + count;
  for (const std::span<float> part : share) {
    encode(part, out);
    out += part.size();
  }
  std::fill(out, end, Element{});
}

void copy_to(const Share& share, const float* values) {
  for (const std::span<float> part : share) {
    std::copy_n(values, part.size(), part.begin());
    values += part.size();
  }
}

}  // namespace

void ShareExchange::scatter_sums(const Shares& gradients) {
  if (wire_dtype_ == DType::kBF16) return scatter_sums_as<Bf16>(gradients);
  scatter_sums_as<float>(gradients);
}

template <typename Element>
void ShareExchange::scatter_sums_as(const Shares& gradients) {
  const size_t ranks = gradients.size(), most = largest_of(gradients);
  if (most == 0) return;
  const auto own = static_cast<size_t>(ranks_.rank());
  sent_.resize(ranks * most * sizeof(Element));
  for (size_t r = 0; r < ranks; ++r) {
    encode_share(gradients[r], numbers_of<Element>(sent_) + r * most, most);
    if (r == own) continue;
    for (const std::span<float> part : gradients[r]) std::ranges::fill(part, 0.0f);
  }
  sums_.resize(most);
  berth::scatter_sums<Element>(ranks_, sent_, received_, std::span(sums_));
  copy_to(gradients[own], sums_.data());
}

void ShareExchange::gather(const Shares& values) {
  const size_t ranks = values.size(), most = largest_of(values);
  if (most == 0) return;
  const auto own = static_cast<size_t>(ranks_.rank());
  sent_.resize(most * sizeof(float));
  received_.resize(ranks * sent_.size());
  encode_share(values[own], numbers_of<float>(sent_), most);
  ranks_.all_gather(sent_, received_);
  for (size_t r = 0; r < ranks; ++r) {
    if (r != own) copy_to(values[r], numbers_of<float>(received_) + r * most);
  }
}

}  // namespace berth
