#include <algorithm>
#include <string_view>

#include "entrypoint/explain/program_parts.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct Library {
  std::string_view call, text;  // the last part of the name of a call, or of a class's base
};

constexpr std::string_view kSimple =
    "is of simpletransformers, which has defaults of its own; write its args as flags of berth: "
    "train_batch_size is --batch-size, learning_rate 4e-5, max_seq_length 128 and "
    "num_train_epochs 1 without an argument, and warmup_ratio 0.06";
constexpr std::string_view kReranker =
    "trains a reranker; --task reranking trains one on rows with a query, a passage and a label, "
    "and docs/retrieval.md says how";
constexpr std::string_view kTrainsDecoder = "trains decoders, and berth trains encoders";
constexpr std::string_view kKeras =
    "is of TensorFlow, whose optimizer and schedule the program makes itself; write the job as "
    "flags of berth";
constexpr std::string_view kLightning =
    "is of Lightning, whose optimizer, schedule and loss are code of the program; write the job as "
    "flags of berth";

constexpr Library kKnownLibraries[] = {
    {"ClassificationModel", kSimple},
    {"MultiLabelClassificationModel", kSimple},
    {"NERModel", kSimple},
    {"QuestionAnsweringModel", kSimple},
    {"LanguageModelingModel", kSimple},
    {"CrossEncoderTrainingArguments", kReranker},
    {"CrossEncoderTrainer", kReranker},
    {"CrossEncoder", kReranker},
    {"SparseEncoderTrainingArguments", "trains sparse embeddings, and berth trains dense ones"},
    {"Seq2SeqTrainingArguments", kTrainsDecoder},
    {"SFTConfig", kTrainsDecoder},
    {"SFTTrainer", kTrainsDecoder},
    {"SetFitTrainer",
     "is of SetFit, which trains on pairs of few texts and then a head on their embeddings"},
    {"SetFitModel.from_pretrained",
     "is of SetFit, which trains on pairs of few texts and then a head on their embeddings"},
    {"LightningModule", kLightning},
    {"ModelTrainer", "is of Flair, and its options are no flags here; write the job as flags"},
    {"TFTrainingArguments", kKeras},
};

}  // namespace

void name_other_library(const PythonProgram& program, Launch& launch) {
  for (const Library& row : kKnownLibraries) {
    for (const PythonCall& call : program.calls) {
      const bool is_whole = call.name == row.call || last_name(call.name) == row.call;
      if (is_whole) return launch.refuse(cat(row.call, " (line ", call.line, ")"), row.text);
    }
    for (const auto& [name, base] : program.classes) {
      if (base == row.call) return launch.refuse(name, row.text);
    }
  }
  for (const PythonCall& call : program.calls) {
    const bool is_keras = call.name.ends_with(".from_pretrained") && call.name.starts_with("TF");
    if (is_keras) return launch.refuse(cat(call.name, " (line ", call.line, ")"), kKeras);
  }
  for (const PythonCall& call : program.calls) {
    if (last_name(call.name) != "backward") continue;
    return launch.refuse(cat("backward (line ", call.line, ")"),
                         "belongs to a loop of the program's own, with an optimizer and a schedule "
                         "that berth does not read; write the job as flags");
  }
}

}  // namespace berth
