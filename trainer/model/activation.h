#pragma once

namespace berth {

// The functions that config.json's hidden_act names. GELU: Hendrycks and Gimpel 2016,
// arXiv:1606.08415, computed with erf (kGelu) or with its tanh approximation (kGeluTanh).
enum class Activation { kGelu, kGeluTanh, kRelu, kTanh };

}  // namespace berth
