#include "trainer/xla/pjrt/self_check_program.h"

#include <cstdio>
#include <sstream>

#include "storage/base/philox.h"

namespace berth {
namespace {

constexpr char kNames[] = {'b', 'f', 'g'};

std::string type_of(const std::vector<int64_t>& dimensions) {
  std::string text = "tensor<";
  for (const int64_t dimension : dimensions) text += std::to_string(dimension) + "x";
  return text + "f32>";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9e", value);
  return text;
}

// Uniform in (-scale, scale).
std::vector<float> random_values(size_t count, uint32_t stream, float scale) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto words = philox4x32({low_word(i), high_word(i), stream, 0}, {7, 7});
    values[i] = scale * (static_cast<float>(words[0] >> 8) / 8388608.0f - 1.0f);
  }
  return values;
}

std::vector<float> repeated_rows(uint32_t stream) {
  constexpr auto kPart = static_cast<size_t>(CheckProgram::kDistinct * CheckProgram::kInner);
  std::vector<float> values(static_cast<size_t>(CheckProgram::kRows * CheckProgram::kInner));
  const std::vector<float> part = random_values(kPart, stream, 1);
  for (size_t i = 0; i < values.size(); ++i) values[i] = part[i % kPart];
  return values;
}

// Lines of StableHLO, one operation each.
class Lines {
 public:
  void add(const std::string& result, const std::string& operation) {
    out_ << "  %" << result << " = stablehlo." << operation << "\n";
  }
  // An operation on tensors of one type.
  void map(const std::string& result, const std::string& operation, const std::string& operands,
           const std::string& type) {
    add(result, operation + " " + operands + " : " + type);
  }
  void constant(const std::string& result, double value, const std::string& type) {
    add(result, "constant dense<" + number(value) + "> : " + type);
  }
  void broadcast(const std::string& result, const std::string& operand, const std::string& from,
                 const std::string& dimension, const std::string& type) {
    add(result, "broadcast_in_dim %" + operand + ", dims = [" + dimension + "] : (" + from +
                    ") -> " + type);
  }
  void sum(const std::string& result, const std::string& operand, const std::string& dimensions,
           const std::string& from, const std::string& type) {
    add(result, "reduce(%" + operand + " init: %zero) applies stablehlo.add across dimensions = [" +
                    dimensions + "] : (" + from + ", tensor<f32>) -> " + type);
  }
  // HIGHEST, because the default is bf16 on TPUs.
  void product(const std::string& result, const std::string& operands,
               const std::string& contracted, const std::string& from, const std::string& type) {
    add(result, "dot_general " + operands + ", contracting_dims = " + contracted +
                    ", precision = [HIGHEST, HIGHEST] : (" + from + ") -> " + type);
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

const std::string kScalar = "tensor<f32>";

void add_gradients(Lines& lines) {
  const std::string x = type_of({CheckProgram::kRows, CheckProgram::kInner});
  const std::string h = type_of({CheckProgram::kRows, CheckProgram::kOuter});
  const std::string b = type_of(CheckProgram::dimensions(0));
  const std::string f = type_of(CheckProgram::dimensions(1));
  const std::string g = type_of(CheckProgram::dimensions(2));
  lines.constant("zero", 0, kScalar);
  lines.broadcast("b_rows", "b", b, "1", x);
  lines.map("x1", "add", "%x, %b_rows", x);
  lines.product("a", "%x1, %f", "[1] x [1]", x + ", " + f, h);
  lines.map("h", "tanh", "%a", h);
  lines.product("y", "%h, %g", "[1] x [1]", h + ", " + g, x);
  lines.map("e", "subtract", "%y, %t", x);
  lines.map("ee", "multiply", "%e, %e", x);
  lines.sum("loss", "ee", "0, 1", x, kScalar);

  lines.constant("two", 2, x);
  lines.map("dy", "multiply", "%two, %e", x);
  lines.product("dg", "%dy, %h", "[0] x [0]", x + ", " + h, g);
  lines.product("dh", "%dy, %g", "[1] x [0]", x + ", " + g, h);
  lines.constant("ones", 1, h);
  lines.map("hh", "multiply", "%h, %h", h);
  lines.map("slope", "subtract", "%ones, %hh", h);
  lines.map("da", "multiply", "%dh, %slope", h);
  lines.product("df", "%da, %x1", "[0] x [0]", h + ", " + x, f);
  lines.product("dx", "%da, %f", "[1] x [0]", h + ", " + f, x);
  lines.sum("db", "dx", "0", x, b);
}

std::string operands(const std::string& a, const std::string& b) { return "%" + a + ", %" + b; }

void add_norm(Lines& lines) {
  for (size_t i = 0; i < CheckProgram::kParameters; ++i) {
    const std::string name(1, kNames[i]), type = type_of(CheckProgram::dimensions(i));
    lines.map("square_" + name, "multiply", operands("d" + name, "d" + name), type);
    lines.sum("squares_" + name, "square_" + name, i == 0 ? "0" : "0, 1", type, kScalar);
  }
  lines.map("squares_bf", "add", "%squares_b, %squares_f", kScalar);
  lines.map("squares", "add", "%squares_bf, %squares_g", kScalar);
  lines.map("inverse", "rsqrt", "%squares", kScalar);
}

// A parameter of @main. `output`: the output that takes its memory, or -1.
std::string input(const std::string& name, const std::string& type, int output) {
  const std::string aliasing =
      output < 0 ? "" : " {tf.aliasing_output = " + std::to_string(output) + " : i32}";
  return "%" + name + ": " + type + aliasing + ", ";
}

void add_update(Lines& lines, size_t parameter) {
  const std::string name(1, kNames[parameter]);
  const std::string type = type_of(CheckProgram::dimensions(parameter));
  const auto v = [&](const char* what) { return what + name; };  // a name of this parameter's own
  lines.broadcast(v("scale_"), "inverse", kScalar, "", type);
  lines.map(v("c_"), "multiply", operands("d" + name, v("scale_")), type);
  lines.constant(v("beta1_"), CheckProgram::kBeta1, type);
  lines.constant(v("rest1_"), 1 - CheckProgram::kBeta1, type);
  lines.map(v("m_old_"), "multiply", operands(v("beta1_"), v("m_")), type);
  lines.map(v("m_add_"), "multiply", operands(v("rest1_"), v("c_")), type);
  lines.map(v("m_new_"), "add", operands(v("m_old_"), v("m_add_")), type);
  lines.constant(v("beta2_"), CheckProgram::kBeta2, type);
  lines.constant(v("rest2_"), 1 - CheckProgram::kBeta2, type);
  lines.map(v("v_old_"), "multiply", operands(v("beta2_"), v("v_")), type);
  lines.map(v("cc_"), "multiply", operands(v("c_"), v("c_")), type);
  lines.map(v("v_add_"), "multiply", operands(v("rest2_"), v("cc_")), type);
  lines.map(v("v_new_"), "add", operands(v("v_old_"), v("v_add_")), type);
  lines.map(v("root_"), "sqrt", "%" + v("v_new_"), type);
  lines.constant(v("epsilon_"), CheckProgram::kEpsilon, type);
  lines.map(v("below_"), "add", operands(v("root_"), v("epsilon_")), type);
  lines.map(v("step_"), "divide", operands(v("m_new_"), v("below_")), type);
  lines.constant(v("rate_"), CheckProgram::kRate, type);
  lines.map(v("move_"), "multiply", operands(v("rate_"), v("step_")), type);
  lines.constant(v("shrink_"), 1 - CheckProgram::kRate * CheckProgram::kDecay, type);
  lines.map(v("kept_"), "multiply", operands(v("shrink_"), name), type);
  lines.map(v("new_"), "subtract", operands(v("kept_"), v("move_")), type);
}

}  // namespace

std::vector<int64_t> CheckProgram::dimensions(size_t parameter) {
  if (parameter == 0) return {kInner};
  if (parameter == 1) return {kOuter, kInner};
  return {kInner, kOuter};
}

CheckProgram::State CheckProgram::first_state() {
  State state;
  for (size_t i = 0; i < state.size(); ++i) {
    const size_t parameter = i % kParameters;
    const size_t count = parameter == 0 ? kInner : kInner * kOuter;
    state[i] = i < kParameters ? random_values(count, static_cast<uint32_t>(i), 0.1f)
                               : std::vector<float>(count);
  }
  return state;
}

std::vector<float> CheckProgram::x() { return repeated_rows(10); }
std::vector<float> CheckProgram::t() { return repeated_rows(11); }

std::string CheckProgram::text(bool donated) {
  std::string inputs, results, types;
  const char* kPrefixes[] = {"", "m_", "v_"};
  const char* kNewPrefixes[] = {"new_", "m_new_", "v_new_"};
  for (size_t i = 0; i < 3 * kParameters; ++i) {
    const std::string name(1, kNames[i % kParameters]), type = type_of(dimensions(i % kParameters));
    inputs += input(kPrefixes[i / kParameters] + name, type, donated ? static_cast<int>(i) : -1);
    results += "%" + (kNewPrefixes[i / kParameters] + name) + ", ";
    types += type + ", ";
  }
  const std::string x = type_of({kRows, kInner});
  Lines lines;
  add_gradients(lines);
  add_norm(lines);
  for (size_t i = 0; i < kParameters; ++i) add_update(lines, i);
  return "module @self_check {\nfunc.func public @main(" + inputs + "%x: " + x + ", %t: " + x +
         ") -> (" + types + kScalar + ") {\n" + lines.text() + "  return " + results +
         "%loss : " + types + kScalar + "\n}\n}\n";
}

}  // namespace berth
