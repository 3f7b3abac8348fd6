#pragma once

#include <string>

#include "trainer/inputs/options.h"
#include "trainer/inputs/sentence_files.h"

namespace berth {

// Whether flags say what stands before the texts of a row that are compared. They then say so for
// all of its texts.
bool gives_prompts(const EmbeddingOptions& options);

// Throws kUsage where the model's Pooling leaves prompts out of the embedding (include_prompt), and
// there is a prompt.
void require_pooled(const SentenceFiles& files, const std::string& prompt);

// The model's files, with the flags' prompts in place of its own prompts for search. Throws what
// require_pooled() throws.
SentenceFiles with_prompts(SentenceFiles files, const EmbeddingOptions& options);

// Fills in what stands before texts that a finished model compares, where no flag says so: its
// default prompt, as in encode(). The log says which prompts there are. Throws what
// require_pooled() throws.
void take_default_prompt(const SentenceFiles& files, EmbeddingOptions& options);

// The same before texts that a training evaluates on. Rows to train on have the prompts that flags
// give, and no others. The log says which, and warns where no flag gives any and the model has
// some.
void settle_training_prompts(const SentenceFiles& files, EmbeddingOptions& options);

// Fills in what stands before each text that --mode embed reads. Throws kUsage where --prompt-name
// names no prompt of the model, and what require_pooled() throws.
void settle_prompt_to_embed(const SentenceFiles& files, EmbeddingOptions& options);

}  // namespace berth
