#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/json.h"
#include "trainer/text/added_tokens.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/tokenizer_class.h"

namespace berth {

// The tokens that the files of a folder add to a vocabulary, as transformers 5 merges them:
// added_tokens_decoder in tokenizer_config.json outranks special_tokens_map.json,
// added_tokens.json and the list in tokenizer.json.
class ClassTokens {
 public:
  // `config` is tokenizer_config.json, and `listed` the tokens of tokenizer.json.
  ClassTokens(const FileLookup& file, const TokenizerClass& tokenizer_class, const Json& config,
              std::vector<AddedToken> listed);

  // The text of "cls_token" or another name, or "" if there is none.
  std::string text(const std::string& name) const;

  // All added tokens with the ids that `tokenizers` gives them: the vocabulary's, or else the next
  // one, whatever a file says. `find` returns the vocabulary's id of a token, or -1, and `count` is
  // the number of its pieces.
  std::vector<AddedToken> all(const std::function<int32_t(const std::string&)>& find,
                              int32_t count) const;

 private:
  void name_defaults(TokenizerKind kind);
  void read_names(const Json& object, bool is_map);
  void read_extra(const Json& object, const char* name, bool is_map);

  bool rebuilds_;
  std::vector<AddedToken> listed_;
  std::map<int32_t, AddedToken> by_id_;                     // what transformers adds first
  std::map<std::string, std::optional<AddedToken>> names_;  // id -2: a text without flags
  std::vector<AddedToken> extra_;
};

}  // namespace berth
