#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

// The parts of a Python program that trains: its rows, metrics, losses and code of its own. Each
// function reads one part. It adds flags of berth to the launch, and refuses what they cannot say.
// The source that is named after a part has its functions; program_sizes.cpp has the lengths.
namespace berth {

// What a program does with the rows of its data set before it trains.
struct ProgramRows {
  const PythonProgram& program;
  std::string_view task;   // "token_classification"; empty: it is not known
  std::string_view model;  // as the program names it; empty: it is computed
  bool is_similarity = false;
};

// Adds the flags of the columns that the program tokenizes, and of how it does so. Refuses code
// that leaves rows out, changes texts or labels, or has another tokenizer than the model's.
void read_rows(const ProgramRows& rows, Launch& launch);

// Adds the flag of the length of texts or blocks, where the program or a model that berth knows
// says it. The model of `rows` may be one that the line names. Refuses other lengths.
void read_length(const ProgramRows& rows, Launch& launch);

// Compares `num_labels` of a model, which may be its default, with the labels of the rows that the
// launch names. berth makes an output for each of them. Says what is not known of them, and refuses
// another number.
void check_label_count(const PythonCall& model, std::string_view task, Launch& launch);

// Whether the program joins its tokenized rows and cuts them into blocks, by a function that it
// maps and whose name says so.
bool joins_texts(const PythonProgram& program);

// The split of a data set that these rows are: "train", or "train[:100]" as the program names it.
// Empty: the program does not show it.
std::string split_of(const PythonProgram& program, PythonSpan rows);

// Refuses rows of a split that get the name of another one.
void check_splits(const PythonProgram& program, Launch& launch);

// Whether the reader of rows refuses this call itself, or reads it.
bool is_row_call(std::string_view name);

// Follows the model, the rows, the loss and the tokenizer from where a program makes them to its
// Trainer. A step that berth does not know is refused, and so is a Trainer of another library.
void check_flow(const PythonProgram& program, Launch& launch);

// Finds how a program of token classification gives the tags of words to their tokens. berth gives
// the tag of a word to its first token, and the others count nothing. Any other way is refused, and
// so is one that the program does not show.
void check_token_tags(const PythonProgram& program, Launch& launch);

// Compares the metrics of a program's compute_metrics with the task's metrics in berth. Other
// metrics are refused. So is a function that the program does not hold.
void check_metrics(const PythonProgram& program, std::string_view task, Launch& launch);

// Adds the flags of callbacks, adapters and masks that a program makes. Code of its own that
// changes the model, the loss, the batches or the parameters that train is refused.
void read_own_code(const PythonProgram& program, bool is_similarity, Launch& launch);

// Refuses a program that trains several times: in a loop, or by a function that it calls so.
void check_runs(const PythonProgram& program, Launch& launch);

// Adds the flags of the training arguments, and whether the program trains and evaluates. Refuses
// arguments that it computes, and others that berth does not know.
void read_training_arguments(const PythonProgram& program, const PythonCall& arguments,
                             Launch& launch);

// Whether the program calls the method that trains, of a Trainer or of a value that may be one.
bool may_train(const PythonProgram& program);

// Whether the call is this method of a Trainer: trainer.predict(), or of a name that holds one.
bool is_of_trainer(const PythonProgram& program, const PythonCall& call, std::string_view method);

// Refuses settings of the training arguments behind the call that makes them.
void check_later_settings(const PythonProgram& program, const PythonCall& arguments,
                          Launch& launch);

// Adds the flags of `fit`, a call of model.fit(train_objectives=[...]) of sentence-transformers
// before version 3. Arguments that berth does not read are remarks, and refused.
void read_fit(const PythonProgram& program, const PythonCall& fit, Launch& launch);

// Adds the flags of the modules that a program of sentence-transformers puts together itself:
// models.Transformer, models.Pooling and models.Normalize. Other modules are refused. Returns the
// name of the encoder; empty: the program makes no module.
std::string read_sentence_modules(const PythonProgram& program, Launch& launch);

// Adds the flags of `prompts` of the training arguments: a text for all columns, or a text for each
// of some columns. Refuses names of columns that do not say which text of a row they hold.
void read_prompts(const PythonValue& prompts, Launch& launch);

constexpr std::string_view kSentenceOrganization = "sentence-transformers/";

// Whether the name is one of an encoder without files of sentence-transformers, of 512 tokens.
bool is_plain_model(const std::string& model);

// The name of the model that SentenceTransformer(name) loads: the library puts its organization in
// front of a name without one, unless transformers has a model of this name.
std::string sentence_model(const std::string& name);

// The one call of SentenceTransformer before the token `end` whose model has this name in the
// program. nullptr: there is none, or there are several.
const PythonCall* find_made_model(const PythonProgram& program, std::string_view name, size_t end);

// The call of SentenceTransformer that makes the model which the program trains. nullptr: the
// program does not name it, or makes it otherwise.
const PythonCall* find_trained_model(const PythonProgram& program);

// Adds the revision of a model, and refuses other arguments of a call of SentenceTransformer that
// change it. `flag` is the flag that names the model in berth.
void check_sentence_model(const PythonCall& call, std::string_view flag, Launch& launch);

// Adds the flags of the losses that a program of sentence-transformers makes: --similarity-loss and
// its settings. A loss that berth does not have, and an argument that changes one in another way,
// is refused.
void read_sentence_losses(const PythonProgram& program, Launch& launch);

// A data set of several that a program trains on together, each by its name in a mapping.
struct SentenceSource {
  const PythonCall* rows = nullptr;  // load_dataset(...)
  const PythonCall* loss = nullptr;  // nullptr: all sources have one
};

// The data sets of a SentenceTransformerTrainer. Empty: it has one, or it makes them in a way that
// is not read.
std::vector<SentenceSource> find_sources(const PythonProgram& program);

// What stands behind the file of a --train-source for its loss: ",loss=cosent,scale=30".
std::string settings_of_source(const PythonProgram& program, const SentenceSource& source,
                               Launch& launch);

// Adds the script and the flags of HuggingFace(entry_point="run_glue.py", hyperparameters={...}) of
// sagemaker, which starts the script elsewhere. false: the program makes no such call.
bool read_estimator(const PythonProgram& program, Launch& launch);

// The values of the options that a program reads by argparse, by their names: the line's, else its
// defaults. Unknown ones are computed, or lack both. Takes their flags out of the line's words.
std::map<std::string, PythonValue> take_options(const PythonProgram& program,
                                                std::vector<std::string>& words);

// Names the library of a program that trains without the TrainingArguments of transformers, and
// what of berth does its work. It adds nothing where it knows no such library.
void name_other_library(const PythonProgram& program, Launch& launch);

}  // namespace berth
