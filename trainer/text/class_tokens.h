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
#include "trainer/text/sentencepiece.h"
#include "trainer/text/tokenizer_class.h"

namespace berth {

// What a SentencePiece model says beside its pieces.
struct SentencePieceTokens {
  std::vector<AddedToken> tokens;  // its control and user-defined pieces
  int32_t unk_id = 0;
};

// The tokens that the files of a folder add to a vocabulary, as transformers 5 merges them:
// added_tokens_decoder in tokenizer_config.json outranks special_tokens_map.json,
// added_tokens.json and the list in tokenizer.json.
class ClassTokens {
 public:
  // `config` is tokenizer_config.json, and `listed` the tokens of tokenizer.json. `model` is null
  // unless a SentencePiece model stands in the place of tokenizer.json.
  ClassTokens(const FileLookup& file, const TokenizerClass& tokenizer_class, const Json& config,
              std::vector<AddedToken> listed, const SentencePieceTokens* model = nullptr);

  // The text of "cls_token" or another name, or "" if there is none.
  std::string text(const std::string& name) const;

  // All added tokens with the ids that `tokenizers` gives them: the vocabulary's, or else the next
  // one, whatever a file says. `find` returns the vocabulary's id of a token, or -1, and `count` is
  // the number of its pieces.
  std::vector<AddedToken> all(const std::function<int32_t(const std::string&)>& find,
                              int32_t count) const;

  // Throws kBadData where a token of `all` that the vocabulary has not got has another id in a
  // file: transformers 4 used that one.
  void refuse_moved(const std::vector<AddedToken>& all, int32_t count) const;

 private:
  void name_defaults(TokenizerKind kind);
  void read_names(const Json& object, bool is_map);
  void read_own_names(const Json& object);
  void read_extra(const Json& object);
  void read_extra_of_map(const Json& object, bool has_model);
  void add_extra(const Json& list);
  void read_added_tokens(const std::string& content);

  bool rebuilds_;
  std::vector<AddedToken> listed_;
  std::map<int32_t, AddedToken> by_id_;                     // what transformers adds first
  std::map<std::string, std::optional<AddedToken>> names_;  // id -2: a text without flags
  std::vector<AddedToken> extra_;
  std::vector<AddedToken> own_names_;  // of extra_special_tokens where it is an object
  bool names_own_ = false;
  bool lists_extra_ = false;         // a file lists extra_
  bool lists_older_ = false;         // special_tokens_map.json lists extra_ by the older name
  std::vector<std::string> stated_;  // the texts of names and lists in files
};

}  // namespace berth

// A SentencePiece model as transformers 5 reads it where a folder has no tokenizer.json. It takes
// the pieces with their scores and the character map. The class decides the rest, so the spaces,
// the bytes and the types of the pieces in the model do not count.
namespace berth {

// The content of tokenizer.json as read_as_class() takes it. Throws kBadData for a BPE model, which
// transformers reads as unigram.
Json tokenizer_json_of(const SentencePieceModel& model);

// The control and user-defined pieces, which match in any text.
SentencePieceTokens special_pieces_of(const SentencePieceModel& model);

// Puts the pieces of the class before and behind the pieces of the model, as convert_from_spm of
// transformers does: fairseq's tokens for XLM-RoBERTa and CamemBERT, and T5's sentinels.
void add_pieces_of_class(TokenizerKind kind, const ClassTokens& tokens, int32_t extra_ids,
                         Json& vocabulary);

// The number of T5's sentinels in tokenizer_config.json. Throws kBadData for more than 10,000.
int32_t extra_ids_of(const Json& config);

}  // namespace berth
