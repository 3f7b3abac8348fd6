#include "storage/base/secrets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/base64.h"

namespace berth {
namespace {

// What a text says once its encoding is undone. Byte i of `bytes` stands for the text's bytes from
// begin[i] up to end[i], which is behind the last one.
struct Reading {
  std::string bytes;
  std::vector<uint32_t> begin, end;
};

constexpr int kMostEncodings = 2;
constexpr size_t kShortestBytes = 8;
constexpr size_t kShortestHex = 2 * kShortestBytes, kShortestBase64 = (4 * kShortestBytes + 2) / 3;

// Adds to a reading of a reading.
class Decoder {
 public:
  explicit Decoder(const Reading& from) : from_(from) {}

  // `byte` stands for the bytes `begin` to `end` of the reading that it is made from.
  void add(char byte, size_t begin, size_t end) {
    made_.bytes += byte;
    made_.begin.push_back(from_.begin[begin]);
    made_.end.push_back(from_.end[end - 1]);
  }

  Reading take() { return std::move(made_); }

 private:
  const Reading& from_;
  Reading made_;
};

std::optional<uint32_t> number(std::string_view digits, int base) {
  uint32_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || stopped != end || error != std::errc()) return std::nullopt;
  return value;
}

struct Escape {
  size_t size = 0;  // 0: there is none
  char byte = 0;
};

// An escape of `skipped` characters and `digits` digits behind them.
Escape numbered(std::string_view text, size_t skipped, size_t digits, int base) {
  if (text.size() < skipped + digits) return {};
  const auto value = number(text.substr(skipped, digits), base);
  if (!value || *value > 0xFF) return {};
  return {skipped + digits, static_cast<char>(*value)};
}

Escape character_reference(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kNames = {
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  constexpr size_t kLongest = 10;
  const size_t end = text.substr(0, kLongest).find(';');
  if (end == std::string_view::npos) return {};
  const std::string_view name = text.substr(1, end - 1);
  for (const auto& [known, byte] : kNames) {
    if (name == known) return {end + 1, byte};
  }
  if (!name.starts_with('#')) return {};
  const bool is_hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
  const size_t skipped = is_hex ? 3 : 2;
  const Escape escape = numbered(text, skipped, end - skipped, is_hex ? 16 : 10);
  return escape.size == 0 ? escape : Escape{end + 1, escape.byte};
}

Escape backslash(std::string_view text) {
  if (text.size() < 2) return {};
  if (text[1] == 'x') return numbered(text, 2, 2, 16);
  if (text[1] == 'u') return numbered(text, 2, 4, 16);
  if (text[1] >= '0' && text[1] <= '7') return numbered(text, 1, 3, 8);
  return {2, text[1]};
}

// The escape with which `text` begins.
Escape escape_at(std::string_view text) {
  if (text[0] == '%') return numbered(text, 1, 2, 16);
  if (text[0] == '&') return character_reference(text);
  return text[0] == '\\' ? backslash(text) : Escape();
}

Reading undo_escapes(const Reading& from) {
  Decoder decoder(from);
  const std::string_view text = from.bytes;
  for (size_t i = 0; i < text.size();) {
    const Escape escape = escape_at(text.substr(i));
    const size_t size = escape.size == 0 ? 1 : escape.size;
    decoder.add(escape.size == 0 ? text[i] : escape.byte, i, i + size);
    i += size;
  }
  return decoder.take();
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// An encoding by digits of `bits` bits.
struct Digits {
  int (*value)(char);
  std::string_view separators;  // what may stand between digits
  uint32_t bits;
  size_t shortest;  // digits of a run
};

constexpr Digits kHex = {hex_value, " ,:-\r\n", 4, kShortestHex};
constexpr Digits kBase64 = {base64_value, "\r\n", 6, kShortestBase64};

// Decodes each run of digits, without its first `left_out` ones: the digits of something else may
// stand right before it. A zero byte separates the runs.
Reading undo_digits(const Reading& from, const Digits& digits, size_t left_out) {
  Decoder decoder(from);
  const std::string_view text = from.bytes;
  std::vector<size_t> run;  // where its digits are
  const auto finish = [&] {
    if (run.size() >= digits.shortest + left_out) {
      uint32_t bits = 0, count = 0;
      size_t begin = 0;
      for (size_t i = left_out; i < run.size(); ++i) {
        if (count == 0) begin = run[i];
        bits = bits << digits.bits | static_cast<uint32_t>(digits.value(text[run[i]]));
        count += digits.bits;
        if (count < 8) continue;
        count -= 8;
        decoder.add(static_cast<char>(bits >> count & 0xFF), begin, run[i] + 1);
        begin = run[i];  // bits are left of it, if any are
      }
      decoder.add(0, run.back(), run.back() + 1);
    }
    run.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (digits.value(text[i]) >= 0) {
      run.push_back(i);
    } else if (digits.separators.find(text[i]) == std::string_view::npos) {
      finish();
    }
  }
  finish();
  return decoder.take();
}

void use_readings(const Reading& reading, int encodings,
                  const std::function<void(const Reading&)>& use) {
  use(reading);
  if (encodings == kMostEncodings) return;
  const auto follow = [&](const Reading& made) {
    if (!made.bytes.empty() && made.bytes != reading.bytes) use_readings(made, encodings + 1, use);
  };
  follow(undo_escapes(reading));
  for (size_t left_out = 0; left_out < 2; ++left_out) follow(undo_digits(reading, kHex, left_out));
  for (size_t left_out = 0; left_out < 4; ++left_out) {
    follow(undo_digits(reading, kBase64, left_out));
  }
}

Reading as_it_is(std::string_view text) {
  text = text.substr(0, UINT32_MAX);
  Reading reading{.bytes = std::string(text), .begin = {}, .end = {}};
  reading.begin.resize(text.size());
  reading.end.resize(text.size());
  for (uint32_t i = 0; i < text.size(); ++i) {
    reading.begin[i] = i;
    reading.end[i] = i + 1;
  }
  return reading;
}

// Calls `use` with the text as it is, and with each text that undoing an encoding gives. These are
// the encodings by which programs put a text into another one: percent-encoding (RFC 3986),
// character references of HTML, escapes of JSON and C, hexadecimal digits, and base64 in both
// alphabets (RFC 4648). Runs of hexadecimal digits and of base64 count if they stand for eight
// bytes or more. Two encodings may lie within each other, but not three. Accepts any bytes. If a
// text has more than 4 GiB, only the beginning is read.
void for_each_reading(std::string_view text, const std::function<void(const Reading&)>& use) {
  use_readings(as_it_is(text), 0, use);
}

// The text with percent-encoding, character references and escapes undone.
std::string without_escapes(std::string_view text) { return undo_escapes(as_it_is(text)).bytes; }

constexpr size_t kMostSecrets = 64;

uint32_t beginning_of(std::string_view text) {
  uint32_t bytes = 0;
  static_assert(sizeof bytes == SecretSet::kShortest);
  std::memcpy(&bytes, text.data(), sizeof bytes);
  return bytes;
}

}  // namespace

void SecretSet::add(std::string_view secret) {
  add_form(without_escapes(secret));
  add_form(secret);
}

void SecretSet::add_form(std::string_view secret) {
  if (secret.size() < kShortest) return;
  const bool is_known = std::erase(secrets_, secret) > 0;
  if (secrets_.size() == kMostSecrets) secrets_.erase(secrets_.begin());
  secrets_.emplace_back(secret);
  if (is_known) return;
  add_beginnings(secret);
  size_t size_bytes = 0;
  for (const std::string& held : secrets_) size_bytes += held.size();
  if (beginnings_.size() <= 2 * size_bytes) return;
  beginnings_.clear();
  for (const std::string& held : secrets_) add_beginnings(held);
}

void SecretSet::add_beginnings(std::string_view secret) {
  for (size_t begin = 0; begin + kShortest <= secret.size(); ++begin) {
    beginnings_.insert(beginning_of(secret.substr(begin)));
  }
}

std::vector<bool> SecretSet::find_in(std::string_view text, size_t shared) const {
  std::vector<bool> found(text.size());
  for_each_reading(text, [&](const Reading& reading) {
    const std::string_view bytes = reading.bytes;
    for (size_t begin = 0; begin + kShortest <= bytes.size(); ++begin) {
      if (!beginnings_.contains(beginning_of(bytes.substr(begin)))) continue;
      for (const std::string_view secret : secrets_) {
        const std::string_view passage = bytes.substr(begin, std::min(secret.size(), shared));
        if (passage.size() < std::min(secret.size(), shared) ||
            secret.find(passage) == std::string_view::npos) {
          continue;
        }
        std::fill(found.begin() + reading.begin[begin],
                  found.begin() + reading.end[begin + passage.size() - 1], true);
      }
    }
  });
  return found;
}

namespace {

constexpr size_t kShortestSecret = 8, kSharedWithSecret = 16;

std::mutex secrets_mutex;
SecretSet known_secrets;

}  // namespace

void remember_secret(std::string_view secret) {
  if (secret.size() < kShortestSecret) return;
  const std::lock_guard lock(secrets_mutex);
  known_secrets.add(secret);
}

std::string without_known_secrets(std::string_view text) {
  const std::lock_guard lock(secrets_mutex);
  if (known_secrets.empty()) return std::string(text);
  const std::vector<bool> is_secret = known_secrets.find_in(text, kSharedWithSecret);
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_secret[i]) {
      shown += text[i];
    } else if (i == 0 || !is_secret[i - 1]) {
      shown += "...";
    }
  }
  return shown;
}

}  // namespace berth
