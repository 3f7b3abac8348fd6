#include <algorithm>
#include <array>
#include <optional>
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
constexpr double kTemperatureOfGuided = 0.01;

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
};
constexpr std::string_view kHarmlessArguments[] = {"model", "loss", "show_progress_bar"};

// Arguments of a guided loss that are read together.
constexpr std::string_view kOfGuide[] = {"guide", "temperature", "margin_strategy",
                                         "contrast_anchors", "contrast_positives"};

bool changes_nothing(std::string_view name, const PythonValue& value) {
  if (std::ranges::find(kHarmlessArguments, name) != std::end(kHarmlessArguments)) return true;
  if (name == "similarity_fct") return last_name(value.name).ends_with("cos_sim");
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
    if (known.name.ends_with(kGuided)) take_guide();
    take_directions();
    if (!loss_.empty()) launch_.add_flag("similarity_loss", loss_);
  }

 private:
  void take(std::string_view name, const PythonValue& value) {
    given_.emplace_back(name, &value);
    if (changes_nothing(name, value)) return;
    if (name == kMiniBatch) return take_flag(name, "embedding-mini-batch-size", value);
    if (is_one_of(kOfGuide, name) || (name == "margin" && is_guided())) return;  // take_guide()
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
    if (name == "directions" || name == "partition_mode") return;  // take_directions()
    refuse(name);
  }

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

  // The guide is the model itself, and texts of one column are not compared.
  void take_guide() {
    const std::vector<std::string> given = argument_texts();
    const std::string model = given_text(given, "model", 0), guide = given_text(given, "guide", 1);
    if (guide.empty() || guide != model) {
      launch_.refuse(cat("guide (line ", call_->line, ")"),
                     "is another model than the one that learns, and berth has --guide self");
    }
    launch_.add_flag("guide", "self");
    for (const std::string_view name : {"contrast_anchors", "contrast_positives"}) {
      const PythonValue* contrast = argument(name);
      if (contrast != nullptr && contrast->text == "False") continue;
      launch_.refuse(cat(name, " (line ", call_->line, ")"),
                     "is not False, so texts of one column are compared, which berth does not");
    }
    take_temperature();
    take_margin();
  }

  void take_temperature() {
    const PythonValue* typed = argument("temperature");
    const std::optional<double> temperature =
        typed == nullptr ? kTemperatureOfGuided : parse_real(typed->text);
    if (!temperature || !(*temperature > 0)) {
      return launch_.refuse("temperature",
                            "is computed in the program; add --similarity-scale X, which is 1 "
                            "divided by it, to the line");
    }
    launch_.add_flag("similarity-scale", rate_text(1 / *temperature));
  }

  void take_margin() {
    const PythonValue *margin = argument("margin"), *strategy = argument("margin_strategy");
    if (margin == nullptr || margin->text == "0" || margin->text == "0.0") return;
    const std::string kind = strategy == nullptr ? "absolute" : strategy->text;
    if (kind != "absolute" && kind != "relative") return refuse("margin_strategy");
    take_flag("margin", kind == "absolute" ? "guide-margin" : "guide-relative-margin", *margin);
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
  std::vector<Argument> given_;
};

}  // namespace

void read_sentence_losses(const PythonProgram& program, Launch& launch) {
  SentenceLossReader reader(program, launch);
  std::string_view first;
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
    if (known->name != kNested && !first.empty() && known->name != first) {
      launch.refuse(std::string(name), cat("is a second loss besides ", first,
                                           ", and a job of berth has one: --similarity-loss"));
    }
    if (known->name != kNested) first = known->name;
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
  } else if (first.empty()) {
    launch.refuse("the loss",
                  "is not made in the program as berth reads it; add --similarity-loss NAME to the "
                  "line");
  }
}

}  // namespace berth
