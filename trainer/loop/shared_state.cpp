#include "trainer/loop/shared_state.h"

#include <algorithm>
#include <span>
#include <vector>

#include "trainer/loop/checkpoint_files.h"

namespace berth {
namespace {

constexpr int64_t kPart = int64_t{1} << 20;  // elements that travel at once

void share(Communicator& ranks, ParameterTensors& tensors, bool only_trained) {
  std::vector<float> part;
  for (size_t i = 0; i < tensors.specs().size(); ++i) {
    const ParameterSpec& spec = tensors.specs()[i];
    if (only_trained && !spec.trains) continue;
    for (int64_t first = 0; first < spec.elements(); first += kPart) {
      part.resize(static_cast<size_t>(std::min(kPart, spec.elements() - first)));
      if (ranks.rank() == 0) tensors.read(i, first, part);
      ranks.broadcast(std::as_writable_bytes(std::span(part)));
      if (ranks.rank() != 0) tensors.write(i, first, std::as_bytes(std::span(part)));
    }
  }
}

}  // namespace

void share_tensors(Communicator& ranks, ParameterTensors& tensors) {
  share(ranks, tensors, /*only_trained=*/false);
}

std::optional<TrainingState> share_state(Communicator& ranks, Engine& engine,
                                         const std::optional<TrainingState>& state) {
  const std::string own = state ? to_json(*state) : "";
  const std::vector<std::byte> json = broadcast_bytes(ranks, as_bytes(own));
  if (json.empty()) return std::nullopt;
  share(ranks, engine.tensors(StateTensors::kValues), /*only_trained=*/false);
  if (!engine.shards_moments()) {
    share(ranks, engine.tensors(StateTensors::kFirstMoments), /*only_trained=*/true);
    share(ranks, engine.tensors(StateTensors::kSecondMoments), /*only_trained=*/true);
  }
  if (ranks.rank() == 0) return state;
  engine.tensors_written();
  return parse_training_state(as_text(json));
}

std::optional<Best> share_best(Communicator& ranks, const std::optional<Best>& best) {
  const std::string own = best ? to_json(TrainingState{.best = best}) : "";
  const std::vector<std::byte> json = broadcast_bytes(ranks, as_bytes(own));
  return json.empty() ? std::nullopt : parse_training_state(as_text(json)).best;
}

}  // namespace berth
