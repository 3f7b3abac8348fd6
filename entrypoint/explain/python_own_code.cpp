#include "entrypoint/explain/python_own_code.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {
namespace {

struct OwnCall {
  std::string_view name, text;
  bool is_method = true;
};

// Calls that change the rows, the loss or the optimizer in ways that only the program knows.
constexpr OwnCall kOwnCode[] = {
    {"select", "takes a part of the rows; write them into a file and name it"},
    {"filter", "leaves rows out; write the others into a file and name it"},
    {"train_test_split",
     "divides the rows by chance; --validation-split divides them in berth, "
     "but not into the same halves"},
    {"shard", "takes a part of the rows; write them into a file and name it"},
    {"concatenate_datasets", "joins data sets; write the rows into a file and name it", false},
    {"interleave_datasets", "joins data sets; write the rows into a file and name it", false},
    {"sample_dataset", "takes a part of the rows; write them into a file and name it", false},
    {"add_tokens", "changes the vocabulary; save the tokenizer and the model, and name its folder"},
};

void refuse_frozen(Launch& launch) {
  launch.refuse("requires_grad",
                "is off for some parameters; add --freeze-encoder-layers N or "
                "--freeze-embeddings to the line, which keep layers as they are");
}

// As in the notebooks of transformers that find entities.
void refuse_all_tokens(const PythonProgram& program, Launch& launch) {
  constexpr std::string_view kSwitch = "label_all_tokens";
  const auto is_on = [](const PythonValue* value) {
    return value != nullptr && value->text == "True";
  };
  const bool is_default = std::ranges::any_of(
      program.calls, [&](const PythonCall& call) { return is_on(call.find(kSwitch)); });
  if (!is_default && !is_on(program.assigned(kSwitch))) return;
  launch.refuse(std::string(kSwitch),
                "is on, so that all tokens of a word count; in berth the first one carries its "
                "tag. Turn it off, or accept other scores");
}

void take_patience(const PythonCall& call, Launch& launch) {
  const PythonValue* value = call.find("early_stopping_patience");
  if (!call.positional.empty()) value = &call.positional[0];
  launch.add_flag("early_stopping_patience", value == nullptr ? "1" : value->text);
}

void take_adapters(const PythonCall& call, Launch& launch) {
  const auto take = [&](std::string_view keyword, std::string_view flag, std::string_view none) {
    const PythonValue* value = call.find(keyword);
    if (value == nullptr) {
      if (!none.empty()) launch.add_flag(flag, none);
    } else if (value->is_known()) {
      launch.add_flag(flag, joined(*value));
    } else {
      launch.refuse(std::string(keyword), cat("is computed in the program; add --", flag));
    }
  };
  take("r", "lora-rank", "8");
  take("lora_alpha", "lora-alpha", "8");
  take("lora_dropout", "lora-dropout", "");
  take("target_modules", "lora-target-modules", "");
}

void take_masks(const PythonCall& call, Launch& launch) {
  const PythonValue* masks = call.find("mlm");
  if (masks != nullptr && masks->text == "False") {
    launch.refuse("mlm", "is off, so that the program trains a decoder, and berth trains encoders");
  }
  if (const PythonValue* share = call.find("mlm_probability")) {
    if (share->is_known()) launch.add_flag("mlm_probability", share->text);
  }
}

}  // namespace

void read_own_code(const PythonProgram& program, bool is_similarity, Launch& launch) {
  for (const auto& [name, base] : program.classes) {
    if (base.ends_with("Trainer")) {
      launch.refuse(name, "is a Trainer of the program's own, whose loss berth does not know");
    }
  }
  refuse_all_tokens(program, launch);
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (name.starts_with(kDefinition)) continue;
    for (const OwnCall& row : kOwnCode) {
      if (name == row.name && (!row.is_method || call.name.find('.') != std::string::npos)) {
        launch.refuse(cat(name, " (line ", call.line, ")"), std::string(row.text));
      }
    }
    if (call.find("optimizers") != nullptr) {
      launch.refuse("optimizers",
                    "are made in the program; --optimizer, --learning-rate and "
                    "--lr-scheduler-type say what they are");
    }
    const bool is_other =
        name.ends_with("Trainer") && name != "Trainer" && name != "SentenceTransformerTrainer";
    const bool is_own =
        std::ranges::any_of(program.classes, [&](const auto& row) { return row.first == name; });
    if (is_other && !is_own) {
      launch.refuse(cat(name, " (line ", call.line, ")"),
                    "is no Trainer of transformers, and berth does not know its loss or method");
    }
    if (call.find("compute_loss_func") != nullptr) {
      launch.refuse("compute_loss_func", "is a loss of the program's own");
    }
    if (is_similarity && name.ends_with("Trainer") && call.find("evaluator") != nullptr) {
      launch.remark("evaluator", "has metrics of its own; berth reports the task's metrics");
    }
    const bool is_frozen =
        name == "requires_grad_" && !call.positional.empty() && call.positional[0].text == "False";
    if (is_frozen) refuse_frozen(launch);
    if (name == "EarlyStoppingCallback") take_patience(call, launch);
    if (name == "LoraConfig") take_adapters(call, launch);
    if (name.starts_with("DataCollatorForLanguageModeling")) take_masks(call, launch);
    if (name == "DataCollatorForWholeWordMask") launch.add_flag("whole_word_masking", "true");
  }
  for (const auto& [name, value] : program.assignments) {
    if (name.ends_with(".requires_grad") && value.text != "True") refuse_frozen(launch);
  }
}

}  // namespace berth
