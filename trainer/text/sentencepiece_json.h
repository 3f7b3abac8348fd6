#pragma once

#include <cstdint>

#include "storage/base/json.h"
#include "trainer/text/class_tokens.h"
#include "trainer/text/sentencepiece_model.h"
#include "trainer/text/tokenizer_class.h"

// A SentencePiece model as transformers 5 reads it where a folder has no tokenizer.json. It takes
// the pieces with their scores and the character map. The class decides the rest, so the spaces,
// the bytes and the types of the pieces in the model do not count.
namespace berth {

// The content of tokenizer.json as read_as_class() takes it. Throws kBadData for a BPE model, which
// transformers reads as unigram.
Json tokenizer_json_of(const SentencePieceModel& model);

// The control and user-defined pieces, which match in any text.
SentencePieceTokens special_pieces_of(const SentencePieceModel& model);

// Puts the pieces of the class before and behind the pieces of the model, as convert_from_spm of
// transformers does: fairseq's tokens for XLM-RoBERTa and CamemBERT, and T5's sentinels.
void add_pieces_of_class(TokenizerKind kind, const ClassTokens& tokens, int32_t extra_ids,
                         Json& vocabulary);

// The number of T5's sentinels in tokenizer_config.json. Throws kBadData for more than 10,000.
int32_t extra_ids_of(const Json& config);

}  // namespace berth
