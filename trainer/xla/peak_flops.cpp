#include "trainer/xla/peak_flops.h"

#include <cctype>

namespace berth {
namespace {

struct Peak {
  std::string_view kind;
  double bf16, fp32;  // TFLOP/s; 0: not published
};

// TPUs: the pages of each version at cloud.google.com/tpu/docs. The numbers there are for a chip,
// which is two devices in v2, v3 and 7x. GPUs: NVIDIA's data sheets of each product, without
// sparsity. The T4 and the V100 have no units for bf16, so that such products run at their speed in
// fp32. A row stands before the rows whose kind is the beginning of its own.
constexpr Peak kPeaks[] = {
    {"TPU v2", 45.0 / 2, 0},      {"TPU v3", 123.0 / 2, 0},  {"TPU v4", 275, 0},
    {"TPU v5 lite", 197, 0},      {"TPU v5e", 197, 0},       {"TPU v5", 459, 0},
    {"TPU v5p", 459, 0},          {"TPU v6 lite", 918, 0},   {"TPU v6e", 918, 0},
    {"TPU7x", 2307.0 / 2, 0},     {"Tesla T4", 8.1, 8.1},    {"Tesla V100-PCIE", 14, 14},
    {"Tesla V100", 15.7, 15.7},   {"NVIDIA A10", 125, 31.2}, {"NVIDIA A10G", 70, 31.5},
    {"NVIDIA A100", 312, 19.5},   {"NVIDIA L4", 121, 30.3},  {"NVIDIA H100 PCIe", 756, 51},
    {"NVIDIA H100 NVL", 835, 60}, {"NVIDIA H100", 989, 67},  {"NVIDIA H200 NVL", 835, 60},
    {"NVIDIA H200", 989, 67},     {"NVIDIA B200", 2250, 75},
};

// A GPU's name goes on with its form and its memory: "NVIDIA A100-SXM4-40GB".
bool is_of(std::string_view kind, std::string_view known) {
  if (!kind.starts_with(known)) return false;
  if (kind.size() == known.size()) return true;
  return !known.starts_with("TPU") &&
         std::isalnum(static_cast<unsigned char>(kind[known.size()])) == 0;
}

}  // namespace

std::optional<double> peak_flops(std::string_view kind, DType product_dtype) {
  if (kind.find(" MIG ") != kind.npos) return std::nullopt;  // a part of a GPU
  for (const Peak& peak : kPeaks) {
    if (!is_of(kind, peak.kind)) continue;
    const double tera = product_dtype == DType::kBF16 ? peak.bf16 : peak.fp32;
    return tera > 0 ? std::optional(tera * 1e12) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace berth
