#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/example.h"

namespace berth {

// How a table keeps its examples, one after another:
//
//   varint size | id | texts | token ids | token types | labels | score | answers | weight
//
// `size` counts the bytes behind it. Lists and texts begin with their length as a varint; numbers
// are varints, except score and weight, which are fp32 in the machine's byte order. The length of
// one of the texts is doubled, and 1 stands for the text at the same place in the example before:
// many questions have one context. Only bytes that this process wrote are parsed, so the parser
// checks nothing.

// Where the texts of an example lie in the bytes.
struct TextPlace {
  size_t offset = 0, size = 0;
};
using TextPlaces = std::vector<TextPlace>;

// Whether `example` has a text of 256 bytes or more that lies in `bytes` at the same one of the
// places `before`.
bool repeats_text(std::string_view bytes, const Example& example, const TextPlaces& before);

// `before` has the places of the example before, and then the places of this example. It is empty
// for an example that must be readable without the ones before it.
void append_example(std::string& bytes, const Example& example, TextPlaces& before);

// Both read the example that begins at `at`, and set `at` to its end.
Example parse_example(std::string_view bytes, size_t& at, TextPlaces& before);
void skip_example(std::string_view bytes, size_t& at, TextPlaces& before);

}  // namespace berth
