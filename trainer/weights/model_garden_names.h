#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "trainer/weights/tensorflow_names.h"

namespace berth {

// Finds the Hugging Face names of the keys of a TF2 checkpoint of TF Model Garden's BERT
// (tensorflow/models, official/nlp/modeling). The keys lack the end "/.ATTRIBUTES/VARIABLE_VALUE".
// These layouts are known:
//
//   PREFIX/layer_with_weights-0/embeddings          a functional model, its layers by number
//   PREFIX/_embedding_layer/embeddings              a layer with attributes (BertEncoderV2)
//   next_sentence..pooler_dense, masked_lm, ...     heads, beside or within the model
//
// Any other key is found by its full name ("transformer/layer_0/output/kernel") if the object graph
// has one. Keys that are not part of BERT have no entry in the result.
std::map<std::string, MappedName> model_garden_names(
    const std::set<std::string>& keys,
    const std::map<std::string, std::string, std::less<>>& full_names_by_key);

}  // namespace berth
