#pragma once

#include <vector>

#include "storage/base/json.h"
#include "trainer/text/added_tokens.h"

namespace berth {

// An added token as transformers writes it: its content and its flags, without its id.
OrderedJson added_token_flags(const AddedToken& token);

// The member "added_tokens" of tokenizer.json: a list of tokens with their ids.
OrderedJson added_token_list(const std::vector<AddedToken>& tokens);

// The member "added_tokens_decoder" of tokenizer_config.json: the tokens by their ids.
OrderedJson added_tokens_decoder(const std::vector<AddedToken>& tokens);

}  // namespace berth
