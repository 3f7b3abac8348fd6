#pragma once

#include <memory>
#include <string>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/job.h"
#include "storage/storage.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/load_model.h"
#include "trainer/inputs/model_folder.h"
#include "trainer/inputs/options.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// What a flag like --model names. Returns `name` where it is an address, where something local has
// that name, and where the hub has no names of this form. Otherwise the hub is asked, and the
// model's hf:// URI is returned. Throws kNotFound, saying that neither exists, if the hub does not
// have the model, is offline, or has no address: the name may be a wrong path in a closed network,
// which is no reason to try again. Throws kUnavailable where a hub that is there does not answer.
std::string local_or_hub_model(Storage& storage, const std::string& name);

// The same without asking the hub: the URI where `name` can only be a name of the hub.
std::string local_or_hub_name(const std::string& name);

// Opens the tokenizer of --model, or of --vocab-file alone. The model is a folder, archive, file or
// job directory, and needs no parameters. Throws kNotFound, with the name of the model, where there
// is no tokenizer.
std::unique_ptr<Tokenizer> open_tokenizer(Storage& storage, const ModelOptions& options);

// Whether a flag or the data gave the length of texts in `settings`, which are resolved.
bool asks_for_length(const CommandLine& command_line, const Settings& settings);

// describe_model(). If no flag gives a length, it also sets the length in `settings`. This is the
// smallest of the default, the model's positions and the tokenizer's model_max_length. The log says
// so. With `is_of_job`, an earlier job has set the length, and model_max_length does not count.
// Throws what describe_model() throws, and kUsage if model_max_length is not a valid length.
ModelDescription describe_fitting_model(ModelFolder& folder, const CommandLine& command_line,
                                        Settings& settings, bool is_of_job = false);

// Sets the length in `settings` to the max_seq_length in `files`, and logs it. Does nothing if the
// model is not of sentence-transformers. Call it only if no flag or data give a length.
void use_length_of(const SentenceFiles& files, Settings& settings, ModelDescription& model);

// Whether the config's task is one of comparing the embeddings of texts.
bool compares_texts(const ModelConfig& config);

// Fills in how the config's model makes embeddings: as flags ask, else as the model's folder says,
// else the mean of the states.
void settle_embedding(const SentenceFiles& files, const EmbeddingOptions& asked,
                      ModelConfig& config);

// Warns where the folder's vectors are shortened by sentence-transformers, and compared whole here.
void warn_of_whole_vectors(const SentenceFiles& files, const EmbeddingOptions& asked,
                           const ModelConfig& config);

// The same for a model that is to compare texts, with its tokenizer. Throws kUsage where the folder
// compares vectors by another function than the cosine, and what with_prompts() throws.
void settle_comparison(ModelFolder& folder, const SentenceFiles& files, const Settings& settings,
                       ModelDescription& model);

// What a cross-encoder that was trained so makes of its logit.
ScoreForm trained_form(const RerankingOptions& asked);

// Where the rows of `loaded` hold texts to compare: fills in by which loss they are learnt, and how
// many texts a row has, at most, in all tables so far. Throws kUsage and kBadData where the loss
// does not take them so, and kUsage where there are no embeddings to truncate.
void settle_groups(const LoadedTable& loaded, const Settings& settings, ModelConfig& config);

}  // namespace berth

// The generator of pre-training by replaced-token detection (--task electra).
namespace berth {

// Gives `config`, whose task is chosen, the sizes of its generator, if the task has one: the sizes
// of the model in --generator, or else the flag's fraction of the discriminator's sizes. Returns
// the folder that --generator names, or null. Throws kUsage if the task cannot have such a model,
// device or setting, or if --generator is given for another task.
std::unique_ptr<ModelFolder> settle_generator(const Job& job, const Settings& settings,
                                              ModelConfig& config);

// The same for a finished model, whose generator is in the folder "generator" of the model unless
// --generator names another one.
std::unique_ptr<ModelFolder> finished_generator(const Job& job, const Settings& settings,
                                                ModelConfig& config);

// Fills the generator's own parameters from the folder on at most `threads` threads. Throws
// kNotFound if the folder has no parameters, and kBadData if they do not fit.
void fill_generator(ModelFolder& folder, const ModelConfig& config, int threads,
                    ParameterTensors& values);

}  // namespace berth
