#pragma once

#include <memory>
#include <span>

#include "storage/base/dtype.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_table.h"
#include "trainer/onnx/graph.h"

namespace berth::onnx {

// The graph of a model for inference, with the names that Hugging Face Optimum gives. The inputs
// are input_ids and attention_mask, int64 [batch_size, sequence_length]. token_type_ids is an input
// if the model has token types (RoBERTa: more than one). The output is logits, or start_logits and
// end_logits for spans, or last_hidden_state for an encoder without a head. If the task makes
// embeddings, sentence_embedding [batch_size, hidden_size] follows: pooled and perhaps normalized
// as the config says. For multiple choice, the inputs are [batch_size, num_choices,
// sequence_length] and the logits [batch_size, num_choices]. A sequence of a padded batch has the
// same outputs as alone.
//
// With `gives_types` false, the model's tokenizer gives no token types: the graph has no such
// input, and all tokens are of type 0.
//
// `specs` are the parameters of the config's table without adapters. The file is to hold them in
// `dtype` (kF32, kF16 or kBF16); all computation is in fp32.
std::unique_ptr<Graph> make_graph(const ModelConfig& config, std::span<const ParameterSpec> specs,
                                  DType dtype, bool gives_types = true);

}  // namespace berth::onnx
