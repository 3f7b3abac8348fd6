#pragma once

#include <pjrt_c_api.h>

#include <cstddef>
#include <string>
#include <type_traits>

#include "storage/base/error.h"

// Calls of PJRT's C interface. Only the .cpp files of this folder include this header.
namespace berth {

// The functions of one plugin, as they are called from here: each call that fails throws an Error.
// Thread-safe.
class PjrtApi {
 public:
  // `plugin` is the plugin's path, for messages. `table` is valid until the process ends.
  PjrtApi(const PJRT_Api* table, std::string plugin) : table_(table), plugin_(std::move(plugin)) {}

  const std::string& plugin() const { return plugin_; }
  std::string version() const;  // "0.115"

  // Whether the plugin has this function. A table is as long as its struct_size says, so that an
  // older plugin's ends before the functions that came later: nothing at or beyond it may be read.
  template <typename Function>
  bool has(Function* PJRT_Api::*function) const {
    const auto* start = reinterpret_cast<const std::byte*>(table_);
    const auto* end = reinterpret_cast<const std::byte*>(&(table_->*function) + 1);
    return static_cast<size_t>(end - start) <= table_->struct_size && table_->*function != nullptr;
  }

  // Calls a function. Throws what error_of() makes of a failure, and kUsage if the plugin is too
  // old to have the function.
  template <typename Args>
  void call(PJRT_Error* (*PJRT_Api::*function)(Args*), std::type_identity_t<Args>& args,
            const char* name) const {
    if (!has(function)) throw_missing(name);
    throw_if((table_->*function)(&args), name);
  }

  // Calls a function that destroys something. A failure has no consequence but a leak: it is
  // ignored.
  template <typename Args>
  void destroy(PJRT_Error* (*PJRT_Api::*function)(Args*),
               std::type_identity_t<Args>& args) const noexcept {
    if (has(function)) discard((table_->*function)(&args));
  }

  // Makes an Error of a failure of `function` and destroys `error`, which may not be null.
  // RESOURCE_EXHAUSTED becomes kMemory; api.cpp has the table.
  Error error_of(PJRT_Error* error, const std::string& function) const;
  void throw_if(PJRT_Error* error, const char* function) const {
    if (error != nullptr) throw error_of(error, function);
  }
  void discard(PJRT_Error* error) const noexcept;

 private:
  [[noreturn]] void throw_missing(const std::string& function) const;

  const PJRT_Api* table_;
  std::string plugin_;
};

// Zeroed arguments that state their size. The size is where the last member that this program knows
// ends, which sizeof may exceed by padding; only the header's constant has it, hence the macros.
template <typename Args>
Args pjrt_args(size_t size) {
  Args args = {};
  args.struct_size = size;
  return args;
}
#define PJRT_ARGS(function) \
  ::berth::pjrt_args<PJRT_##function##_Args>(PJRT_##function##_Args_STRUCT_SIZE)
#define PJRT_CALL(api, function, args) (api).call(&PJRT_Api::PJRT_##function, args, #function)
#define PJRT_DESTROY(api, function, args) (api).destroy(&PJRT_Api::PJRT_##function, args)

}  // namespace berth
