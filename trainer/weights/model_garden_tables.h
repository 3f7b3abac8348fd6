#pragma once

#include <span>
#include <string>

#include "trainer/weights/tensorflow_names.h"

namespace berth {

// One part of TF Model Garden's BERT (tensorflow/models, official/nlp/modeling) and its Hugging
// Face name; "{}" in both is the same number.
struct ModelGardenRow {
  std::string key, hugging_face;
  TensorflowLayout layout;
};

// By the attributes of BertEncoderV2 and of its TransformerEncoderBlock: whole keys behind the
// encoder's prefix.
std::span<const ModelGardenRow> model_garden_attributes();

// By the names of the layers' variables, whatever attributes hold them: ends of full names.
std::span<const ModelGardenRow> model_garden_full_names();

// Heads by their attributes: ends of keys.
std::span<const ModelGardenRow> model_garden_heads();

}  // namespace berth
