#pragma once

#include <span>
#include <string>

#include "trainer/weights/tensorflow_names.h"

namespace berth {

// One part of TF Model Garden's BERT (tensorflow/models, official/nlp/modeling) and its Hugging
// Face name. "{}" stands for the same number in both.
struct ModelGardenRow {
  std::string key, hugging_face;
  TensorflowLayout layout;
};

// Whole keys after the prefix of the encoder. They consist of the attributes of BertEncoderV2 and
// its TransformerEncoderBlock.
std::span<const ModelGardenRow> model_garden_attributes();

// Ends of full names. They consist of the names of layers and variables, whatever attributes hold
// them.
std::span<const ModelGardenRow> model_garden_full_names();

// Ends of the keys of heads. They consist of attributes.
std::span<const ModelGardenRow> model_garden_heads();

}  // namespace berth
