#pragma once

#include <memory>
#include <string>

#include "trainer/kernels/kernels.h"
#include "trainer/model/parameters.h"

namespace berth {

// The parts of one dense layer: views into Parameters, and the matrix as products want it, which
// copies share.
struct Linear {
  // `name`.weight and `name`.bias; `count` > 1 joins that many neighbours (query, key, value).
  // A weight of three dimensions is taken as a matrix of as many rows.
  Linear(Parameters& parameters, Kernels& kernels, const std::string& name, int count = 1)
      : weight(kernels.make_weight(parameters.value(name + ".weight", count).as_matrix())),
        bias(parameters.value(name + ".bias", count)),
        dweight(parameters.gradient(name + ".weight", count).as_matrix()),
        dbias(parameters.gradient(name + ".bias", count)) {}

  std::shared_ptr<Weight> weight;
  Tensor bias, dweight, dbias;
};

// The parts of one layer normalization.
struct LayerNorm {
  LayerNorm(Parameters& parameters, const std::string& name)
      : gamma(parameters.value(name + ".weight")),
        beta(parameters.value(name + ".bias")),
        dgamma(parameters.gradient(name + ".weight")),
        dbeta(parameters.gradient(name + ".bias")) {}

  Tensor gamma, beta, dgamma, dbeta;
};

}  // namespace berth
