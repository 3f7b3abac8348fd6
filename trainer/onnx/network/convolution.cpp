#include "trainer/model/part_names.h"
#include "trainer/onnx/network/network.h"

namespace berth::onnx {

// A token beside the padding sees zeros there, as it does at the end of a sequence.
Value convolve(Network& network, const Value& x, const Value& layer_output) {
  const ModelConfig& config = network.config;
  network.graph.begin_part("convolution");
  const ConvolutionNames names = convolution_names(config);
  const Value is_token =
      unsqueeze(cast(network.attention_mask, ElementType::kF32), {2});  // [B,S,1]
  const Value columns = transpose(x * is_token, {0, 2, 1});             // [B,H,S]
  const Value y = convolution(columns, network.parameter(names.conv + ".weight"),
                              network.parameter(names.conv + ".bias"), config.conv_kernel_size);
  return network.layer_norm(layer_output + activate(transpose(y, {0, 2, 1}), config.conv_act),
                            names.norm);
}

}  // namespace berth::onnx
