#pragma once

#include <memory>
#include <string_view>

#include "trainer/text/pipeline_tokenizer.h"

// tokenizer.json of the `tokenizers` library, file version 1.0, and its parts, each as JSON text.
// All throw kCorrupt for what is not JSON and kBadData for values of the wrong kind; what berth
// does not know is kBadData naming it: pre_tokenizer.type is "X", which berth does not know. Errors
// do not name the file.
namespace berth {

PipelineParts read_pipeline_json(std::string_view content);  // all but `files`

NormalizationStep read_normalization(std::string_view json);  // empty for null

struct Splitting {
  SplitStep split;               // empty for null
  bool byte_level = false;       // words are then in GPT-2's alphabet
  bool needs_alignment = false;  // see PipelineOptions
};
Splitting read_splitting(std::string_view json);

struct PostProcessing {
  SpecialTokensTemplate special;
  bool trim_spans = false, add_prefix_space = false;
};
PostProcessing read_post_processing(std::string_view json);

}  // namespace berth
