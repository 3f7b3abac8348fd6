#pragma once

namespace berth {

// The activation functions that hidden_act in config.json may name. GELU (Hendrycks and Gimpel
// 2016, arXiv:1606.08415) is computed with erf (kGelu) or by its tanh approximation (kGeluTanh).
enum class Activation { kGelu, kGeluTanh, kRelu, kTanh };

}  // namespace berth
