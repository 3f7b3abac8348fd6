#pragma once

#include "trainer/loop/load_data.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/model_folder.h"
#include "trainer/loop/options.h"
#include "trainer/loop/sentence_files.h"
#include "trainer/model/config.h"

namespace berth {

// Whether the config's task is one of comparing the embeddings of texts.
bool compares_texts(const ModelConfig& config);

// Fills in how the config's model makes embeddings: as flags ask, else as the model's folder says,
// else the mean of the states.
void settle_embedding(const SentenceFiles& files, const EmbeddingOptions& asked,
                      ModelConfig& config);

// The same for a model that is to compare texts, with its tokenizer. Throws kUsage where the folder
// compares vectors by another function than the cosine.
void settle_comparison(ModelFolder& folder, const SentenceFiles& files, const Settings& settings,
                       ModelDescription& model);

// Where the rows of `loaded` hold texts to compare: fills in how many, and whether they are learnt
// by labels.
void settle_groups(const LoadedTable& loaded, ModelConfig& config);

}  // namespace berth
