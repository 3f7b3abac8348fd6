#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/falling_rate.h"
#include "entrypoint/explain/program_parts.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

constexpr std::string_view kNested = "MatryoshkaLoss";
constexpr std::string_view kMiniBatch = "mini_batch_size";
constexpr std::string_view kPartOfCached = "32";  // where the program names no other
constexpr std::string_view kGuided = "GISTEmbedLoss";
constexpr std::string_view kTemperatureOfGuided = "0.01";

// A class of sentence-transformers, the value of --similarity-loss, and its arguments behind the
// model, in their order.
struct SentenceLoss {
  std::string_view name, flag;
  std::array<std::string_view, 6> arguments{};
};
constexpr SentenceLoss kSentenceLosses[] = {
    {"CosineSimilarityLoss", "cosine", {"loss_fct", "cos_score_transformation"}},
    {"CoSENTLoss", "cosent", {"scale", "similarity_fct"}},
    {"AnglELoss", "angle", {"scale"}},
    {"MultipleNegativesRankingLoss", "in_batch_negatives", {"scale", "similarity_fct"}},
    {"CachedMultipleNegativesRankingLoss",
     "in_batch_negatives",
     {"scale", "similarity_fct", kMiniBatch}},
    {"GISTEmbedLoss",
     "in_batch_negatives",
     {"guide", "temperature", "margin_strategy", "margin", "contrast_anchors",
      "contrast_positives"}},
    {"CachedGISTEmbedLoss", "in_batch_negatives", {"guide", "temperature", kMiniBatch}},
    {"MultipleNegativesSymmetricRankingLoss", "symmetric", {"scale", "similarity_fct"}},
    {"CachedMultipleNegativesSymmetricRankingLoss",
     "symmetric",
     {"scale", "similarity_fct", kMiniBatch}},
    {"TripletLoss", "triplet", {"distance_metric", "triplet_margin"}},
    {"ContrastiveLoss", "contrastive", {"distance_metric", "margin", "size_average"}},
    {"OnlineContrastiveLoss", "online_contrastive", {"distance_metric", "margin"}},
    {"MarginMSELoss", "margin_mse", {"similarity_fct"}},
    {"DistillKLDivLoss",
     "distill_kl",
     {"similarity_fct", "temperature", "student_temperature", "teacher_temperature"}},
    {"MSELoss", "embedding_mse", {"projection_dim"}},
    {"EmbedDistillLoss", "embedding_cosine", {"distance_metric", "projection_dim"}},
    {kNested, "", {"loss", "matryoshka_dims", "matryoshka_weights", "n_dims_per_step"}},
};

// Arguments with the value that changes nothing.
struct DefaultArgument {
  std::string_view name, value;
};
constexpr DefaultArgument kDefaultArguments[] = {
    {"scale", "20"},
    {"scale", "20.0"},
    {"size_average", "True"},
    {"hardness_mode", "None"},
    {"hardness_strength", "0"},
    {"hardness_strength", "0.0"},
    {"gather_across_devices", "False"},
    {"n_dims_per_step", "-1"},
    {"matryoshka_weights", "None"},
    {"mini_batch_num_tokens", "None"},
    {"projection_dim", "None"},
};
constexpr std::string_view kHarmlessArguments = "model loss show_progress_bar";

// Arguments of a guided loss that are read together.
constexpr std::string_view kOfGuide =
    "guide temperature margin margin_strategy contrast_anchors contrast_positives";

bool changes_nothing(std::string_view name, const PythonValue& value) {
  if (is_one_of(kHarmlessArguments, name)) return true;
  return std::ranges::any_of(kDefaultArguments, [&](const DefaultArgument& row) {
    return row.name == name && row.value == value.text;
  });
}

// The value of --similarity-distance; empty: berth has none for it.
std::string_view distance_of(const PythonValue& metric) {
  const std::string_view name = last_name(metric.name);
  if (name == "COSINE" || name == "COSINE_DISTANCE") return "cosine";
  if (name == "EUCLIDEAN") return "euclidean";
  return name == "MANHATTAN" ? "manhattan" : "";
}

class SentenceLossReader {
 public:
  SentenceLossReader(const PythonProgram& program, Launch& launch)
      : program_(program), launch_(launch) {}

  void read(const PythonCall& call, const SentenceLoss& known) {
    call_ = &call;
    loss_ = known.flag;
    given_.clear();
    for (size_t i = 1; i < call.positional.size(); ++i) {
      if (i > known.arguments.size() || known.arguments[i - 1].empty()) {
        refuse(cat("argument ", i + 1));
        break;
      }
      take(known.arguments[i - 1], call.positional[i]);
    }
    for (const auto& [name, value] : call.keywords) take(name, value);
    if (known.name.starts_with("Cached") && !argument(kMiniBatch)) {
      launch_.add_flag("embedding-mini-batch-size", kPartOfCached);
    }
    if (is_guided()) take_guide();
    if (loss_ == "distill_kl") take_temperatures();
    if (learns_embeddings()) take_teacher();
    take_directions();
    if (!loss_.empty()) launch_.add_flag("similarity_loss", loss_);
  }

 private:
  void take(std::string_view name, const PythonValue& value) {
    given_.emplace_back(name, &value);
    if (changes_nothing(name, value) || is_read_later(name)) return;
    if (name == "similarity_fct" && is_usual_function(value)) return;
    if (name == "gather_across_devices" && value.text == "True") {
      launch_.gathers_rows = true;
      return;
    }
    if (name == kMiniBatch) return take_flag(name, "embedding-mini-batch-size", value);
    if (name == "scale") return take_flag(name, "similarity-scale", value);
    if (name == "margin" || name == "triplet_margin") {
      return take_flag(name, "similarity-margin", value);
    }
    if (name == "matryoshka_dims" || name == "matryoshka_weights") {
      return take_flag(name, name == "matryoshka_dims" ? "matryoshka-dims" : "matryoshka-weights",
                       value);
    }
    if (name == "distance_metric" && !distance_of(value).empty()) {
      return launch_.add_flag("similarity_distance", distance_of(value));
    }
    refuse(name);
  }

  // Arguments that are read together, when all of them are known.
  bool is_read_later(std::string_view name) const {
    if (is_guided() && is_one_of(kOfGuide, name)) return true;
    if (loss_ == "distill_kl" && name.ends_with("temperature")) return true;
    if (learns_embeddings() && name == "distance_metric") return true;
    return name == "directions" || name == "partition_mode";
  }

  bool is_usual_function(const PythonValue& function) const {
    const bool is_dot = loss_ == "margin_mse" || loss_ == "distill_kl";
    return last_name(function.name).ends_with(is_dot ? "pairwise_dot_score" : "cos_sim");
  }

  bool learns_embeddings() const { return loss_.starts_with("embedding_"); }

  void take_flag(std::string_view name, std::string_view flag, const PythonValue& value) {
    const bool is_known =
        value.is_known() && std::ranges::all_of(value.items, &PythonValue::is_known);
    if (is_known) return launch_.add_flag(flag, joined(value));
    launch_.refuse(std::string(name),
                   cat("is computed in the program; add --", flag, " X to the line"));
  }

  // Which texts find which: only queries their documents, or both directions with a loss each.
  void take_directions() {
    const PythonValue *directions = call_->find("directions"),
                      *mode = call_->find("partition_mode");
    const std::string found = directions == nullptr ? "query_to_doc" : joined(*directions);
    if (found == "query_to_doc") return;
    const bool are_both =
        found == "query_to_doc,doc_to_query" || found == "doc_to_query,query_to_doc";
    if (!are_both || mode == nullptr || mode->text != "per_direction") return refuse("directions");
    loss_ = "symmetric";
  }

  // The value of an argument of this call, however it is given; nullptr: it is not.
  const PythonValue* argument(std::string_view name) const {
    const auto found = std::ranges::find(given_, name, &Argument::first);
    return found == given_.end() ? nullptr : found->second;
  }

  bool is_guided() const { return last_name(call_->name).ends_with(kGuided); }

  void take_guide() {
    name_guide();
    take_contrasts();
    take_scale("similarity-scale", kTemperatureOfGuided, "temperature");
    take_margin();
  }

  // The guide is the model itself, or another one that the program makes by its name.
  void name_guide() {
    const std::vector<std::string> given = argument_texts();
    const std::string model = given_text(given, "model", 0), guide = given_text(given, "guide", 1);
    if (!guide.empty() && guide == model) return launch_.add_flag("guide", "self");
    const PythonCall* made = find_guide(guide);
    const PythonValue* name = made == nullptr ? nullptr : made->find("model_name_or_path");
    if (made != nullptr && !made->positional.empty()) name = &made->positional[0];
    const bool is_changed = std::ranges::any_of(program_.assignments, [&](const auto& assignment) {
      return assignment.first.starts_with(cat(guide, "."));
    });
    if (name == nullptr || name->kind != PythonValue::Kind::kText || is_changed) {
      return launch_.refuse(cat("guide (line ", call_->line, ")"),
                            is_changed
                                ? "is changed in the program; save it, and add --guide DIR with "
                                  "its folder to the line"
                                : "is computed in the program; add --guide MODEL to the line");
    }
    check_sentence_model(*made, "--guide", launch_);
    launch_.add_flag("guide", sentence_model(name->text));
    launch_.remark("--guide",
                   "reads the texts of the rows; the program gives a guide of another vocabulary "
                   "what the tokens of the model say");
  }

  // The call that makes the guide, among the arguments of the loss or before it.
  const PythonCall* find_guide(const std::string& guide) const {
    for (const PythonCall& call : program_.calls) {
      const bool is_inside = call.arguments.begin > call_->arguments.begin &&
                             call.arguments.end < call_->arguments.end;
      if (is_inside && call.name == "SentenceTransformer" &&
          guide.starts_with("SentenceTransformer(")) {
        return &call;
      }
    }
    const PythonValue* made = program_.assigned(guide);
    if (made == nullptr || made->name != "SentenceTransformer()") return nullptr;
    return find_made_model(program_, guide, call_->arguments.begin);
  }

  void take_contrasts() {
    std::array<bool, 2> contrasts{true, true};
    constexpr std::array<std::string_view, 2> kNames = {"contrast_anchors", "contrast_positives"};
    for (size_t i = 0; i < kNames.size(); ++i) {
      const PythonValue* contrast = argument(kNames[i]);
      if (contrast == nullptr || contrast->text == "True") continue;
      contrasts[i] = false;
      if (contrast->text == "False") continue;
      launch_.refuse(std::string(kNames[i]),
                     "is computed in the program; add --guide-contrasts X to the line");
    }
    const auto [anchors, positives] = contrasts;
    compares_alike_ = anchors || positives;
    if (anchors && positives) return;
    launch_.add_flag("guide-contrasts", anchors ? "anchors" : positives ? "positives" : "none");
  }

  // 1 divided by the temperature. Returns it as a flag has it; empty: it is computed.
  std::string take_scale(std::string_view flag, std::string_view usual, std::string_view name) {
    const PythonValue* typed = argument(name);
    const bool is_given = typed != nullptr && typed->text != "None";
    const std::optional<double> temperature = parse_real(is_given ? typed->text : usual);
    if (!temperature || !(*temperature > 0)) {
      launch_.refuse(std::string(name), cat("is computed in the program; add --", flag,
                                            " X, which is 1 divided by it, to the line"));
      return "";
    }
    const std::string scale = rate_text(1 / *temperature);
    if (scale != given_scale_) launch_.add_flag(flag, scale);
    return scale;
  }

  void take_margin() {
    const PythonValue *margin = argument("margin"), *strategy = argument("margin_strategy");
    if (margin == nullptr || margin->text == "0" || margin->text == "0.0") return;
    const std::string kind = strategy == nullptr ? "absolute" : strategy->text;
    if (kind != "absolute" && kind != "relative") return refuse("margin_strategy");
    if (margin->text.starts_with('-') && compares_alike_) {
      return launch_.refuse(cat("margin (line ", call_->line, ")"),
                            "is below 0, so that the program compares texts with themselves, which "
                            "berth does not; set contrast_anchors and contrast_positives to False");
    }
    take_flag("margin", kind == "absolute" ? "guide-margin" : "guide-relative-margin", *margin);
  }

  // The temperatures of the model's scores and of the teacher's.
  void take_temperatures() {
    const PythonValue* both = argument("temperature");
    const std::string usual = both == nullptr ? "1" : both->text;
    given_scale_ = "1";
    given_scale_ = take_scale("similarity-scale", usual, "student_temperature");
    take_scale("teacher-scale", usual, "teacher_temperature");
    given_scale_.clear();
  }

  // The program's rows bring a teacher's embeddings, which berth computes.
  void take_teacher() {
    const PythonValue* metric = argument("distance_metric");
    if (metric != nullptr && metric->text == "mse") loss_ = "embedding_mse";
    if (metric != nullptr && metric->text != "mse" && metric->text != "cosine") {
      refuse("distance_metric");
    }
    launch_.refuse(
        cat(last_name(call_->name), " (line ", call_->line, ")"),
        "takes a teacher's embeddings from the rows. berth computes one for each text: add "
        "--teacher MODEL to the line where this is the same");
  }

  // The texts of the arguments: "model", "guide = model".
  std::vector<std::string> argument_texts() const {
    std::vector<std::string> texts(1);
    int depth = 0;
    for (size_t i = call_->arguments.begin; i < call_->arguments.end; ++i) {
      const PythonToken& token = program_.tokens[i];
      const bool opens = token.is_sign('(') || token.is_sign('[') || token.is_sign('{');
      const bool closes = token.is_sign(')') || token.is_sign(']') || token.is_sign('}');
      depth += opens ? 1 : closes ? -1 : 0;
      if (depth == 0 && token.is_sign(',')) {
        texts.emplace_back();
      } else {
        texts.back() += token.text;
      }
    }
    return texts;
  }

  static std::string given_text(const std::vector<std::string>& texts, std::string_view name,
                                size_t place) {
    for (const std::string& text : texts) {
      if (text.starts_with(cat(name, "="))) return text.substr(name.size() + 1);
    }
    const bool is_there = place < texts.size() && texts[place].find('=') == std::string::npos;
    return is_there ? texts[place] : "";
  }

  void refuse(std::string_view name) {
    launch_.refuse(cat(name, " (line ", call_->line, ")"),
                   cat("changes ", last_name(call_->name), " in a way that berth does not have"));
  }

  using Argument = std::pair<std::string_view, const PythonValue*>;

  const PythonProgram& program_;
  Launch& launch_;
  const PythonCall* call_ = nullptr;
  std::string_view loss_;
  std::string given_scale_;      // that berth takes without a flag
  bool compares_alike_ = false;  // a guided loss compares texts of one column
  std::vector<Argument> given_;
};

// Whether two calls are the same to the letter.
bool is_same_call(const PythonProgram& program, const PythonCall& one, const PythonCall& other) {
  const std::span<const PythonToken> tokens(program.tokens);
  const auto arguments = [&](const PythonCall& call) {
    return tokens.subspan(call.arguments.begin, call.arguments.end - call.arguments.begin);
  };
  return one.name == other.name && std::ranges::equal(arguments(one), arguments(other), {},
                                                      &PythonToken::text, &PythonToken::text);
}

// The row of a loss that a source may have; nullptr: a source may not have this one.
const SentenceLoss* loss_of_source(const PythonCall* call) {
  if (call == nullptr) return nullptr;
  const auto* const known =
      std::ranges::find(kSentenceLosses, last_name(call->name), &SentenceLoss::name);
  return known == std::end(kSentenceLosses) || known->name == kNested ? nullptr : known;
}

// What --train-source says of a loss whose flags these are: ",loss=cosent,scale=30". Flags that are
// for all sources are left out, and others are refused.
std::string source_settings(const std::vector<std::string>& flags, Launch& launch) {
  constexpr std::pair<std::string_view, std::string_view> kSettings[] = {
      {"--similarity_loss=", ",loss="},
      {"--similarity-scale=", ",scale="},
      {"--similarity-margin=", ",margin="}};
  std::string text;
  for (const std::string& flag : flags) {
    const auto* const row = std::ranges::find_if(
        kSettings, [&](const auto& setting) { return flag.starts_with(setting.first); });
    const bool is_for_all =
        flag.starts_with("--matryoshka") || flag.starts_with("--embedding-mini-batch-size");
    if (row != std::end(kSettings)) {
      text += cat(row->second, flag.substr(row->first.size()));
    } else if (!is_for_all) {
      launch.refuse(flag.substr(0, flag.find('=')),
                    "is a setting that a source beside --train-data-file does not have; train on "
                    "its rows alone, or name them with --train-data-file");
    }
  }
  return text;
}

}  // namespace

std::vector<SentenceSource> find_sources(const PythonProgram& program) {
  constexpr std::string_view kTrainerClass = "SentenceTransformerTrainer";
  const PythonSpan loss = find_argument(program, kTrainerClass, "loss");
  const auto losses = find_entries(program, loss);
  std::vector<SentenceSource> sources;
  for (const auto& [name, value] :
       find_entries(program, find_argument(program, kTrainerClass, "train_dataset"))) {
    SentenceSource source{.rows = find_call_of(program, value)};
    const auto own = std::ranges::find(losses, name, [](const auto& entry) { return entry.first; });
    if (own != losses.end()) source.loss = find_call_of(program, own->second);
    const bool lacks_loss = !losses.empty() && loss_of_source(source.loss) == nullptr;
    if (source.rows == nullptr || last_name(source.rows->name) != "load_dataset" || lacks_loss) {
      return {};
    }
    sources.push_back(source);
  }
  return sources.size() > 1 ? sources : std::vector<SentenceSource>();
}

std::string settings_of_source(const PythonProgram& program, const SentenceSource& source,
                               Launch& launch) {
  Launch own;
  if (source.loss == nullptr) {  // all sources have one loss, whose remarks the launch gets
    read_sentence_losses(program, own);
    return source_settings(own.flags, launch);
  }
  SentenceLossReader(program, own).read(*source.loss, *loss_of_source(source.loss));
  launch.remarks.insert(launch.remarks.end(), own.remarks.begin(), own.remarks.end());
  for (const std::string& flag : own.flags) {
    if (flag.starts_with("--embedding-mini-batch-size")) launch.flags.push_back(flag);
  }
  return source_settings(own.flags, launch);
}

void read_sentence_losses(const PythonProgram& program, Launch& launch) {
  SentenceLossReader reader(program, launch);
  if (const std::vector<SentenceSource> sources = find_sources(program);
      !sources.empty() && sources[0].loss != nullptr) {
    return reader.read(*sources[0].loss, *loss_of_source(sources[0].loss));
  }
  const PythonCall* first = nullptr;
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (!name.ends_with("Loss") || call.name.starts_with(kDefinition)) continue;
    const auto* const known = std::ranges::find(kSentenceLosses, name, &SentenceLoss::name);
    if (known == std::end(kSentenceLosses)) {
      std::string losses;
      for (const SentenceLoss& row : kSentenceLosses) {
        if (losses.find(row.flag) != std::string::npos) continue;
        losses += cat(losses.empty() ? "" : ", ", row.flag);
      }
      return launch.refuse(
          std::string(name),
          cat("is a loss that berth does not have: --similarity-loss is ", losses));
    }
    if (known->name != kNested && first != nullptr) {
      if (!is_same_call(program, *first, call)) {
        launch.refuse(cat(name, " (line ", call.line, ")"),
                      cat("is a second loss besides that in line ", first->line,
                          "; add --train-source FILE,loss=", known->flag,
                          " with its settings to the line for its rows"));
      }
      continue;
    }
    if (known->name != kNested) first = &call;
    reader.read(call, *known);
  }
  const auto trainer = std::ranges::find_if(program.calls, [](const PythonCall& call) {
    return last_name(call.name) == "SentenceTransformerTrainer";
  });
  const bool is_default = trainer != program.calls.end() && trainer->find("loss") == nullptr &&
                          trainer->positional.size() < 5;
  if (is_default) {
    launch.add_flag("similarity_loss", "cosent");
    launch.remark("--similarity-loss", "is cosent, as the Trainer has it without a loss");
  } else if (first == nullptr) {
    launch.refuse("the loss",
                  "is not made in the program as berth reads it; add --similarity-loss NAME to the "
                  "line");
  }
}

}  // namespace berth
