#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// The splits that a data set has besides train: validation; or test and no validation; or neither.
enum class HubSplits { kUnknown, kValidation, kTest, kNone };

// A data set of the Hugging Face Hub as berth reads it.
struct HubDataSet {
  std::string place;   // "hf://datasets/nyu-mll/glue/mrpc", or a local folder
  std::string remark;  // what is to be known of it
  HubSplits splits;    // as its card says
};

// The files that load_dataset(name, config) reads. `config` may be empty. A name without an
// organisation may belong to a data set that the hub moved below one.
HubDataSet find_hub_data_set(std::string_view name, std::string_view config);

// A file of load_dataset(source, data_files=file): of a repository of the hub, of a folder, or the
// file itself where `source` is a format such as "csv".
std::string place_of_file(std::string_view source, std::string_view file);

// How many labels a column of this data set has. 1: it has numbers. 0: it is not known.
size_t label_count(std::string_view name, std::string_view config, std::string_view column);

// Other programs download data sets by their names. `typed` are the flags of `script`. If they name
// a data set and no flag names files, names it in `own` by its address on the hub, which berth
// reads itself. Says so in `remarks`, and removes the remarks that refuse the name.
void name_data_files(std::string_view script, const TypedCommand& typed, bool predicts_afterwards,
                     OwnCommand& own, Remarks& remarks);

// Trainer's --config_name names a model of the hub, a folder or a file. Names it in `own` as
// --model-config does, which is a file. Leaves it out where it is the model's own.
void name_configuration(const TypedCommand& typed, OwnCommand& own, Remarks& remarks);

// A pre-training from scratch names no model, but a tokenizer, a configuration or both. Names them
// in `own` as berth does: --model with the tokenizer's files and --init random. Removes the remarks
// that refuse their flags.
void name_scratch_model(const TypedCommand& typed, OwnCommand& own, Remarks& remarks);

// Scripts of BERT's first code and of Model Garden begin from random parameters where no checkpoint
// is named. Says so by --init random, or refuses a line that lacks a file for that.
void name_random_model(const TrainingScript& script, OwnCommand& own, Remarks& remarks);

}  // namespace berth
