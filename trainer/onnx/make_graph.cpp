#include "trainer/onnx/make_graph.h"

#include "trainer/onnx/network/network.h"
#include "trainer/onnx/network/ports.h"

namespace berth::onnx {
namespace {

ElementType element_type(DType dtype) {
  if (dtype == DType::kF16) return ElementType::kF16;
  return dtype == DType::kBF16 ? ElementType::kBF16 : ElementType::kF32;
}

// Most RoBERTas have one token type, which their tokenizers do not give.
bool has_token_types(const ModelConfig& config) {
  return config.type_vocab_size > (config.counts_from_padding() ? 1 : 0);
}

}  // namespace

std::unique_ptr<Graph> make_graph(const ModelConfig& config, std::span<const ParameterSpec> specs,
                                  DType dtype, bool gives_types) {
  auto graph = std::make_unique<Graph>();
  Network network{.config = config, .specs = specs, .graph = *graph, .stored = element_type(dtype)};
  network.input_ids = graph->input(ids_port("input_ids"));
  network.attention_mask = graph->input(ids_port("attention_mask"));
  if (has_token_types(config) && gives_types)
    network.token_type_ids = graph->input(ids_port("token_type_ids"));
  graph->begin_part("padding");
  // ONNX Runtime's optimizer looks for these nodes, as PyTorch's exporter writes them, when it
  // makes one operation of attention.
  const Value mask = unsqueeze(unsqueeze(network.attention_mask, {1}), {2});
  network.padding_scores = excluding_scores(cast(mask, ElementType::kF32));  // [B,1,1,S]
  add_outputs(network, encode(network));
  return graph;
}

}  // namespace berth::onnx
