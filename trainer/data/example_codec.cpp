#include "trainer/data/example_codec.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace berth {
namespace {

void put(std::string& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

void put(std::string& bytes, std::string_view text) {
  put(bytes, uint64_t{text.size()});
  bytes += text;
}

void put(std::string& bytes, float number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof raw);
}

void put(std::string& bytes, const std::vector<int32_t>& numbers) {
  put(bytes, uint64_t{numbers.size()});
  for (const int32_t number : numbers) put(bytes, uint64_t{static_cast<uint32_t>(number)});
}

uint64_t take_number(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
  }
}

std::string take_text(std::string_view& bytes) {
  const uint64_t size = take_number(bytes);
  std::string text(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return text;
}

float take_float(std::string_view& bytes) {
  float number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

std::vector<int32_t> take_numbers(std::string_view& bytes) {
  std::vector<int32_t> numbers(take_number(bytes));
  for (int32_t& number : numbers) number = static_cast<int32_t>(take_number(bytes));
  return numbers;
}

}  // namespace

void append_example(std::string& bytes, const Example& example) {
  std::string row;
  put(row, example.id);
  put(row, uint64_t{example.texts.size()});
  for (const std::string& text : example.texts) put(row, text);
  put(row, example.token_ids);
  put(row, example.token_types);
  put(row, example.labels);
  put(row, example.score);
  put(row, uint64_t{example.answers.size()});
  for (const Answer& answer : example.answers) {
    put(row, answer.text);
    put(row, uint64_t{answer.start});
  }
  put(row, example.weight);
  put(bytes, row);
}

Example parse_example(std::string_view& bytes) {
  take_number(bytes);
  Example example;
  example.id = take_text(bytes);
  example.texts.resize(take_number(bytes));
  for (std::string& text : example.texts) text = take_text(bytes);
  example.token_ids = take_numbers(bytes);
  example.token_types = take_numbers(bytes);
  example.labels = take_numbers(bytes);
  example.score = take_float(bytes);
  example.answers.resize(take_number(bytes));
  for (Answer& answer : example.answers) {
    answer.text = take_text(bytes);
    answer.start = static_cast<uint32_t>(take_number(bytes));
  }
  example.weight = take_float(bytes);
  return example;
}

void skip_example(std::string_view& bytes) {
  const uint64_t size = take_number(bytes);
  bytes.remove_prefix(size);
}

}  // namespace berth
