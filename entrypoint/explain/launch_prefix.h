#pragma once

#include <span>
#include <string>

#include "entrypoint/explain/launch.h"

namespace berth {

// Remarks about launchers for devices that berth does not drive.
constexpr std::string_view kOtherDevices =
    "has no counterpart; berth trains on CPUs, TPUs and GPUs of NVIDIA";

// Reads the words before the interpreter: `docker run --gpus 2 IMAGE`, `mpirun -np 8`, `srun -n 4
// --gres=gpu:4`, `horovodrun -np 4`, `singularity exec --nv IMAGE`, `bsub -gpu num=2`. It says how
// many processes run, on how many machines, and with which GPUs.
void read_prefix(std::span<const std::string> words, Launch& launch);

// The words behind the image of a `docker run`, where no interpreter is named and the image's own
// program takes them. Empty: the words start no container.
std::span<const std::string> container_arguments(std::span<const std::string> words);

// The number of items in a list of devices such as "0,1,3" or "device=0,1"; "" where it has none.
std::string counted_devices(std::string_view list);

}  // namespace berth
