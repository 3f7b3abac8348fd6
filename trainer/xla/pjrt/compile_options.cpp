#include "trainer/xla/pjrt/compile_options.h"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <variant>

#include "storage/base/error.h"

namespace berth {
namespace {

// protobuf.dev/programming-guides/encoding: a message is a sequence of fields, each with the key
// (number << 3 | wire type). storage/formats/protobuf_wire.h has a full writer, on another floor.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2 };

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, uint32_t field, Wire wire) { put_varint(out, field << 3 | wire); }

// int32, int64 and bool: negative numbers take ten bytes.
void put_integer(std::string& out, uint32_t field, int64_t value) {
  put_key(out, field, kVarint);
  put_varint(out, static_cast<uint64_t>(value));
}

void put_bytes(std::string& out, uint32_t field, std::string_view value) {
  put_key(out, field, kLength);
  put_varint(out, value.size());
  out += value;
}

void put_double(std::string& out, uint32_t field, double value) {
  put_key(out, field, kFixed64);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; ++i) out += static_cast<char>(bits >> (8 * i));  // little-endian
}

// An OptionOverrideProto.
struct FlagValue {
  const std::string& name;

  std::string operator()(const std::string& value) const {
    std::string out;
    put_bytes(out, 1, value);
    return out;
  }
  std::string operator()(bool value) const {
    std::string out;
    put_integer(out, 2, value ? 1 : 0);
    return out;
  }
  std::string operator()(int64_t value) const {
    std::string out;
    put_integer(out, 3, value);
    return out;
  }
  std::string operator()(float value) const {
    std::string out;
    put_double(out, 4, value);
    return out;
  }
  std::string operator()(const std::vector<int64_t>&) const {
    throw Error(Code::kInternal, "the XLA flag " + name + " is a list");
  }
};

}  // namespace

std::string serialized(const PjrtCompileOptions& options) {
  if (options.replicas < 1) throw Error(Code::kInternal, "a program has less than one replica");
  std::string build;
  put_integer(build, 1, -1);
  put_integer(build, 4, options.replicas);
  put_integer(build, 5, 1);

  std::string out;
  put_bytes(out, 3, build);
  for (const PjrtNamedValue& flag : options.flags) {
    std::string entry;
    put_bytes(entry, 1, flag.name);
    put_bytes(entry, 2, std::visit(FlagValue{flag.name}, flag.value));
    put_bytes(out, 7, entry);
  }
  return out;
}

}  // namespace berth
