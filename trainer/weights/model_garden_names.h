#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "trainer/weights/tensorflow_names.h"

namespace berth {

// The Hugging Face names of a TF2 checkpoint's keys, as TF Model Garden's BERT has them
// (tensorflow/models, official/nlp/modeling), both without the end "/.ATTRIBUTES/VARIABLE_VALUE".
// Layouts known:
//
//   PREFIX/layer_with_weights-0/embeddings          a functional model, its layers by number
//   PREFIX/_embedding_layer/embeddings              a layer with attributes (BertEncoderV2)
//   next_sentence..pooler_dense, masked_lm, ...     heads, beside or within the model
//
// A key that none of them explains goes by its full name ("transformer/layer_0/output/kernel"),
// where the object graph has one. Keys that are no part of BERT have no entry.
std::map<std::string, MappedName> model_garden_names(
    const std::set<std::string>& keys,
    const std::map<std::string, std::string, std::less<>>& full_names_by_key);

}  // namespace berth
