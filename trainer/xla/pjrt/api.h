#pragma once

#include <pjrt_c_api.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "trainer/xla/pjrt/plugin.h"

// Calls of PJRT's C interface. Only .cpp files of this folder, and one of bench/, include this
// header.
namespace berth {

// What to do where a plugin does not start or finds no device.
inline constexpr const char* kDeviceHint =
    "check that this machine has its device, and that no other program uses it";

// Whether a plugin has this function. A table is as long as its struct_size says, so that an older
// plugin's ends before the functions that came later: nothing at or beyond it may be read.
template <typename Function>
bool pjrt_has(const PJRT_Api* table, Function* PJRT_Api::*function) {
  const auto* start = reinterpret_cast<const std::byte*>(table);
  const auto* end = reinterpret_cast<const std::byte*>(&(table->*function) + 1);
  return static_cast<size_t>(end - start) <= table->struct_size && table->*function != nullptr;
}

void pjrt_discard(const PJRT_Api* table, PJRT_Error* error) noexcept;  // `error` may be null
// Makes an Error of a failure and destroys `error`. RESOURCE_EXHAUSTED becomes kMemory; api.cpp has
// the table.
[[noreturn]] void pjrt_throw(const PjrtPlugin& plugin, PJRT_Error* error, const char* function);
// Throws kUsage.
[[noreturn]] void pjrt_throw_missing(const PjrtPlugin& plugin, const char* function);

// Zeroed arguments that state their size. The size ends at the last member that this program knows;
// sizeof may exceed it by padding. Only the header's constant has it, hence the macros.
template <typename Args>
Args pjrt_args(size_t size) {
  Args args = {};
  args.struct_size = size;
  return args;
}
#define PJRT_ARGS(function) \
  ::berth::pjrt_args<PJRT_##function##_Args>(PJRT_##function##_Args_STRUCT_SIZE)

template <typename Args>
Args pjrt_call(const PjrtPlugin& plugin, PJRT_Error* (*PJRT_Api::*function)(Args*),
               const char* name, Args args) {
  if (!pjrt_has(plugin.table(), function)) pjrt_throw_missing(plugin, name);
  PJRT_Error* const error = (plugin.table()->*function)(&args);
  if (error != nullptr) pjrt_throw(plugin, error, name);
  return args;
}

// Calls PJRT_<function> of the plugin and returns its arguments, which hold the results. Throws
// what pjrt_throw() makes of a failure, and kUsage if the plugin is too old to have the function.
// `...` sets what goes in:
//
//   PJRT_CALL(plugin, Buffer_Dimensions, args.buffer = buffer).num_dims
#define PJRT_CALL(plugin, function, ...)                                    \
  ::berth::pjrt_call((plugin), &PJRT_Api::PJRT_##function, #function, [&] { \
    auto args = PJRT_ARGS(function);                                        \
    __VA_ARGS__;                                                            \
    return args;                                                            \
  }())

// A StableHLO module, as text or as MLIR bytecode, for the plugin's compiler. Borrows `module`.
inline PJRT_Program pjrt_program(std::string& module) {
  static constexpr std::string_view kFormat = "mlir";
  auto program = pjrt_args<PJRT_Program>(PJRT_Program_STRUCT_SIZE);
  program.code = module.data();
  program.code_size = module.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  return program;
}

// The floating-point operations of one execution on one device, as the compiler counts them;
// nullopt where it counts none. Throws if the plugin cannot say it.
std::optional<double> pjrt_flops(const PjrtPlugin& plugin, PJRT_Executable* executable);

// PJRT's name of an element type; kBool is its PRED.
PJRT_Buffer_Type element_type_of(DType dtype);
// nullopt for the types that DType lacks.
std::optional<DType> dtype_of(PJRT_Buffer_Type type);

}  // namespace berth
