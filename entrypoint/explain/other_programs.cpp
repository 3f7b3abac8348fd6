#include <string_view>

#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
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

constexpr std::string_view kFastAi =
    "is of fast.ai, whose rates and layers change as its program says; write the job as flags of "
    "berth";
constexpr std::string_view kFlax =
    "belongs to a loop of Flax or JAX, with an optimizer and a schedule that berth does not read; "
    "write the job as flags";

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
    {"GLiNER.from_pretrained",
     "is of GLiNER, which finds entities by their names in the input; berth's tags are fixed"},
    {"GLiNER",
     "is of GLiNER, which finds entities by their names in the input; berth's tags are "
     "fixed"},
    {"ORTTrainer",
     "is of Optimum; write the program with Trainer and TrainingArguments of transformers"},
    {"ORTTrainingArguments",
     "is of Optimum; write the program with Trainer and TrainingArguments of transformers"},
    {"text_classifier_learner", kFastAi},
    {"TextDataLoaders", kFastAi},
    {"Learner", kFastAi},
    {"TrainState", kFlax},
    {"value_and_grad", kFlax},
    {"ModelTrainer",
     "is of Flair or SageMaker, and its options are no flags here; write the job as flags"},
    {"TFTrainingArguments", kKeras},
};

void take_machine(const std::string& type, const std::string& count, Launch& launch) {
  constexpr std::string_view kOneGpu =
      "ml.p3.2xlarge ml.g4dn.xlarge ml.g4dn.2xlarge ml.g4dn.4xlarge ml.g4dn.8xlarge ml.g5.xlarge "
      "ml.g5.2xlarge ml.g5.4xlarge ml.g5.8xlarge ml.g5.16xlarge ml.g6.xlarge ml.g6.2xlarge "
      "ml.g6.4xlarge ml.g6.8xlarge ml.g6.16xlarge ml.p2.xlarge ml.g4dn.16xlarge";
  if (count != "1") {
    launch.refuse("instance_count",
                  "is not 1 in the program; docs/workers.md says how several machines train");
  }
  const bool has_gpus = type.starts_with("ml.p") || type.starts_with("ml.g");
  if (type.empty()) {
    launch.refuse("instance_type", "is computed; say by --device what the job trains on");
  }
  launch.device = has_gpus ? AskedDevice::kGpu : AskedDevice::kCpu;
  if (has_gpus) launch.visible = is_one_of(kOneGpu, type) ? "1" : "all";
}

}  // namespace

bool read_estimator(const PythonProgram& program, Launch& launch) {
  const PythonCall* estimator = find_last_call(program, "HuggingFace");
  if (estimator == nullptr || estimator->find("entry_point") == nullptr) return false;
  const auto text = [&](std::string_view keyword) {
    const PythonValue* value = estimator->find(keyword);
    return value == nullptr ? std::string() : value->text;
  };
  launch.script = last_part(text("entry_point"));
  const PythonValue* flags = estimator->find("hyperparameters");
  if (flags == nullptr || flags->kind != PythonValue::Kind::kMapping) {
    launch.refuse("hyperparameters", "are computed in the program; add them as flags");
  } else {
    for (size_t i = 0; i < flags->items.size(); ++i) {
      launch.add_flag(flags->keys[i], joined(flags->items[i]));
    }
  }
  take_machine(text("instance_type"), text("instance_count"), launch);
  const PythonCall* fit = find_last_call(program, "fit");
  if (fit != nullptr && !(fit->positional.empty() && fit->keywords.empty())) {
    launch.refuse(cat("fit (line ", fit->line, ")"),
                  "names data that SageMaker puts into its channels; name the rows with "
                  "--train-data-file and --eval-data-file");
  }
  return true;
}

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
