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
  size_t size() const { return bytes_.size(); }

 private:
  std::string& bytes_;
};

// Counts the bytes that a Writer would write.
class Counter {
 public:
  void byte(char) { ++size_; }
  void text(std::string_view text) { size_ += text.size(); }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
};

bool repeats(std::string_view bytes, const std::string& text, size_t i, const TextPlaces& before) {
  constexpr size_t kShortest = 256;
  return text.size() >= kShortest && i < before.size() && before[i].size == text.size() &&
         bytes.substr(before[i].offset, before[i].size) == text;
}

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

// On entry, `places` has the places of the texts that are not written again. It gets the places of
// the other texts.
template <typename Out>
void put(Out& out, const Example& example, const std::vector<bool>& repeated, TextPlaces& places) {
  put(out, std::string_view(example.id));
  put(out, uint64_t{example.texts.size()});
  for (size_t i = 0; i < example.texts.size(); ++i) {
    const std::string& text = example.texts[i];
    put(out, repeated[i] ? uint64_t{1} : 2 * uint64_t{text.size()});
    if (repeated[i]) continue;
    places[i] = {out.size(), text.size()};
    out.text(text);
  }
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

// Sets `places` to the places of the texts at the front of `rest`, which is the end of `bytes`.
void take_places(std::string_view bytes, std::string_view& rest, TextPlaces& places) {
  places.resize(take_number(rest));
  for (TextPlace& place : places) {
    const uint64_t code = take_number(rest);
    if (code == 1) continue;  // the place in the example before
    place = {bytes.size() - rest.size(), code / 2};
    rest.remove_prefix(place.size);
  }
}

}  // namespace

bool repeats_text(std::string_view bytes, const Example& example, const TextPlaces& before) {
  for (size_t i = 0; i < example.texts.size(); ++i) {
    if (repeats(bytes, example.texts[i], i, before)) return true;
  }
  return false;
}

void append_example(std::string& bytes, const Example& example, TextPlaces& before) {
  std::vector<bool> repeated;
  for (size_t i = 0; i < example.texts.size(); ++i) {
    repeated.push_back(repeats(bytes, example.texts[i], i, before));
  }
  before.resize(example.texts.size());
  TextPlaces unused(before);
  Counter counter;
  put(counter, example, repeated, unused);
  const uint64_t of_example = counter.size();
  put(counter, of_example);
  bytes.reserve(bytes.size() + counter.size());
  Writer writer(bytes);
  put(writer, of_example);
  put(writer, example, repeated, before);
}

Example parse_example(std::string_view bytes, size_t& at, TextPlaces& before) {
  std::string_view rest = bytes.substr(at);
  take_number(rest);
  Example example;
  example.id = take_text(rest);
  take_places(bytes, rest, before);
  for (const TextPlace& place : before) {
    example.texts.emplace_back(bytes.substr(place.offset, place.size));
  }
  example.token_ids = take_numbers(rest);
  example.token_types = take_numbers(rest);
  example.labels = take_numbers(rest);
  example.score = take_float(rest);
  example.answers.resize(take_number(rest));
  for (Answer& answer : example.answers) {
    answer.text = take_text(rest);
    answer.start = static_cast<uint32_t>(take_number(rest));
  }
  example.weight = take_float(rest);
  at = bytes.size() - rest.size();
  return example;
}

void skip_example(std::string_view bytes, size_t& at, TextPlaces& before) {
  std::string_view rest = bytes.substr(at);
  const uint64_t size = take_number(rest);
  at = bytes.size() - rest.size() + size;
  rest.remove_prefix(take_number(rest));  // the id
  take_places(bytes, rest, before);
}

}  // namespace berth
