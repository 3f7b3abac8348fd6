#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "storage/base/known_keys.h"
#include "trainer/text/load_tokenizer.h"

namespace berth {

// The kind of tokenizer, as the name of a tokenizer class or of a model says.
enum class TokenizerKind : uint8_t {
  kUnknown,     // tokenizer.json says all
  kBert,        // WordPiece; ELECTRA, DistilBERT and others as well
  kMpnet,       // WordPiece, <s> A </s></s> B </s>
  kRoberta,     // byte-level BPE, <s> A </s></s> B </s>
  kGpt2,        // byte-level BPE without special tokens
  kDeberta,     // byte-level BPE, [CLS] A [SEP][SEP] B [SEP]
  kHerbert,     // BPE of BERT's words, <s> A </s> B </s>
  kXlmRoberta,  // SentencePiece, shifted ids, <s> A </s></s> B </s>
  kCamembert,   // the same with a different shift
  kAlbert,      // SentencePiece, [CLS] A [SEP] B [SEP]
  kDebertaV2,   // the same; the text may be lower-cased
  kT5,          // SentencePiece, A </s> B </s>
};

// The class of a folder's tokenizer: tokenizer_class in tokenizer_config.json, or else in
// config.json, or else what transformers has for the model_type in config.json.
struct TokenizerClass {
  std::string name;       // as the file names it, or "" if none does
  bool of_model = false;  // config.json names it, and tokenizer_config.json does not
  std::string type;       // model_type in config.json, in small letters without dashes, or ""
  TokenizerKind kind = TokenizerKind::kUnknown;
  // Whether the class of transformers 5 makes the normalizer, the words, the template and the added
  // tokens itself, by tokenizer_config.json. It takes only the vocabulary and the character map
  // from tokenizer.json then.
  bool rebuilds = false;
  // Whether the class of transformers 5 gives token_type_ids to the model by default. True, too,
  // where no file says which class it is, and for models that have no token types.
  bool gives_types = true;
  // Whether the class makes the template itself, and takes all else from tokenizer.json.
  bool makes_template = false;
};

// Throws kBadData, with the class's name, if berth does not know it: two classes may read one
// vocabulary differently. The model_type alone also counts as a name. Throws kBadData as well where
// there is no tokenizer.json, no file names a class, and berth does not know the model_type.
TokenizerClass tokenizer_class(const FileLookup& file);

// What people call a tokenizer of this class: "BertTokenizer".
std::string shown_class(const TokenizerClass& of);

// tokenizer_class in tokenizer_config.json, or else in config.json. "": no file names it.
std::string named_class(const FileLookup& file);

// Whether the tokenizer class or the model type is DistilBERT's.
bool is_distilbert(const FileLookup& file);

// The keys of tokenizer_config.json, of all classes that berth knows.
std::span<const KnownKey> tokenizer_keys();

}  // namespace berth
