#pragma once

#include <string>
#include <string_view>

#include "trainer/data/example.h"

namespace berth {

// Examples one after another, as a table keeps them:
//
//   varint size | id | texts | token ids | token types | labels | score | answers | weight
//
// Lists and texts begin with their length. Our own bytes: what reads them trusts them.
void append_example(std::string& bytes, const Example& example);

// Both take the first example from the front of `bytes`.
Example parse_example(std::string_view& bytes);
void skip_example(std::string_view& bytes);

}  // namespace berth
