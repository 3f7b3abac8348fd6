#include "tests/support/trapped_tiles.h"

#if defined(__x86_64__)

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/support/emulated_tiles.h"

namespace berth {
namespace {

thread_local bool is_configured = false;

// An instruction with a three-byte VEX prefix (Intel's Software Developer's Manual, volume 2,
// section 2.3), and the values of the registers at that moment.
class Instruction {
 public:
  explicit Instruction(const mcontext_t& context)
      : registers_(context.gregs),
        code_(reinterpret_cast<const uint8_t*>(context.gregs[REG_RIP])),
        has_sib_(!is_register() && (code_[4] & 7) == 4) {}

  // The prefix is C4, with the opcode map 0F 38, W = 0 and a length of 128 bits.
  bool may_be_amx() const {
    return code_[0] == 0xc4 && (code_[1] & 0x1f) == 2 && (code_[2] & 0x84) == 0;
  }
  // `prefix` is the mandatory prefix: 0 none, 1 66, 2 F3, 3 F2.
  bool is(uint8_t opcode, uint8_t prefix, bool of_registers) const {
    return code_[3] == opcode && (code_[2] & 3) == prefix && is_register() == of_registers;
  }
  size_t first() const { return code_[4] >> 3 & 7; }    // ModRM:reg
  size_t second() const { return code_[4] & 7; }        // ModRM:r/m, a register
  size_t third() const { return ~code_[2] >> 3 & 15; }  // VEX.vvvv

  size_t size() const {
    const size_t displacement = mode() == 1 ? 1 : mode() == 2 || is_absolute() ? 4 : 0;
    return 5 + has_sib_ + displacement;
  }
  // The address of a tile in memory and the distance of its rows in bytes. Other operands have no
  // stride.
  std::byte* address() const {
    int64_t at = displacement();
    if (is_absolute() && !has_sib_) {
      at += registers_[REG_RIP] + static_cast<int64_t>(size());
    } else if (!is_absolute()) {
      const int base = (has_sib_ ? code_[5] : code_[4]) & 7;
      at += general(base | (code_[1] & 0x20 ? 0 : 8));
    }
    return reinterpret_cast<std::byte*>(at);
  }
  int64_t stride() const {
    const int index = (code_[5] >> 3 & 7) | (code_[1] & 0x40 ? 0 : 8);
    return has_sib_ && index != 4 ? general(index) << (code_[5] >> 6) : 0;
  }

 private:
  unsigned mode() const { return code_[4] >> 6; }
  bool is_register() const { return mode() == 3; }
  // Without a base register the address is relative to the next instruction, or absolute.
  bool is_absolute() const { return mode() == 0 && ((has_sib_ ? code_[5] : code_[4]) & 7) == 5; }

  int64_t displacement() const {
    const uint8_t* const at = code_ + 5 + has_sib_;
    if (mode() == 1) return static_cast<int8_t>(*at);
    int32_t value = 0;
    if (mode() == 2 || is_absolute()) std::memcpy(&value, at, sizeof value);
    return value;
  }
  int64_t general(int number) const {
    constexpr std::array kOrder = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15};
    return registers_[kOrder[static_cast<size_t>(number)]];
  }

  const greg_t* registers_;
  const uint8_t* code_;
  bool has_sib_;
};

// The only configuration that is emulated: palette 1, start row 0, all eight tiles with 16 rows of
// 64 bytes.
bool is_whole(const std::byte* config) {
  std::array<std::byte, 64> whole{};
  whole[0] = std::byte{1};
  for (size_t tile = 0; tile < 8; ++tile) {
    whole[16 + 2 * tile] = std::byte{64};
    whole[48 + tile] = std::byte{16};
  }
  return std::equal(whole.begin(), whole.end(), config);
}

// Emulates one instruction. False if a CPU with AMX would not run it either, or if it is not one of
// the emulated instructions.
bool execute(const Instruction& it) {
  if (!it.may_be_amx()) return false;
  if (it.is(0x49, 0, false) && it.first() == 0) {  // LDTILECFG
    is_configured = is_whole(it.address());
    for (auto& tile : EmulatedTiles::tiles) tile.fill(std::byte{0});
    return is_configured;
  }
  if (it.is(0x49, 0, true) && it.first() == 0 && it.second() == 0) {  // TILERELEASE
    is_configured = false;
    return true;
  }
  if (!is_configured) return false;
  if (it.is(0x4b, 3, false)) {  // TILELOADD
    EmulatedTiles::load(it.first(), it.address(), it.stride());
  } else if (it.is(0x4b, 2, false)) {  // TILESTORED
    EmulatedTiles::store(it.first(), it.address(), it.stride());
  } else if (it.is(0x49, 3, true) && it.second() == 0) {  // TILEZERO
    EmulatedTiles::zero(it.first());
  } else if (it.is(0x5c, 2, true)) {  // TDPBF16PS
    EmulatedTiles::dot(it.first(), it.second(), it.third());
  } else {
    return false;
  }
  return true;
}

void on_illegal(int, siginfo_t*, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  const Instruction instruction(machine);
  if (!execute(instruction)) {
    ::signal(SIGILL, SIG_DFL);  // and the instruction raises it again
    return;
  }
  machine.gregs[REG_RIP] += static_cast<greg_t>(instruction.size());
}

}  // namespace

TrappedTiles::TrappedTiles() {
  struct sigaction action {};
  action.sa_sigaction = on_illegal;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGILL, &action, &before_);
}

TrappedTiles::~TrappedTiles() { ::sigaction(SIGILL, &before_, nullptr); }

}  // namespace berth

#endif
