#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

// Access to the members of a large JSON text without a tree. Thread-safe. The reader of tables,
// which uses it, is make_json_reader() in row_readers.h.
namespace berth {

// The members of a JSON object, or the elements of an array, found without building them: four
// bytes for each. Only brackets, commas, colons and the ends of strings are looked at. Whoever
// parses a value finds what is wrong in it. The text has less than 4 GiB.
struct JsonMembers {
  bool is_object = false;
  std::vector<uint32_t> begins{};  // of the keys or, in an array, of the values
};

// A member of an object, or an element, which has no key. Both are JSON texts: a key has quotes.
struct JsonMember {
  std::string_view key{}, value{};
};

// The members of the object or array that begins at `begin`. Throws kBadData, naming the byte,
// where `text` is no JSON there.
JsonMembers find_members(std::string_view text, size_t begin);

// Where the value begins of the member that begins at one of the places that find_members() has
// found.
size_t value_place(std::string_view text, size_t begin, bool is_object);

// The member that begins at one of the places that find_members() has found.
JsonMember member_at(std::string_view text, size_t begin, bool is_object);

}  // namespace berth
