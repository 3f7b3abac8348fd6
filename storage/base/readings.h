#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// What a text says once its encoding is undone. Byte i of `bytes` stands for the text's bytes from
// begin[i] up to end[i], which is behind the last one.
struct Reading {
  std::string bytes;
  std::vector<uint32_t> begin, end;
};

// Calls `use` with the text as it is, and with each text that undoing an encoding gives. These are
// the encodings by which programs put a text into another one: percent-encoding (RFC 3986),
// character references of HTML, escapes of JSON and C, hexadecimal digits, and base64 in both
// alphabets (RFC 4648). Runs of hexadecimal digits and of base64 count if they stand for eight
// bytes or more. Two encodings may lie within each other, but not three. Accepts any bytes. If a
// text has more than 4 GiB, only the beginning is read.
void for_each_reading(std::string_view text, const std::function<void(const Reading&)>& use);

// The text with percent-encoding, character references and escapes undone.
std::string without_escapes(std::string_view text);

}  // namespace berth
