#include "trainer/data/example_codec.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace berth {
namespace {

// Writes to the end of a text.
class Writer {
 public:
  explicit Writer(std::string& bytes) : bytes_(bytes) {}
  void byte(char value) { bytes_ += value; }
  void text(std::string_view text) { bytes_ += text; }

 private:
  std::string& bytes_;
};

// Counts the bytes that a Writer would write.
struct Counter {
  void byte(char) { ++size; }
  void text(std::string_view text) { size += text.size(); }
  uint64_t size = 0;
};

template <typename Out>
void put(Out& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.byte(static_cast<char>(number | 0x80));
  out.byte(static_cast<char>(number));
}

template <typename Out>
void put(Out& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out.text(text);
}

template <typename Out>
void put(Out& out, float number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  out.text({raw, sizeof raw});
}

template <typename Out>
void put(Out& out, const std::vector<int32_t>& numbers) {
  put(out, uint64_t{numbers.size()});
  for (const int32_t number : numbers) put(out, uint64_t{static_cast<uint32_t>(number)});
}

template <typename Out>
void put(Out& out, const Example& example) {
  put(out, std::string_view(example.id));
  put(out, uint64_t{example.texts.size()});
  for (const std::string& text : example.texts) put(out, std::string_view(text));
  put(out, example.token_ids);
  put(out, example.token_types);
  put(out, example.labels);
  put(out, example.score);
  put(out, uint64_t{example.answers.size()});
  for (const Answer& answer : example.answers) {
    put(out, std::string_view(answer.text));
    put(out, uint64_t{answer.start});
  }
  put(out, example.weight);
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
  Counter counter;
  put(counter, example);
  const uint64_t of_example = counter.size;
  put(counter, of_example);
  bytes.reserve(bytes.size() + counter.size);
  Writer writer(bytes);
  put(writer, of_example);
  put(writer, example);
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
