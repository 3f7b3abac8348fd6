// Measures the CPU operations at the shapes of BERT-tiny and BERT-base.
//
//   kernels_bench [THREADS [INSTRUCTION_SET [bf16]]]
//
// Matrix products are compared with one plain OpenBLAS call on one thread. Everything else is
// compared with the rate of memcpy on the same threads.
#include <cstring>
#include <random>

#include "bench/bench_table.h"
#include "storage/base/text.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/kernels/gemm.h"

namespace berth {
namespace {

class Bench {
 public:
  Bench(int threads, const std::string& instruction_set, Precision precision)
      : pool_(threads), kernels_(make_cpu_kernels(pool_, instruction_set, precision)) {
    state_ = std::make_unique<StepState>();
    state_->begin({.seed = 1, .step = 1, .learning_rate = 1e-4f});
    print_head(cat("kernels ", kernels_->description()));
  }

  void measure_memcpy() {
    const Tensor from = floats({int64_t{32} << 20}), to = floats({int64_t{32} << 20});
    const Timing timing = measure([&] {
      pool_.parallel_for(from.elements(), 1, [&](int64_t begin, int64_t end, int) {
        std::memcpy(to.f32() + begin, from.f32() + begin, static_cast<size_t>(end - begin) * 4);
      });
    });
    memcpy_rate_ = 2.0 * static_cast<double>(from.size_bytes()) / timing.median_s;
    print_row("memcpy", "256 MiB", timing, memcpy_rate_ * 1e-9, "GB/s   ", 1, "memcpy");
  }

  void products(int64_t tokens, int64_t inputs, int64_t outputs) {
    const std::string shape = cat("T=", tokens, " K=", inputs, " N=", outputs);
    const Tensor x = floats({tokens, inputs}), y = floats({tokens, outputs});
    const Tensor sums = floats({outputs, inputs}), bias = floats({outputs});
    const Tensor dw =
        make(kernels_->product_dtype(), {outputs, inputs});  // as without gradient accumulation
    const auto w = kernels_->make_weight(floats({outputs, inputs}), WeightUse::kTraining);
    const double flops = 2.0 * static_cast<double>(tokens * inputs * outputs);
    const auto row = [&](const char* name, const Product& plain,
                         const std::function<void()>& work) {
      const double sgemm_s = measure([&] { multiply(plain); }).median_s;
      const Timing timing = measure(work);
      print_row(name, shape, timing, flops / timing.median_s * 1e-9, "GFLOP/s",
                sgemm_s / timing.median_s, "sgemm");
    };
    const float* a = x.f32();
    const float* b = w->values().f32();
    row("linear_forward",
        {.m = tokens,
         .n = outputs,
         .k = inputs,
         .a = {a, inputs},
         .b = {b, inputs, true},
         .c = y.f32(),
         .c_stride = outputs},
        [&] { kernels_->linear_forward(x, *w, bias, y); });
    row("linear_backward dx",
        {.m = tokens,
         .n = inputs,
         .k = outputs,
         .a = {y.f32(), outputs},
         .b = {b, inputs},
         .c = x.f32(),
         .c_stride = inputs},
        [&] { kernels_->linear_backward(y, {}, *w, x, Into::kOverwrite, {}); });
    row("linear_backward dw",
        {.m = outputs,
         .n = inputs,
         .k = tokens,
         .a = {y.f32(), outputs, true},
         .b = {a, inputs},
         .c = sums.f32(),
         .c_stride = inputs},
        [&] {
          kernels_->linear_backward(y, x, *w, {}, Into::kOverwrite, {dw, {}, Into::kOverwrite});
        });
  }

  void attention(int64_t sequences, int64_t length, int64_t heads, int64_t size, float p) {
    const int64_t tokens = sequences * length, hidden = heads * size;
    const Tensor qkv = floats({tokens, 3 * hidden}), out = floats({tokens, hidden});
    const Tensor dqkv = floats({tokens, 3 * hidden}), log_sum_exp = floats({tokens, heads});
    const Tensor cu_seqlens = make(DType::kI32, {sequences + 1});
    for (int64_t b = 0; b <= sequences; ++b) cu_seqlens.i32()[b] = static_cast<int32_t>(b * length);
    const std::string shape =
        cat("B=", sequences, " S=", length, " A=", heads, " D=", size, " p=", p);
    const double flops = 4.0 * static_cast<double>(tokens * length * hidden);
    const Dropout dropout{.p = p, .site = 1};
    const auto row = [&](const char* name, double work_flops, const std::function<void()>& work) {
      const Timing timing = measure(work);
      const double rate = work_flops / timing.median_s;
      print_row(name, shape, timing, rate * 1e-9, "GFLOP/s", rate / sgemm_rate_, "sgemm 512");
    };
    const AttentionInputs inputs{.qkv = qkv,
                                 .cu_seqlens = cu_seqlens,
                                 .num_heads = static_cast<int>(heads),
                                 .dropout = dropout};
    row("attention_forward", flops,
        [&] { kernels_->attention_forward(inputs, *state_, out, log_sum_exp); });
    row("attention_backward", 2.5 * flops, [&] {
      kernels_->attention_backward(out, inputs, *state_, out, log_sum_exp, {.dqkv = dqkv});
    });
  }

  void rows(int64_t tokens, int64_t hidden, int64_t wide) {
    const Tensor x = floats({tokens, hidden}), y = floats({tokens, hidden});
    const Tensor residual = floats({tokens, hidden}), mean = floats({tokens}),
                 rstd = floats({tokens});
    const Tensor gamma = floats({hidden}), beta = floats({hidden}), pre = floats({tokens, wide});
    const Tensor z = floats({tokens, wide}), dbias = floats({wide});
    const LayerNormParameters norm{gamma, beta, 1e-12f};
    const NormalizedRows normalized{x, mean, rstd};
    const std::string shape = cat("T=", tokens, " H=", hidden),
                      wide_shape = cat("T=", tokens, " F=", wide);
    const Dropout dropout{.p = 0.1f, .site = 1};
    moves("layer_norm_forward", shape, 2 * x.size_bytes(), [&] {
      kernels_->layer_norm_forward(x, norm, y, {mean, rstd});
    });
    moves("layer_norm_backward", shape, 3 * x.size_bytes(), [&] {
      kernels_->layer_norm_backward(y, normalized, norm, residual, {gamma, beta});
    });
    for (const Dropout& drop : {Dropout{}, dropout}) {
      const std::string dropped = cat(shape, " p=", drop.p);
      moves("add_layer_norm_forward", dropped, 4 * x.size_bytes(), [&] {
        kernels_->add_layer_norm_forward(x, residual, drop, *state_, norm, {y, y, {mean, rstd}});
      });
      moves("add_layer_norm_backward", dropped, 4 * x.size_bytes(), [&] {
        kernels_->add_layer_norm_backward(y, normalized, drop, *state_, norm,
                                          {residual, y, {gamma, beta}});
      });
    }
    moves("dropout", cat(shape, " p=0.1"), 2 * x.size_bytes(),
          [&] { kernels_->dropout(x, dropout, *state_, y); });
    const auto one = kernels_->make_weight(floats({wide, 1}), WeightUse::kTraining);
    const Tensor thin = floats({tokens, 1});
    for (const auto& [activation, name] :
         {std::pair{Activation::kGelu, "gelu"}, {Activation::kTanh, "tanh"}}) {
      moves(cat(name, "_forward (K=1)"), wide_shape, 2 * pre.size_bytes(),
            [&] { kernels_->linear_activation_forward(thin, *one, dbias, activation, pre, z); });
      moves(cat(name, "_backward"), wide_shape, 3 * pre.size_bytes(), [&] {
        kernels_->activation_backward(pre, activation, z);
        kernels_->linear_backward(z, thin, *one, {}, Into::kOverwrite, {});
      });
    }
    moves("bias gradient", wide_shape, z.size_bytes(), [&] {
      kernels_->linear_backward(z, thin, *one, {}, Into::kOverwrite, {{}, dbias});
    });
  }

  void embedding(int64_t tokens, int64_t hidden, int64_t vocabulary) {
    const Tensor table = floats({vocabulary, hidden}), position = floats({512, hidden});
    const Tensor type = floats({2, hidden}), y = floats({tokens, hidden});
    const Tensor words = ids(tokens, vocabulary), positions = ids(tokens, 512),
                 types = ids(tokens, 2);
    const EmbeddingIds rows{words, positions, types};
    const std::string shape = cat("T=", tokens, " H=", hidden, " V=", vocabulary);
    moves("embedding_forward", shape, 2 * y.size_bytes(), [&] {
      kernels_->embedding_forward(rows, {table, position, type}, y);
    });
    moves("embedding_backward", shape, 3 * y.size_bytes(), [&] {
      kernels_->embedding_backward(y, rows, /*padding=*/{}, {table, position, type});
    });
  }

  void optimizer(int64_t parameters) {
    const Tensor w = floats({parameters}), g = floats({parameters}), m = floats({parameters});
    const Tensor v = floats({parameters});
    const std::string shape = cat(parameters, " parameters");
    const Gradient gradient{.values = g};
    const UpdateRange all{.w = w, .g = g, .m = m, .v = v, .weight_decay = 0.01f};
    moves("add_squares", shape, g.size_bytes(), [&] {
      kernels_->add_squares({&gradient, 1}, *state_);
    });
    state_->finish_gradients(1);
    const auto update = [&] { kernels_->adamw({&all, 1}, {}, *state_); };
    update();
    moves("adamw, g = 0", shape, 7 * g.size_bytes(), update);
    kernels_->zero(m);
    kernels_->zero(v);
    moves("adamw, g = m = v = 0", shape, 5 * g.size_bytes(), update);
  }

  void measure_sgemm() {
    const Tensor a = floats({512, 512}), b = floats({512, 512}), c = floats({512, 512});
    const Timing timing = measure([&] {
      multiply({.m = 512,
                .n = 512,
                .k = 512,
                .a = {a.f32(), 512},
                .b = {b.f32(), 512},
                .c = c.f32(),
                .c_stride = 512});
    });
    sgemm_rate_ = 2.0 * 512 * 512 * 512 / timing.median_s;
    print_row("sgemm, one thread", "512 x 512 x 512", timing, sgemm_rate_ * 1e-9, "GFLOP/s", 1,
              "sgemm");
  }

 private:
  void moves(const std::string& name, const std::string& shape, size_t bytes,
             const std::function<void()>& work) {
    const Timing timing = measure(work);
    const double rate = static_cast<double>(bytes) / timing.median_s;
    print_row(name, shape, timing, rate * 1e-9, "GB/s   ", rate / memcpy_rate_, "memcpy");
  }
  Tensor make(DType dtype, std::initializer_list<int64_t> shape) {
    Arena plan;
    plan.make(dtype, shape);
    memory_.push_back(std::make_unique<Memory>(plan.used_bytes()));
    return Arena(*memory_.back()).make(dtype, shape);
  }
  Tensor floats(std::initializer_list<int64_t> shape) {
    const Tensor x = make(DType::kF32, shape);
    for (int64_t i = 0; i < x.elements(); ++i) x.f32()[i] = static_cast<float>(i % 17 - 8) * 0.1f;
    return x;
  }
  Tensor ids(int64_t count, int64_t end) {
    const Tensor x = make(DType::kI32, {count});
    for (int64_t i = 0; i < count; ++i) {
      x.i32()[i] =
          std::uniform_int_distribution<int32_t>(0, static_cast<int32_t>(end - 1))(generator_);
    }
    return x;
  }

  ThreadPool pool_;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<StepState> state_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::mt19937 generator_{1};
  double memcpy_rate_ = 1, sgemm_rate_ = 1;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const int threads = berth::threads_asked(argc, argv, berth::available_threads(),
                                           "kernels_bench [THREADS [INSTRUCTION_SET [bf16]]]");
  const bool bf16 = argc > 3 && argv[3] == std::string_view("bf16");
  berth::Bench bench(threads, argc > 2 ? argv[2] : "",
                     bf16 ? berth::Precision::kBf16 : berth::Precision::kFp32);
  bench.measure_memcpy();
  bench.measure_sgemm();
  // BERT tiny: 32 sentences of 50 tokens.
  for (const auto& [inputs, outputs] : {std::pair{128, 384}, {128, 128}, {128, 512}, {512, 128}}) {
    bench.products(1600, inputs, outputs);
  }
  bench.attention(32, 50, 2, 64, 0);
  bench.attention(32, 50, 2, 64, 0.1f);
  bench.rows(1600, 128, 512);
  bench.embedding(1600, 128, 30522);
  bench.optimizer(4400000);
  // BERT base.
  for (const auto& [inputs, outputs] :
       {std::pair{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}}) {
    bench.products(1024, inputs, outputs);
  }
  bench.attention(8, 128, 12, 64, 0.1f);
  bench.attention(2, 512, 12, 64, 0.1f);
  bench.rows(1024, 768, 3072);
}
