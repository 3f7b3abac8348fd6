#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "entrypoint/explain/program_parts.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::string_view kNested = "MatryoshkaLoss";

// A class of sentence-transformers, the value of --similarity-loss, and its arguments behind the
// model, in their order.
struct SentenceLoss {
  std::string_view name, flag;
  std::array<std::string_view, 4> arguments{};
};
constexpr SentenceLoss kSentenceLosses[] = {
    {"CosineSimilarityLoss", "cosine", {"loss_fct", "cos_score_transformation"}},
    {"CoSENTLoss", "cosent", {"scale", "similarity_fct"}},
    {"AnglELoss", "angle", {"scale"}},
    {"MultipleNegativesRankingLoss", "in_batch_negatives", {"scale", "similarity_fct"}},
    {"CachedMultipleNegativesRankingLoss", "in_batch_negatives", {"scale", "similarity_fct"}},
    {"MultipleNegativesSymmetricRankingLoss", "symmetric", {"scale", "similarity_fct"}},
    {"CachedMultipleNegativesSymmetricRankingLoss", "symmetric", {"scale", "similarity_fct"}},
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
};
// Arguments that change no loss: a cached loss computes the whole batch's in parts.
constexpr std::string_view kHarmlessArguments[] = {"model", "loss", "mini_batch_size",
                                                   "show_progress_bar"};

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
  explicit SentenceLossReader(Launch& launch) : launch_(launch) {}

  void read(const PythonCall& call, const SentenceLoss& known) {
    call_ = &call;
    loss_ = known.flag;
    for (size_t i = 1; i < call.positional.size(); ++i) {
      if (i > known.arguments.size() || known.arguments[i - 1].empty()) break;
      take(known.arguments[i - 1], call.positional[i]);
    }
    for (const auto& [name, value] : call.keywords) take(name, value);
    if (known.name.starts_with("Cached")) {
      launch_.remark(std::string(known.name),
                     "computes the loss of the whole batch in parts, as "
                     "--embedding-mini-batch-size N does. Without that flag the batch is computed "
                     "at once, with the same loss");
    }
    take_directions();
    if (!loss_.empty()) launch_.add_flag("similarity_loss", loss_);
  }

 private:
  void take(std::string_view name, const PythonValue& value) {
    if (changes_nothing(name, value)) return;
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

  void refuse(std::string_view name) {
    launch_.refuse(cat(name, " (line ", call_->line, ")"),
                   cat("changes ", last_name(call_->name), " in a way that berth does not have"));
  }

  Launch& launch_;
  const PythonCall* call_ = nullptr;
  std::string_view loss_;
};

}  // namespace

void read_sentence_losses(const PythonProgram& program, Launch& launch) {
  SentenceLossReader reader(launch);
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
