#pragma once

#include <string>
#include <string_view>

#include "trainer/data/example.h"

namespace berth {

// How a table keeps its examples, one after another:
//
//   varint size | id | texts | token ids | token types | labels | score | answers | weight
//
// `size` counts the bytes behind it. Lists and texts begin with their length as a varint; numbers
// are varints, except score and weight, which are fp32 in the machine's byte order. Only bytes that
// this process wrote are parsed, so the parser checks nothing.
void append_example(std::string& bytes, const Example& example);

// Both remove the first example from the front of `bytes`, which must hold one.
Example parse_example(std::string_view& bytes);
void skip_example(std::string_view& bytes);

}  // namespace berth
