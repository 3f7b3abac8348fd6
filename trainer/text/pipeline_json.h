#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "trainer/text/pipeline.h"

// Functions that read tokenizer.json of the `tokenizers` library, file version 1.0, and its parts,
// each given as JSON text. All throw kCorrupt if the text is not JSON, and kBadData if a value has
// the wrong type. Anything that is not supported is kBadData and named: pre_tokenizer.type is "X",
// which berth does not support. Errors do not name the file.
namespace berth {

// Reads the content of the whole file: everything except `files`.
PipelineParts read_pipeline_json(const Json& root);
// Its member "added_tokens".
std::vector<AddedToken> read_added_tokens_list(const Json& root);
// The type of its member "model". Older files do not name it; it then follows from the other
// members.
std::string type_of_model(const Json& model);

NormalizationStep read_normalization(std::string_view json);  // returns an empty function for null

struct Splitting {
  SplitStep split;               // empty for null
  bool byte_level = false;       // words are in GPT-2's alphabet
  bool needs_alignment = false;  // see PipelineOptions
  bool keeps_spaces = false;     // see PipelineOptions
  bool removes_spaces = false;   // a step removed them before any other could keep them
};
Splitting read_splitting(std::string_view json);

struct PostProcessing {
  SpecialTokensTemplate special;
  bool trim_spans = false, add_prefix_space = false;
};
PostProcessing read_post_processing(std::string_view json);

}  // namespace berth
