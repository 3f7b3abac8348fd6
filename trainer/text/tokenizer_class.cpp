#include "trainer/text/tokenizer_class.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"

namespace berth {
namespace {

// Classes of which each has one model_type, its plain_name().
constexpr std::string_view kOwnClasses =
    "BarthezTokenizer BartphoTokenizer BertGenerationTokenizer BertJapaneseTokenizer "
    "BertweetTokenizer BigBirdTokenizer BioGptTokenizer BlenderbotSmallTokenizer "
    "BlenderbotTokenizer ByT5Tokenizer CanineTokenizer ClvpTokenizer CodeLlamaTokenizer "
    "CpmAntTokenizer CpmTokenizer CTRLTokenizer DiaTokenizer EsmTokenizer FlaubertTokenizer "
    "FNetTokenizer FSMTTokenizer FunnelTokenizer GPTNeoXJapaneseTokenizer GPTSw3Tokenizer "
    "LayoutLMv2Tokenizer LayoutLMv3Tokenizer LayoutXLMTokenizer LukeTokenizer M2M100Tokenizer "
    "MarianTokenizer MarkupLMTokenizer MBart50Tokenizer MBartTokenizer MgpstrTokenizer "
    "MLukeTokenizer MvpTokenizer MyT5Tokenizer OpenAIGPTTokenizer PegasusTokenizer "
    "PerceiverTokenizer PhobertTokenizer PLBartTokenizer ProphetNetTokenizer RagTokenizer "
    "ReformerTokenizer RemBertTokenizer RoCBertTokenizer RoFormerTokenizer Siglip2Tokenizer "
    "SiglipTokenizer SpeechT5Tokenizer SplinterTokenizer TapasTokenizer Tipsv2Tokenizer "
    "UdopTokenizer VideoPrismTokenizer VitsTokenizer WhisperTokenizer XGLMTokenizer XLMTokenizer "
    "XLNetTokenizer";

struct ForeignClass {
  std::string_view name, types;  // between blanks
};

constexpr ForeignClass kForeignClasses[] = {
    {"CLIPTokenizer",
     "aimv2 clip clipseg groupvit omdetturbo oneformer owlv2 owlvit sam3 sam3video xclip"},
    {"CohereTokenizer", "ayavision cohere cohere2"},
    {"DPRQuestionEncoderTokenizer", "dpr"},
    {"EsmcTokenizer", "esmc esmfold2"},
    {"GemmaTokenizer",
     "diffusiongemma gemma gemma2 gemma3 gemma3n gemma3ntext gemma3text recurrentgemma "
     "shieldgemma2 t5gemma zaya"},
    {"GPTNeoXTokenizer", "falconmamba gptneox mamba mamba2 mpt olmo olmoe rwkv xlstm"},
    {"LasrTokenizer", "lasrctc lasrencoder"},
    {"LlamaTokenizer", "idefics idefics2"},
    {"NllbTokenizer", "nllb nllbmoe"},
    {"NougatTokenizer", "nougat ppformulanet"},
    {"ParakeetTokenizer",
     "granitespeech5ctc nemotron35asr nemotronasrstreaming omniasrctc parakeetctc parakeetrnnt "
     "parakeettdt"},
    {"Qwen2Tokenizer",
     "audioflamingo3 colqwen2 cosmos3omni dots3note funasrnano hunyuanvl internvl "
     "mosstranscribediarize ovis2 qianfanocr qwen2 qwen25omni qwen25vl qwen2audio qwen2moe "
     "qwen2vl qwen3 qwen3asr qwen3moe qwen3next qwen3omnimoe qwen3vl qwen3vlmoe"},
    {"Qwen2TokenizerFast", "lightonocr vibevoice"},
    {"Qwen3_5Tokenizer", "qwen35 qwen35moe qwen35moetext qwen35text qwen4exp"},
    {"SeamlessM4TTokenizer", "seamlessm4t seamlessm4tv2"},
    {"Speech2TextTokenizer", "speechtotext"},
    {"Wav2Vec2CTCTokenizer",
     "data2vecaudio hubert unispeech unispeechsat wav2vec2 wav2vec2bert wav2vec2conformer"},
    {"Wav2Vec2PhonemeCTCTokenizer", "wav2vec2phoneme"},
};

struct KindNames {
  TokenizerKind kind;
  std::string_view names;  // between blanks: each a model_type in config.json, or a class
  bool rebuilds = true;
};

// The kinds whose classes of transformers 5 give token_type_ids. Others, such as AlbertTokenizer,
// have a template with types and leave them out.
bool gives_types(TokenizerKind kind) {
  return kind == TokenizerKind::kBert || kind == TokenizerKind::kDeberta ||
         kind == TokenizerKind::kDebertaV2;
}

// The classes of transformers 5, without Fast. It has no MT5Tokenizer, and reads all of
// tokenizer.json then. The first class of a kind is shown where no file names one.
constexpr KindNames kClasses[] = {
    {TokenizerKind::kAlbert, "AlbertTokenizer"},
    {TokenizerKind::kRoberta, "RobertaTokenizer BartTokenizer LEDTokenizer LongformerTokenizer"},
    {TokenizerKind::kBert,
     "BertTokenizer DistilBertTokenizer ElectraTokenizer LayoutLMTokenizer LxmertTokenizer "
     "MobileBertTokenizer SqueezeBertTokenizer"},
    {TokenizerKind::kCamembert, "CamembertTokenizer"},
    {TokenizerKind::kBert, "ConvBertTokenizer", false},
    {TokenizerKind::kDeberta, "DebertaTokenizer"},
    {TokenizerKind::kDebertaV2, "DebertaV2Tokenizer"},
    {TokenizerKind::kGpt2, "GPT2Tokenizer"},
    {TokenizerKind::kHerbert, "HerbertTokenizer"},
    {TokenizerKind::kMpnet, "MPNetTokenizer"},
    {TokenizerKind::kUnknown, "MT5Tokenizer PreTrainedTokenizer TokenizersBackend", false},
    {TokenizerKind::kT5, "T5Tokenizer"},
    {TokenizerKind::kXlmRoberta, "XLMRobertaTokenizer"},
};

constexpr KindNames kModels[] = {
    {TokenizerKind::kAlbert, "albert"},
    {TokenizerKind::kBert, "bert distilbert electra mobilebert nomicbert"},
    {TokenizerKind::kCamembert, "camembert"},
    {TokenizerKind::kDeberta, "deberta"},
    {TokenizerKind::kDebertaV2, "debertav2"},
    {TokenizerKind::kRoberta, "longformer roberta"},
    {TokenizerKind::kMpnet, "mpnet"},
    {TokenizerKind::kT5, "mt5 t5"},
    {TokenizerKind::kXlmRoberta, "xlmroberta"},
    {TokenizerKind::kXlmRoberta, "xlmrobertaxl", false},
};

// What transformers 5 has for other models that no file names a class for.
constexpr KindNames kTypes[] = {
    {TokenizerKind::kBert,
     "align bark blip bros chineseclip convbert ernie flava git groundingdino layoutlm lxmert "
     "megatronbert mmgroundingdino squeezebert tvp vilt visualbert"},
    {TokenizerKind::kRoberta,
     "bart bridgetower clap data2vectext florence2 ibert led lilt mra robertaprelayernorm"},
    {TokenizerKind::kGpt2,
     "blip2 codegen dbrx emu3 gpt2 gptj gptneo hyperclovaxvisionv2 instructblip "
     "instructblipvideo jais2 opt phi starcoder2"},
    {TokenizerKind::kXlmRoberta, "gte jinaembeddingsv3 metaclip2 trocr xmod"},
    {TokenizerKind::kHerbert, "herbert"},
    {TokenizerKind::kUnknown,
     "mega modernbert modernbertdecoder nezha nystromformer qdqbert realm retribert", false},
    {TokenizerKind::kT5, "musicgen musicgenmelody switchtransformers"},
    {TokenizerKind::kAlbert, "yoso"},
};

// For these models transformers 5 does not believe the class that a file names.
constexpr std::string_view kWithoutClass =
    "modernbert modernbertdecoder nystromformer xlmrobertaxl";

// "xlm-roberta" becomes "xlmroberta", and so does "XLMRobertaTokenizerFast".
std::string plain_name(std::string name) {
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  name = lower_ascii(name);
  for (const std::string_view ending : {"fast", "tokenizer"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

// The tokenizer class that transformers 5 has for a model_type and berth has not, or "". The type
// is a plain_name(). Two classes may read one tokenizer.json differently.
std::string_view foreign_class(std::string_view type) {
  for (const std::string_view name : words_in(kOwnClasses)) {
    if (plain_name(std::string(name)) == type) return name;
  }
  const auto* const found = std::ranges::find_if(
      kForeignClasses, [&](const ForeignClass& row) { return is_one_of(row.types, type); });
  return found == std::end(kForeignClasses) ? std::string_view() : found->name;
}

const KindNames* named(std::string_view name, std::span<const KindNames> rows) {
  const auto found =
      std::ranges::find_if(rows, [&](const KindNames& row) { return is_one_of(row.names, name); });
  return found == rows.end() ? nullptr : &*found;
}

std::string text_in(const FileLookup& file, const char* file_name, const char* key) {
  std::string text;
  read_if_present(file(file_name), file_name, [&](const std::string& content) {
    text = string_member(parse_object(content), key).value_or("");
  });
  return text;
}

std::string model_type(const FileLookup& file) {
  return plain_name(text_in(file, "config.json", "model_type"));
}

// Throws if the model_type stands for a class that berth does not have, or for no class at all.
void refuse_type(const FileLookup& file, const std::string& type) {
  const bool has_json = file("tokenizer.json").has_value();
  const std::string shown = quoted(text_in(file, "config.json", "model_type"));
  const char* hint =
      has_json ? "if tokenizer.json says all of it, name the class PreTrainedTokenizerFast in "
                 "tokenizer_config.json (tokenizer_class)"
               : "name the class in tokenizer_config.json (tokenizer_class), such as BertTokenizer";
  const std::string_view foreign = foreign_class(type);
  if (!foreign.empty()) {
    throw Error(Code::kBadData,
                cat("no file names the class of the tokenizer; for the model_type ", shown,
                    " it is ", foreign, ", which berth does not know"),
                "config.json", hint);
  }
  if (has_json) return;
  throw Error(Code::kBadData,
              cat("no file names the class of the tokenizer, and berth does not know the "
                  "model_type ",
                  shown),
              "config.json", hint);
}

}  // namespace

TokenizerClass tokenizer_class(const FileLookup& file) {
  TokenizerClass found;
  found.name = named_class(file);
  found.of_model =
      !found.name.empty() && text_in(file, "tokenizer_config.json", "tokenizer_class").empty();
  const std::string type = found.type = model_type(file);
  const bool has_class = !is_one_of(kWithoutClass, type);
  const KindNames* of_model = named(type, kModels);
  if (of_model == nullptr) of_model = named(type, kTypes);
  const KindNames* row = of_model;
  if (!found.name.empty()) {
    std::string_view name = found.name;
    if (name.ends_with("Fast")) name.remove_suffix(4);
    row = named(name, kClasses);
    if (row == nullptr && (has_class || !file("tokenizer.json"))) {
      throw Error(Code::kBadData,
                  cat("the tokenizer's class is ", found.name, ", which berth does not know"),
                  found.of_model ? "config.json" : "tokenizer_config.json",
                  "if tokenizer.json says all of it, name the class PreTrainedTokenizerFast there");
    }
  } else if (row == nullptr && !type.empty()) {
    refuse_type(file, type);
  }
  if (row != nullptr) {
    found.kind = row->kind;
    found.rebuilds = row->rebuilds;
    if (has_class) found.gives_types = gives_types(row->kind);
  }
  found.makes_template = found.kind == TokenizerKind::kBert && !found.rebuilds;
  if (!has_class) found.rebuilds = found.makes_template = false;
  // Such a class has tokenizer.json. Without such a template, only the model's kind decides.
  if (found.kind == TokenizerKind::kUnknown && of_model != nullptr) found.kind = of_model->kind;
  return found;
}

std::string shown_class(const TokenizerClass& of) {
  if (!of.name.empty()) return of.name;
  if (of.kind == TokenizerKind::kUnknown) return "tokenizer of no known class";
  return std::string(words_in(std::ranges::find(kClasses, of.kind, &KindNames::kind)->names)[0]);
}

std::string named_class(const FileLookup& file) {
  const std::string name = text_in(file, "tokenizer_config.json", "tokenizer_class");
  return name.empty() ? text_in(file, "config.json", "tokenizer_class") : name;
}

bool is_distilbert(const FileLookup& file) {
  return plain_name(named_class(file)) == "distilbert" || model_type(file) == "distilbert";
}

namespace {

constexpr std::string_view kReadKeys =
    "add_prefix_space added_tokens_decoder additional_special_tokens bos_token cls_token "
    "do_lower_case eos_token extra_ids extra_special_tokens keep_accents mask_token max_len "
    "model_input_names model_max_length pad_token sep_token split_by_punct strip_accents "
    "tokenize_chinese_chars tokenizer_class trim_offsets truncation_side unk_id unk_token";

// Sequences are not padded, so the keys of padding change nothing. The ids of special tokens come
// from the vocabulary.
constexpr std::string_view kHarmlessKeys =
    "_commit_hash add_bos_token add_eos_token add_special_tokens auto_map backend bos_token_id "
    "chat_control_tokens chat_template clean_up_tokenization_spaces "
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output cls_token_id "
    "decode_with_prefix_space device eos_token_id errors files_loaded from_slow "
    "full_tokenizer_file init_inputs is_fast is_local jumanpp_kwargs legacy local_files_only "
    "lstrip mask_token_id max_length max_seq_length mecab_kwargs merges_file name_or_path "
    "pad_to_multiple_of pad_token_id pad_token_type_id padding padding_side processor_class "
    "response_schema response_template return_token_type_ids sentencepiece_model_file "
    "sep_token_id special_tokens_map_file stride sudachi_kwargs tokenizer_file "
    "transformers_version truncation truncation_strategy trust_remote_code unk_token_id use_fast "
    "verbose vocab_file";

constexpr KnownKey kFixedKeys[] = {
    {"audio_token", KeyUse::kFixed, R"([])"},
    {"clean_text", KeyUse::kFixed, R"([true])"},
    {"do_basic_tokenize", KeyUse::kFixed, R"([true])"},
    {"do_word_tokenize", KeyUse::kFixed, R"([true])"},
    {"extra_ids_token", KeyUse::kFixed, R"([])"},
    {"fix_mistral_regex", KeyUse::kFixed, R"([false])"},
    {"image_token", KeyUse::kFixed, R"([])"},
    {"model_specific_special_tokens", KeyUse::kFixed, R"([{}])"},
    {"never_split", KeyUse::kFixed, R"([[]])"},
    {"normalization", KeyUse::kFixed, R"([false])"},
    {"remove_space", KeyUse::kFixed, R"([true])"},
    {"sp_model_kwargs", KeyUse::kFixed, R"([{}])"},
    {"split_special_tokens", KeyUse::kFixed, R"([false])"},
    {"subword_tokenizer_type", KeyUse::kFixed, R"(["wordpiece"])"},
    {"vocab_type", KeyUse::kFixed, R"(["gpt2", "spm"])"},
    {"word_piece_prefix", KeyUse::kFixed, R"(["##"])"},
    {"word_tokenizer_type", KeyUse::kFixed, R"(["basic"])"},
    {"wordpieces_prefix", KeyUse::kFixed, R"(["##"])"},
};

}  // namespace

std::span<const KnownKey> tokenizer_keys() {
  static const std::vector<KnownKey> keys = known_keys(kReadKeys, kHarmlessKeys, kFixedKeys);
  return keys;
}

}  // namespace berth
