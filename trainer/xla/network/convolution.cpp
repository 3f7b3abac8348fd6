#include <algorithm>
#include <vector>

#include "trainer/model/part_names.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
namespace {

// Column s of each row becomes column s + by of x [R,S,...], with zeros for columns that x lacks.
Value shifted(Value x, int64_t by) {
  const int64_t length = x.size(1), size = std::min(std::abs(by), length);
  return by < 0 ? pad(slice(x, 1, 0, length - size), 1, size, 0)
                : pad(slice(x, 1, size, length), 1, 0, size);
}

// [T,H*K]: of each token, K neighbours in its sequence, and zeros beyond its ends. Element h * K +
// k is element h of the token that stands k - K/2 behind it.
Value windows(const ForwardPass& pass, Value x, int64_t size) {
  const Value segment = pass.batch.segment;
  const Dims shape = {segment.size(0), segment.size(1), x.size(1)};
  const Value rows = reshape(x, shape);
  std::vector<Value> taps;
  for (int64_t tap = 0; tap < size; ++tap) {
    const int64_t by = tap - size / 2;
    const Value is_inside = compare(shifted(segment, by), Comparison::kEqual, segment);
    const Value neighbours = select(broadcast(is_inside, shape, {0, 1}), shifted(rows, by), 0);
    taps.push_back(reshape(neighbours, {x.size(0), x.size(1), 1}));
  }
  return reshape(concatenate(taps, 2), {x.size(0), x.size(1) * size});
}

}  // namespace

Value convolve(ForwardPass& pass, Value x, Value layer_output) {
  const ModelConfig& config = pass.config;
  const ConvolutionNames names = convolution_names(config);
  const Value y = pass.linear(windows(pass, x, config.conv_kernel_size), names.conv);
  const Value dropped =
      pass.dropout(y, config.hidden_dropout_prob, kConvolutionSite, token_rows(pass));
  return pass.layer_norm(layer_output + activate(dropped, config.conv_act), names.norm);
}

}  // namespace berth
