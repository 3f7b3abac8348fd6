#include <algorithm>
#include <string>
#include <string_view>

#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/flags/foreign/foreign_flag.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Arguments of the Trainer that berth has by the same name, beside the arguments in the table of
// flags.
constexpr std::string_view kSameArguments =
    "output_dir num_train_epochs max_steps learning_rate lr_scheduler_type warmup_steps "
    "warmup_ratio optim weight_decay adam_beta1 adam_beta2 adam_epsilon "
    "gradient_accumulation_steps max_grad_norm label_smoothing_factor gradient_checkpointing "
    "eval_steps save_steps save_total_limit load_best_model_at_end metric_for_best_model seed "
    "logging_dir logging_steps log_level dataloader_drop_last label_names";

class ArgumentReader {
 public:
  ArgumentReader(const PythonProgram& program, const PythonCall& arguments, Launch& launch)
      : program_(program), arguments_(arguments), launch_(launch) {}

  void read() {
    if (!arguments_.positional.empty()) take_argument("output_dir", arguments_.positional[0]);
    if (arguments_.positional.size() > 1 || has_unpacked(program_, arguments_)) {
      launch_.refuse(cat("TrainingArguments (line ", arguments_.line, ")"),
                     "have arguments that the program computes; write them out");
    }
    for (const auto& [name, value] : arguments_.keywords) take_argument(name, value);
    const auto calls = [&](std::string_view method) {
      return std::ranges::any_of(program_.calls, [&](const PythonCall& call) {
        return call.name.ends_with(cat(".", method)) &&
               (method == "evaluate" || is_of_trainer(program_, call, method));
      });
    };
    const bool trains = may_train(program_), predicts = calls("predict");
    const bool scores = calls("evaluate") || (predicts && !trains);
    if (!trains && !scores) {
      launch_.refuse("train",
                     "is not called in the program, so that it trains nothing as berth reads it");
    }
    launch_.add_flag("do_train", trains || !scores ? "true" : "false");
    if (scores) launch_.add_flag("do_eval", "true");
  }

 private:
  void take_argument(const std::string& name, const PythonValue& value) {
    if (name == "do_train" || name == "do_eval" || name == "do_predict") return;
    const bool is_none = value.kind == PythonValue::Kind::kWord && value.text == "None";
    if (is_none && name == "max_grad_norm") return launch_.add_flag(name, "0");  // clips nothing
    if (is_none) return;
    if (name == "batch_sampler") return check_sampler(value);
    if (name == "prompts") return read_prompts(value, launch_);
    if (name == "optim" && value.text == "lamb") {
      return launch_.refuse(name, "is \"lamb\", which is no optimizer of the Trainer");
    }
    if (name == "parallelism_config") {
      return launch_.refuse(name, "divides the devices in another way than each batch");
    }
    if (name == "multi_dataset_batch_sampler") return;  // of several data sets, which others read
    const ForeignFlag* foreign = find_foreign_flag(name);
    if (foreign == nullptr && !is_one_of(kSameArguments, name)) {
      return launch_.refuse(cat(name, " (line ", arguments_.line, ")"),
                            "is no argument of the Trainer that berth knows; leave it out, or "
                            "write what it does as a flag of berth");
    }
    if (!value.is_known() && foreign != nullptr && foreign->fate == Fate::kIgnored) return;
    if (value.kind == PythonValue::Kind::kMapping && foreign != nullptr) {
      return take_mapping(name, value, foreign->fate == Fate::kIgnored);
    }
    const bool has_items = std::ranges::all_of(value.items, &PythonValue::is_known);
    if (!value.is_known() || !has_items || value.kind == PythonValue::Kind::kMapping) {
      return launch_.refuse(name, cat("is computed in the program (line ", arguments_.line,
                                      "); add its value to the line as a flag"));
    }
    launch_.add_flag(name, joined(value));
  }

  // Options in braces: of schedules, of accelerate.
  void take_mapping(const std::string& name, const PythonValue& value, bool is_ignored) {
    if (name == "deepspeed") {
      return launch_.refuse(name,
                            "has options in the program, which change the job; write them into a "
                            "file, and add --deepspeed FILE to the line");
    }
    for (size_t i = 0; i < value.items.size(); ++i) {
      if (value.keys[i] == "split_batches" && value.items[i].text != "False") {
        launch_.refuse("split_batches",
                       "makes the batch of a device the batch of all devices; divide "
                       "per_device_train_batch_size by their number, and leave it out");
      }
    }
    if (!is_ignored) launch_.add_flag(name, "{...}");
  }

  void check_sampler(const PythonValue& value) {
    const std::string_view name = value.is_known() ? value.text : last_name(value.name);
    if (lower_ascii(name) == "batch_sampler") return;
    if (lower_ascii(name) == "no_duplicates") {
      return launch_.add_flag("batch-sampler", "no_duplicates");
    }
    launch_.refuse("batch_sampler",
                   "chooses the rows of a batch in a way that berth does not; berth draws them at "
                   "random, and --batch-sampler no_duplicates keeps equal texts apart");
  }

  const PythonProgram& program_;
  const PythonCall& arguments_;
  Launch& launch_;
};

}  // namespace

void read_training_arguments(const PythonProgram& program, const PythonCall& arguments,
                             Launch& launch) {
  ArgumentReader(program, arguments, launch).read();
}

}  // namespace berth
