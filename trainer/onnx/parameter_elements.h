#pragma once

#include "storage/base/bytes.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/onnx/graph.h"

namespace berth::onnx {

// Writes the elements of an initializer that is a parameter, in its type and order. Holds the
// parameter's fp32 elements in memory, and about a MiB more. Throws kBadData, naming the parameter,
// where a finite element would become infinite.
void write_parameter(ByteSink& sink, const Initializer& initializer,
                     const ParameterTensors& values);

}  // namespace berth::onnx
