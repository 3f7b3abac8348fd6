#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/program_names.h"
#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
#include "storage/base/text.h"

// The way of the model, the rows and the loss from where a program makes them to its Trainer. Each
// step is one that this list knows, or is refused: what berth does not know may change the job.
namespace berth {
namespace {

using Kind = PythonToken::Kind;

constexpr std::string_view kAdviceForRows =
    "; write them into a file, and name it with --train-data-file";
constexpr std::string_view kAdviceForModel =
    "; save the model that it makes with its tokenizer, and name their folder in the program";

// What a program may do with one of the Trainer's arguments before it trains. Calls that another
// reader refuses stand here, too: they are known.
struct FlowRole {
  std::string_view noun, functions, wrappers, methods, advice;
};

constexpr FlowRole kModelFlow{
    .noun = "the model",
    .functions = "SentenceTransformer Transformer Pooling Normalize Dense",
    .wrappers = "get_peft_model compile deepcopy",
    .methods =
        "to cuda cpu train eval float gradient_checkpointing_enable gradient_checkpointing_disable "
        "enable_input_require_grads print_trainable_parameters get_nb_trainable_parameters "
        "parameters named_parameters modules named_modules children named_children state_dict "
        "buffers named_buffers save save_pretrained push_to_hub num_parameters "
        "get_input_embeddings get_output_embeddings resize_token_embeddings requires_grad_ apply "
        "add_adapter set_adapter train_adapter train_adapter_fusion init_weights half "
        "load_state_dict encode encode_query encode_document similarity tokenize fit evaluate "
        "get_sentence_embedding_dimension get_max_seq_length generate predict "
        "set_pooling_include_prompt append "
        "add_module insert freeze to_dict to_json_string to_diff_dict update items",
    .advice = kAdviceForModel};

constexpr FlowRole kRowFlow{
    .noun = "the rows",
    .functions =
        "load_dataset load_from_disk LineByLineTextDataset TextDatasetForNextSentencePrediction",
    .wrappers = "DatasetDict dict copy deepcopy",
    .methods =
        "map rename_column rename_columns remove_columns select_columns set_format with_format "
        "reset_format shuffle sort flatten_indices class_encode_column cast cast_column copy "
        "save_to_disk",
    .advice = kAdviceForRows};

constexpr FlowRole kLossFlow{
    .noun = "the loss",
    .functions = "",
    .wrappers = "",
    .methods = "to",
    .advice = "; add --similarity-loss NAME with its settings to the line"};

constexpr FlowRole kTokenizerFlow{
    .noun = "the tokenizer",
    .functions = "",
    .wrappers = "deepcopy",
    .methods = "add_tokens add_special_tokens train_new_from_iterator",
    .advice =
        "; save the tokenizer that it makes with the model, and name their folder in the "
        "program"};

constexpr std::string_view kParallel =
    "DataParallel DistributedDataParallel DDP FullyShardedDataParallel FSDP prepare prepare_model "
    "DataParallelModel";
constexpr std::string_view kParallelText =
    "wraps the model for several devices, as Trainer does itself; leave it out, and say in front "
    "of the line how many GPUs there are: berth explain --devices N";

// Functions that change no model which they get.
constexpr std::string_view kHarmlessFunctions =
    "print len type isinstance str repr id next iter list tuple dict set sum enumerate zip display "
    "pipeline getattr hasattr callable summary count_parameters print_trainable_parameters "
    "print_number_of_trainable_model_parameters watch format info debug unwrap_model "
    "get_device save get_parameter_names range infer_signature";

// Settings of a model that change no parameter and no loss.
constexpr std::string_view kPlainAttributes =
    "max_seq_length tokenizer model_card_data training name_or_path is_parallelizable "
    "model_parallel requires_grad config label2id id2label use_cache num_labels pad_token_id "
    "output_attentions output_hidden_states _name_or_path";

constexpr std::string_view kOwnLibraries = "transformers sentence_transformers";

// Names that the readers of programs know, and the libraries that hold them. Other libraries have
// names like these.
struct KnownName {
  std::string_view names, libraries;
};
constexpr KnownName kKnownNames[] = {
    {"Trainer TrainingArguments SentenceTransformerTrainer SentenceTransformerTrainingArguments "
     "EarlyStoppingCallback DataCollatorWithPadding DataCollatorForTokenClassification "
     "DataCollatorForLanguageModeling DataCollatorForWholeWordMask SentenceTransformer",
     kOwnLibraries},
    {"load_dataset load_from_disk DatasetDict", "datasets"},
    {"get_peft_model LoraConfig", "peft"},
    {"accuracy_score f1_score precision_score recall_score precision_recall_fscore_support "
     "matthews_corrcoef roc_auc_score average_precision_score mean_squared_error",
     "sklearn seqeval"},
    {"pearsonr spearmanr", "scipy"},
    {"load_metric", "datasets evaluate"},
};

class FlowReader {
 public:
  FlowReader(const PythonProgram& program, Launch& launch)
      : program_(program), tokens_(program.tokens), launch_(launch), assignments_(program.tokens) {
    for (const PythonCall& call : program_.calls) calls_at_[call.arguments.begin] = &call;
  }

  void read() {
    check_libraries();
    const PythonCall* trainer = find_trainer();
    if (trainer == nullptr) return;
    end_ = end_of_changes(*trainer);
    const bool is_fit = last_name(trainer->name) == "fit";
    if (is_fit) {
      trace(trainer->name.substr(0, trainer->name.rfind('.')), trainer->arguments.begin,
            kModelFlow);
    } else {
      read_arguments(*trainer);
    }
    for (const PythonCall& call : program_.calls) {
      const std::string last = lower_ascii(last_name(call.name));
      const size_t at = call.arguments.begin;
      const bool tokenizes = last.ends_with("tokenizer") && at < end_;
      if (tokenizes && is_variable(call.name, at)) trace(call.name, at, kTokenizerFlow);
    }
    check_methods();
    check_parts();
  }

 private:
  // Other libraries have classes of the same names.
  void check_libraries() {
    for (const KnownName& row : kKnownNames) {
      for (const std::string& name : parted(row.names, " ")) {
        const auto import = assignments_.imports().find(name);
        const bool is_own = program_.functions.contains(name);
        if (is_own && !is_one_of("Trainer TrainingArguments", name))
          refuse_name(name, "the program");
        if (import == assignments_.imports().end()) continue;
        if (!is_one_of(row.libraries, import->second)) refuse_name(name, import->second);
      }
    }
    for (const PythonCall& call : program_.calls) check_library(call);
  }

  void refuse_name(const std::string& name, const std::string& library) {
    launch_.refuse(name, cat("is of ", library.empty() ? "another file" : library,
                             ", and berth does not know its loss, its rows or its method"));
  }

  // "utils.load_dataset(...)", or AutoTokenizer.from_pretrained(...) of another library.
  void check_library(const PythonCall& call) {
    const std::string_view name = last_name(call.name);
    const size_t dot = call.name.find('.');
    if (dot == std::string::npos || dot == 0) return;
    const std::string base = call.name.substr(0, dot);
    const auto import = assignments_.imports().find(base);
    if (import == assignments_.imports().end()) return;
    for (const KnownName& row : kKnownNames) {
      const bool is_known = is_one_of(row.names, name);
      if (is_known && !is_one_of(row.libraries, import->second)) {
        return refuse_name(std::string(name), import->second);
      }
    }
    const bool is_made = name == "from_pretrained" &&
                         call.name.find("okenizer") != std::string::npos &&
                         call.arguments.begin < end_of_names();
    if (!is_made || is_one_of(kOwnLibraries, import->second)) return;
    refuse_name(call.name.substr(0, call.name.rfind('.')), import->second);
  }

  // Where the last Trainer is made.
  size_t end_of_names() const {
    const PythonCall* trainer = find_trainer();
    return trainer == nullptr ? tokens_.size() : trainer->arguments.begin;
  }

  const PythonCall* find_trainer() const {
    const PythonCall* found = nullptr;
    for (const PythonCall& call : program_.calls) {
      if (call.name.starts_with(kDefinition)) continue;
      const std::string_view name = last_name(call.name);
      const bool is_fit = name == "fit" && call.find("train_objectives") != nullptr;
      if (name == "Trainer" || name == "SentenceTransformerTrainer" || is_fit) found = &call;
    }
    return found;
  }

  // Where the training begins. A Trainer inside a function trains where the program calls that.
  size_t end_of_changes(const PythonCall& trainer) const {
    size_t scope = assignments_.scopes_of(trainer.arguments.begin)[0];
    if (scope != 0) {
      std::set<size_t> around;
      const PythonCall* start = nullptr;
      while (scope != 0 && around.insert(scope).second) {
        start = find_last_call(program_, assignments_.scopes()[scope].function);
        if (start == nullptr) break;
        scope = assignments_.scopes_of(start->arguments.begin)[0];
      }
      return start == nullptr || scope != 0 ? tokens_.size() : start->arguments.end;
    }
    for (const PythonCall& call : program_.calls) {
      const bool follows = call.arguments.begin > trainer.arguments.end;
      if (follows && last_name(call.name) == "train") return call.arguments.begin;
    }
    return trainer.arguments.end;
  }

  // The losses of sentence-transformers get the model, so that it is read before them.
  void read_arguments(const PythonCall& trainer) {
    const bool is_plain = last_name(trainer.name) == "Trainer";
    const std::vector<PythonArgument> arguments = arguments_of(program_, trainer);
    for (const bool is_loss : {false, true}) {
      size_t place = 0;
      for (const PythonArgument& argument : arguments) {
        const size_t at = argument.keyword.empty() ? place++ : std::string::npos;
        const std::string& keyword = argument.keyword;
        if (is_loss) {
          if (!is_plain && (keyword == "loss" || at == 4)) check(argument.value, kLossFlow);
          continue;
        }
        const bool has_rows = at == (is_plain ? 3 : 2) || at == (is_plain ? 4 : 3);
        if (keyword == "model" || at == 0) check(argument.value, kModelFlow);
        if (keyword == "train_dataset" || keyword == "eval_dataset" || has_rows) {
          check(argument.value, kRowFlow);
        }
        if (keyword == "model_init") check_result(argument.value);
      }
    }
  }

  // The model that a function makes: model_init=make_model.
  void check_result(PythonSpan function) {
    const PythonToken& first = tokens_[function.begin];
    const size_t colon = find_sign(function, ':');
    if (first.is_name("lambda")) return check({colon + 1, function.end}, kModelFlow);
    if (program_.functions.contains(first.text)) return check_returns(first.text, kModelFlow);
    refuse_unknown(function.begin, first.text, kModelFlow);
  }

  size_t find_sign(PythonSpan span, char sign) const {
    size_t at = span.begin;
    while (at < span.end && !tokens_[at].is_sign(sign)) ++at;
    return at;
  }

  void refuse(size_t at, const std::string& word, std::string_view text) {
    if (!refused_.insert(at).second) return;
    launch_.refuse(cat(word, " (line ", tokens_[at].line, ")"), text);
  }

  void refuse_unknown(size_t at, const std::string& name, const FlowRole& role) {
    if (is_one_of(kParallel, name)) return refuse(at, name, kParallelText);
    refuse(at, name,
           cat("makes or changes ", role.noun, " in a way that berth does not know", role.advice));
  }

  // A name where it is used, and where it is made.
  struct Variable {
    std::string name;
    std::optional<size_t> scope{};                       // nullopt: nowhere in the program
    const std::vector<AssignedValue>* values = nullptr;  // that its scope assigns to it
    std::optional<size_t> place{};                       // among the parameters of the function
    auto key() const { return std::pair(name, scope); }
  };

  // What a name means at a token.
  Variable find_variable(const std::string& name, size_t at) const {
    if (name.starts_with("self.")) {  // of any method
      const auto* values = assignments_.find(name, 0);
      return {name, values == nullptr ? std::nullopt : std::optional<size_t>(0), values};
    }
    for (const size_t scope : assignments_.scopes_of(at)) {
      Variable found{name, scope, assignments_.find(name, scope), place_of(name, scope)};
      if (found.values != nullptr || found.place) return found;
    }
    return {.name = name};
  }

  // The place of a parameter among the arguments of a call.
  std::optional<size_t> place_of(const std::string& name, size_t scope) const {
    const PythonScope& function = assignments_.scopes()[scope];
    const std::optional<size_t> place = function.place_of(name);
    const bool is_method = place && (function.place_of("self") || function.place_of("cls"));
    if (is_method && *place == 0) return std::nullopt;
    return is_method ? *place - 1 : place;
  }

  bool is_variable(const std::string& name, size_t at) const {
    return find_variable(name, at).scope.has_value();
  }

  bool is_seen(const std::string& name, size_t at, const FlowRole& role) const {
    return seen_.contains({find_variable(name, at).key(), role.noun});
  }

  void trace(const std::string& name, size_t at, const FlowRole& role) {
    const Variable variable = find_variable(name, at);
    if (!seen_.insert({variable.key(), role.noun}).second) return;
    const bool is_long = variable.values != nullptr && variable.values->size() > kMostSteps;
    if (goes_deeper(name, role, is_long)) trace_values(variable, role);
    --steps_;
  }

  // Counts a step, of which the text may have more than there is memory for.
  bool goes_deeper(const std::string& name, const FlowRole& role, bool is_long = false) {
    if (++steps_ <= kMostSteps && !is_long) return true;
    launch_.refuse(name, cat("is made in more than 100 steps", role.advice));
    return false;
  }

  void trace_values(const Variable& variable, const FlowRole& role) {
    const std::string& name = variable.name;
    for (size_t i = 0; variable.values != nullptr && i < variable.values->size(); ++i) {
      const AssignedValue& value = (*variable.values)[i];
      if (value.span.begin >= end_) continue;
      if (variable.values->size() > 1 && is_chosen(value.span, role)) {
        refuse_chosen(value.span.begin, name, role);
      }
      if (value.is_changed) refuse_unknown(value.span.begin, name, role);
      if (!value.is_changed) check(value.span, role);
    }
    if (variable.place) {
      const std::string& function = assignments_.scopes()[*variable.scope].function;
      trace_argument(function, name, *variable.place, role);
    }
    if (variable.scope) return;
    const auto import = assignments_.imports().find(name);
    const bool is_imported = import != assignments_.imports().end();
    launch_.refuse(name, is_imported
                             ? cat("is made in another file", role.advice)
                             : cat("is not made in the program as berth reads it", role.advice));
  }

  // Whether a condition decides on this value of several. Where a model is, and how it is compiled,
  // changes no job.
  bool is_chosen(PythonSpan value, const FlowRole& role) const {
    return !is_place(value) && &role != &kTokenizerFlow && is_conditional(tokens_, value.begin);
  }

  // "model.to(device)", "torch.compile(model)"
  bool is_place(PythonSpan value) const {
    constexpr std::string_view kPlaces = "to cuda cpu train eval compile";
    return value.begin + 2 < value.end && tokens_[value.begin + 1].is_sign('.') &&
           is_one_of(kPlaces, tokens_[value.begin + 2].text);
  }

  bool is_none(PythonSpan value) const {
    return value.begin < value.end && tokens_[value.begin].is_name("None");
  }

  void refuse_chosen(size_t at, const std::string& name, const FlowRole& role) {
    refuse(at, name,
           cat("is ", role.noun,
               " of one case, and the program has several; write the one that is meant without a "
               "condition"));
  }

  // What the calls of a function give for its parameter.
  void trace_argument(const std::string& function, const std::string& name, size_t place,
                      const FlowRole& role) {
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) != function || call.name.starts_with(kDefinition)) continue;
      size_t at = 0;
      for (const PythonArgument& argument : arguments_of(program_, call)) {
        const bool is_next = argument.keyword.empty() && at++ == place;
        if (is_next || argument.keyword == name) check(argument.value, role);
      }
    }
  }

  // Behind the bracket that closes the one at `at`.
  size_t behind(size_t at, size_t end) const {
    size_t depth = 0;
    for (; at < end; ++at) {
      if (opens(tokens_[at])) ++depth;
      if (closes(tokens_[at]) && --depth == 0) return at + 1;
    }
    return end;
  }

  // The place of this word outside of brackets; the span's end: there is none.
  size_t find_word(PythonSpan span, std::string_view word) const {
    for (size_t at = span.begin; at < span.end;) {
      if (tokens_[at].is_name(word)) return at;
      at = opens(tokens_[at]) ? behind(at, span.end) : at + 1;
    }
    return span.end;
  }

  void check(PythonSpan span, const FlowRole& role) {
    // Each value of "a if b else c". A loop, because such a chain may be long.
    while (true) {
      const size_t condition = find_word(span, "if"), other = find_word(span, "else");
      if (condition >= other || other >= span.end) break;
      const PythonSpan one{span.begin, condition}, rest{other + 1, span.end};
      const bool is_only = is_none(one) || is_none(rest) || is_place(one) || is_place(rest);
      const bool is_read = &role == &kTokenizerFlow || &role == &kRowFlow;  // by other readers
      if (!is_read && !is_only) refuse_chosen(condition, "if", role);
      check(one, role);
      span.begin = other + 1;
    }
    if (span.begin >= span.end) return;
    const PythonToken& first = tokens_[span.begin];
    if (opens(first)) return check_items(span, role);
    const bool is_word = first.is_name("None") || first.is_name("True") || first.is_name("False");
    const bool is_text = first.kind == Kind::kText || first.kind == Kind::kUnknownText;
    if (first.kind == Kind::kNumber || is_text || is_word) return;
    if (first.kind != Kind::kName) return refuse_unknown(span.begin, first.text, role);
    check_chain(span, role);
  }

  // "(a)", "[a, b]" or {"a": b}.
  void check_items(PythonSpan span, const FlowRole& role) {
    const size_t end = behind(span.begin, span.end);
    const PythonSpan inside{span.begin + 1, end - 1};
    if (find_word(inside, "for") < inside.end) return refuse_unknown(span.begin, "for", role);
    size_t begin = inside.begin;
    for (size_t at = begin; at <= inside.end && inside.end < span.end;) {
      if (at == inside.end || tokens_[at].is_sign(',')) {
        check({begin, at}, role);
        begin = ++at;
      } else if (tokens_[at].is_sign(':')) {
        begin = ++at;
      } else {
        at = opens(tokens_[at]) ? behind(at, inside.end) : at + 1;
      }
    }
    check_rest({end, span.end}, role);
  }

  // "a.b(c)[d].e()": a name, and what follows it.
  void check_chain(PythonSpan span, const FlowRole& role) {
    std::string base = tokens_[span.begin].text;
    size_t at = span.begin + 1;
    const auto goes_on = [&] {
      return at + 1 < span.end && tokens_[at].is_sign('.') && tokens_[at + 1].kind == Kind::kName;
    };
    if (base == "self" && goes_on()) {
      base += "." + tokens_[at + 1].text;
      at += 2;
    }
    if (is_variable(base, span.begin)) {
      const bool is_method = goes_on() && at + 2 < span.end && tokens_[at + 2].is_sign('(');
      const bool is_given = !is_method || is_known_method(tokens_[at + 1].text, role);
      if (is_given) trace(base, span.begin, role);
      return check_rest({at, span.end}, role);
    }
    if (base.starts_with("self.")) base.erase(0, 5);
    std::string receiver, name = base;
    while (goes_on()) {
      receiver = name;
      name = tokens_[at + 1].text;
      at += 2;
    }
    const bool is_call = at < span.end && tokens_[at].is_sign('(');
    if (!is_call) {
      trace(base, span.begin, role);
      return check_rest({at, span.end}, role);
    }
    check_function(receiver, name, at, role);
    check_rest({behind(at, span.end), span.end}, role);
  }

  // Methods, attributes and items of a value that is known: "[a].b(c)".
  void check_rest(PythonSpan span, const FlowRole& role) {
    size_t at = span.begin;
    while (at < span.end) {
      if (tokens_[at].is_sign('[')) {
        const size_t end = behind(at, span.end);
        const bool is_slice = std::any_of(tokens_.begin() + static_cast<ptrdiff_t>(at),
                                          tokens_.begin() + static_cast<ptrdiff_t>(end),
                                          [](const PythonToken& t) { return t.is_sign(':'); });
        if (is_slice && &role == &kRowFlow) {
          refuse(at, "[:]", cat("takes a part of the rows", role.advice));
        }
        at = end;
      } else if (tokens_[at].is_sign('.') && at + 1 < span.end) {
        const std::string& name = tokens_[at + 1].text;
        const bool is_call = at + 2 < span.end && tokens_[at + 2].is_sign('(');
        if (is_call) check_method(name, at + 2, role);
        const bool is_part =
            !is_call && &role == &kModelFlow && name != "model" && name != "module";
        if (is_part) refuse_unknown(at, name, role);
        at = is_call ? behind(at + 2, span.end) : at + 2;
      } else if (tokens_[at].is_sign('(')) {
        return refuse_unknown(at, tokens_[span.begin - 1].text, role);
      } else {
        return refuse_unknown(at, tokens_[at].text, role);
      }
    }
  }

  // Whether this function makes a model: AutoModelForTokenClassification.from_pretrained(). Classes
  // of other files may have such a name, too.
  bool makes_model(const std::string& receiver, const std::string& name) const {
    const bool is_loaded = name == "from_pretrained" || name == "from_config";
    const std::string& type = is_loaded ? receiver : name;
    const auto import = assignments_.imports().find(type);
    const bool is_other =
        import != assignments_.imports().end() && !is_one_of(kOwnLibraries, import->second);
    return !is_other && (type.find("For") != std::string::npos || type == "AutoModelWithLMHead");
  }

  bool is_known_function(const std::string& receiver, const std::string& name,
                         const FlowRole& role) const {
    if (is_one_of(role.functions, name)) return true;
    if (&role == &kModelFlow) return makes_model(receiver, name);
    if (&role == &kLossFlow) return name.ends_with("Loss");
    if (&role == &kRowFlow) return is_row_call(name);
    return name == "from_pretrained" && receiver.find("Tokenizer") != std::string::npos;
  }

  void check_function(const std::string& receiver, const std::string& name, size_t at,
                      const FlowRole& role) {
    if (is_known_function(receiver, name, role)) {
      if (&role == &kLossFlow) check_loss(name, at);
      return;
    }
    if (receiver.empty() && program_.functions.contains(name)) return check_returns(name, role);
    const bool is_wrapper = is_one_of(role.wrappers, name);
    if (!is_wrapper) refuse_unknown(at, name, role);
    if (name == "from_pretrained") return;  // which gets a name
    const auto call = calls_at_.find(at + 1);
    if (call == calls_at_.end()) return;
    const std::vector<PythonArgument> arguments = arguments_of(program_, *call->second);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const PythonSpan given = arguments[i].value;
      const bool is_name = given.end == given.begin + 1 && i == 0 && arguments[0].keyword.empty() &&
                           is_variable(tokens_[given.begin].text, given.begin);
      if (!is_wrapper && !is_name) continue;  // what another function gets may be anything
      const bool is_first = i == 0 || arguments[i].keyword == "model";
      if (is_first || &role == &kRowFlow) check(arguments[i].value, role);
    }
    if (name == "get_peft_model") check_adapters(at, arguments);
  }

  // A loss of the model that trains: CoSENTLoss(model). MatryoshkaLoss(model, loss) has another
  // one.
  void check_loss(const std::string& name, size_t at) {
    const auto call = calls_at_.find(at + 1);
    if (call == calls_at_.end()) return;
    size_t place = 0;
    for (const PythonArgument& argument : arguments_of(program_, *call->second)) {
      const size_t i = argument.keyword.empty() ? place++ : std::string::npos;
      const PythonSpan value = argument.value;
      const bool is_name = value.end == value.begin + 1 && tokens_[value.begin].kind == Kind::kName;
      const bool is_model = i == 0 || argument.keyword == "model";
      if (is_model && is_name && !is_seen(tokens_[value.begin].text, value.begin, kModelFlow)) {
        refuse(at, name, "is a loss of another model than the Trainer's");
      }
      if (i == 1 ? name.starts_with("Matryoshka") : argument.keyword == "loss") {
        check(value, kLossFlow);
      }
    }
  }

  // The configuration of adapters, which is LoRA's.
  void check_adapters(size_t at, const std::vector<PythonArgument>& arguments) {
    const PythonCall* made =
        arguments.size() < 2 ? nullptr : find_call_of(program_, arguments[1].value);
    if (made != nullptr && last_name(made->name).ends_with("Config")) {
      if (last_name(made->name) == "LoraConfig") return;
      return refuse(at, std::string(last_name(made->name)),
                    "makes adapters that berth does not have: --lora-rank trains LoRA adapters");
    }
    const PythonCall* other = find_last_call(program_, "LoraConfig");
    if (other != nullptr && other->arguments.begin < at) return;
    refuse(at, "get_peft_model",
           "makes adapters of a configuration that the program does not show; add --lora-rank N "
           "with their settings to the line");
  }

  bool is_known_method(const std::string& name, const FlowRole& role) const {
    if (program_.functions.contains(name)) return true;  // of a class of the program's own
    return is_one_of(role.methods, name) || (&role == &kRowFlow && is_row_call(name));
  }

  void check_method(const std::string& name, size_t at, const FlowRole& role) {
    if (!is_known_method(name, role)) return refuse_unknown(at, name, role);
    if (name == "cast" || name == "cast_column") check_type(name, at);
    if (name == "to" && &role == &kModelFlow) check_device(at);
  }

  // Labels may become classes, and nothing else: numbers would choose another loss.
  void check_type(const std::string& name, size_t at) {
    const size_t end = behind(at, tokens_.size());
    for (size_t i = at; i < end; ++i) {
      if (tokens_[i].is_name("ClassLabel")) return;
    }
    refuse(at, name,
           cat("gives a column another type, which may choose another loss", kAdviceForRows));
  }

  // model.to(device), and not model.to(torch.bfloat16).
  void check_device(size_t at) {
    const size_t end = behind(at, tokens_.size());
    for (size_t i = at; i < end; ++i) {
      const std::string& word = tokens_[i].text;
      const bool is_type =
          word.find("float") != word.npos || word == "half" || word == "double" || word == "dtype";
      if (tokens_[i].kind != Kind::kName || !is_type) continue;
      return refuse(at, "to", "changes the type of the parameters, which berth keeps in fp32");
    }
  }

  void check_returns(const std::string& function, const FlowRole& role) {
    const auto span = program_.spans.find(function);
    if (span == program_.spans.end()) return;
    if (!seen_.insert({{cat(kDefinition, function), std::nullopt}, role.noun}).second) return;
    const bool reads = goes_deeper(function, role);
    std::string first;  // of the values that the function may return
    for (size_t i = span->second.begin; reads && i < span->second.end; ++i) {
      if (!tokens_[i].is_name("return")) continue;
      size_t end = i + 1;
      while (end < span->second.end && tokens_[end].kind != Kind::kLineEnd) ++end;
      const PythonSpan value{i + 1, end};
      if (has_several(value)) continue;
      check(value, role);
      std::string text;
      for (size_t at = value.begin; at < value.end; ++at) text += tokens_[at].text + " ";
      if (&role == &kTokenizerFlow || is_none(value) || is_place(value)) continue;
      if (!first.empty() && first != text) refuse_chosen(i, function, role);
      first = text;
    }
    --steps_;
  }

  // Whether the value is a tuple without brackets, of which any item may be meant.
  bool has_several(PythonSpan span) const {
    for (size_t at = span.begin; at < span.end;) {
      if (tokens_[at].is_sign(',')) return true;
      at = opens(tokens_[at]) ? behind(at, span.end) : at + 1;
    }
    return false;
  }

  // Calls of the model's methods, and of functions that get it.
  void check_methods() {
    for (const PythonCall& call : program_.calls) {
      if (call.name.starts_with(kDefinition) || call.arguments.begin > end_) continue;
      const size_t own = call.name.starts_with("self.") ? 5 : 0;
      if (call.name.starts_with("trainer.model.")) {
        check_method(std::string(last_name(call.name)), call.arguments.begin - 1, kModelFlow);
      }
      const size_t at = call.arguments.begin - 1;
      const std::string base = call.name.substr(0, call.name.find('.', own));
      const bool is_method = base.size() < call.name.size() && is_seen(base, at, kModelFlow);
      const std::string name(last_name(call.name));
      if (is_method) {
        if (!reads_setting(call.name)) check_method(name, at, kModelFlow);
      } else if (!is_harmless(name, at)) {
        for (const PythonArgument& argument : arguments_of(program_, call)) {
          if (is_model(argument.value)) refuse_unknown(at, name, kModelFlow);
        }
      }
    }
  }

  // model.config.id2label.items(), model.tokenizer.encode()
  static bool reads_setting(const std::string& path) {
    return std::ranges::any_of(parted(path, "."), [](const std::string& part) {
      return part == "config" || part == "tokenizer" || part == "name_or_path";
    });
  }

  bool is_harmless(const std::string& name, size_t at) const {
    if (is_one_of(kHarmlessFunctions, name) || is_one_of(kModelFlow.wrappers, name)) return true;
    if (program_.functions.contains(name) || is_variable(name, at)) return true;
    constexpr std::string_view kEnds[] = {"Trainer", "Loss",     "Evaluator",      "Callback",
                                          "Metric",  "Collator", "evaluate",       "evaluator",
                                          "Dataset", "Padding",  "Classification", "parameters"};
    return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); }) ||
           makes_model("", name) || is_one_of(kModelFlow.functions, name);
  }

  // Whether this argument is the model, or a part of it: "model.classifier".
  bool is_model(PythonSpan value) const {
    if (value.begin >= value.end || tokens_[value.begin].kind != Kind::kName) return false;
    if (!is_seen(tokens_[value.begin].text, value.begin, kModelFlow)) return false;
    for (size_t i = value.begin + 1; i < value.end; ++i) {
      const PythonToken& token = tokens_[i];
      const bool is_setting = token.is_name("config") || token.is_name("tokenizer") ||
                              token.is_name("device") || token.is_name("dtype");
      if (is_setting || (!token.is_sign('.') && token.kind != Kind::kName)) return false;
    }
    return true;
  }

  // Parts of the model or of the loss that are set or deleted.
  void check_parts() {
    for (const auto& [name, target] : assignments_.changed_parts()) {
      const bool is_loss = is_seen(name, target.begin, kLossFlow);
      const bool is_model = is_seen(name, target.begin, kModelFlow);
      if (target.begin > end_ || (!is_loss && !is_model)) continue;
      const bool has_item = find_sign(target, '[') < target.end;
      if (name == "model" && !has_item) continue;  // which CodeReader reads
      size_t last = target.end - 1;
      while (last > target.begin && tokens_[last].kind != Kind::kName) --last;
      const std::string& setting = tokens_[last].text;
      if (is_one_of(kPlainAttributes, setting) && !is_loss) continue;
      refuse(target.begin, setting,
             is_loss ? "sets an attribute of the loss; give it as an argument where it is made"
                     : cat("sets a part of the model", kAdviceForModel));
    }
    for (size_t i = 0; i + 2 < tokens_.size() && i < end_; ++i) {
      const bool removes = tokens_[i].is_name("del") &&
                           is_seen(tokens_[i + 1].text, i, kModelFlow) &&
                           (tokens_[i + 2].is_sign('.') || tokens_[i + 2].is_sign('['));
      if (removes) refuse(i, "del", cat("removes a part of the model", kAdviceForModel));
    }
  }

  const PythonProgram& program_;
  const std::vector<PythonToken>& tokens_;
  Launch& launch_;
  const Assignments assignments_;
  std::map<size_t, const PythonCall*> calls_at_;  // by their first argument
  using VariableKey = std::pair<std::string, std::optional<size_t>>;
  std::set<std::pair<VariableKey, std::string_view>> seen_;  // variables and roles
  std::set<size_t> refused_;
  static constexpr size_t kMostSteps = 100;
  size_t steps_ = 0;
  size_t end_ = 0;  // of the code that is read: the training
};

}  // namespace

void check_flow(const PythonProgram& program, Launch& launch) {
  FlowReader(program, launch).read();
}

}  // namespace berth
