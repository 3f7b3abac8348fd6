#pragma once

#include <optional>

#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/training_state.h"

namespace berth {

// Collectives that copy rank 0's state to the other ranks of a job. Only rank 0 reads checkpoints
// and models, so the others need none of its files. They throw kPeerLost as Communicator says.

// Every rank has rank 0's tensors afterwards.
void share_tensors(Communicator& ranks, ParameterTensors& tensors);

// The same for a training state and, where there is one, for the values and the moments of the
// engine. Calls tensors_written() on the ranks that have received. If the moments are sharded, each
// rank received its share when rank 0 wrote it. Returns rank 0's `state`.
std::optional<TrainingState> share_state(Communicator& ranks, Engine& engine,
                                         const std::optional<TrainingState>& state);

// Rank 0's best evaluation.
std::optional<Best> share_best(Communicator& ranks, const std::optional<Best>& best);

}  // namespace berth
