#pragma once

#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "tests/trainer/xla/pjrt/fake_objects.h"

// What the fake plugin knows of a StableHLO module: the signature of its function @main.
struct FakeSignature {
  std::vector<PJRT_Buffer> outputs;  // zeros
  std::vector<bool> donated;         // by parameter
};

// Zeros of a tensor type such as "2x3xf32".
inline PJRT_Buffer zeros_of(std::string type) {
  static const std::map<std::string, PJRT_Buffer_Type> types = {{"f32", PJRT_Buffer_Type_F32},
                                                                {"bf16", PJRT_Buffer_Type_BF16},
                                                                {"i32", PJRT_Buffer_Type_S32},
                                                                {"ui32", PJRT_Buffer_Type_U32},
                                                                {"i1", PJRT_Buffer_Type_PRED}};
  PJRT_Buffer buffer = {};
  size_t elements = 1;
  while (std::isdigit(static_cast<unsigned char>(type[0])) != 0) {
    buffer.dims.push_back(std::stoll(type));
    elements *= static_cast<size_t>(buffer.dims.back());
    type.erase(0, type.find('x') + 1);
  }
  buffer.type = types.at(type);
  const bool is_byte = buffer.type == PJRT_Buffer_Type_PRED;
  buffer.bytes.resize(elements * (is_byte ? 1 : buffer.type == PJRT_Buffer_Type_BF16 ? 2 : 4));
  return buffer;
}

inline bool is_module(const std::string& program) { return program.starts_with("module"); }

inline FakeSignature signature_of(const std::string& program) {
  const size_t begin = program.find("@main("), middle = program.find(") -> (", begin);
  const size_t end = program.find(") {", middle);
  FakeSignature signature;
  for (size_t at = begin; (at = program.find("%arg", at + 1)) < middle;) {
    const std::string parameter = program.substr(at, program.find(", %arg", at) - at);
    signature.donated.push_back(parameter.substr(0, middle - at).find("tf.aliasing_output") !=
                                parameter.npos);
  }
  for (size_t at = middle; (at = program.find("tensor<", at)) < end;) {
    at += 7;
    signature.outputs.push_back(zeros_of(program.substr(at, program.find('>', at) - at)));
  }
  return signature;
}
