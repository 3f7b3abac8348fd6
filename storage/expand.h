#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "storage/storage.h"

namespace berth {

// The objects that `uri` names, sorted by name, at least one:
// - an object of exactly this name, whatever characters it has, unless it is an archive;
// - a pattern (storage/glob.h), matched with what one list() of its fixed start gives;
// - a directory, or an archive as one: all below it whose file name `is_wanted`.
// A pattern or directory passes over names, or parts of them, that begin with "." or "_" (where
// the pattern does not say so itself). Throws kNotFound, with a similar name if there is one, where
// there is nothing; kBadData where a directory holds nothing that is wanted.
std::vector<Uri> expand(Storage& storage, const Uri& uri,
                        const std::function<bool(std::string_view file_name)>& is_wanted);

// "did you mean NAME?": of the objects and directories beside `uri`, by one list() of not very
// many, the one with the most similar name; empty where none is.
std::string similar_name(Storage& storage, const Uri& uri);

}  // namespace berth
