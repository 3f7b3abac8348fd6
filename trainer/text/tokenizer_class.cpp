#include "trainer/text/tokenizer_class.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"

namespace berth {
namespace {

struct ForeignClass {
  std::string_view type, name;
};

constexpr ForeignClass kForeignClasses[] = {
    {"aimv2", "CLIPTokenizer"},
    {"audioflamingo3", "Qwen2Tokenizer"},
    {"ayavision", "CohereTokenizer"},
    {"barthez", "BarthezTokenizer"},
    {"bartpho", "BartphoTokenizer"},
    {"bertgeneration", "BertGenerationTokenizer"},
    {"bertjapanese", "BertJapaneseTokenizer"},
    {"bertweet", "BertweetTokenizer"},
    {"bigbird", "BigBirdTokenizer"},
    {"biogpt", "BioGptTokenizer"},
    {"blenderbot", "BlenderbotTokenizer"},
    {"blenderbotsmall", "BlenderbotSmallTokenizer"},
    {"byt5", "ByT5Tokenizer"},
    {"canine", "CanineTokenizer"},
    {"clip", "CLIPTokenizer"},
    {"clipseg", "CLIPTokenizer"},
    {"clvp", "ClvpTokenizer"},
    {"codellama", "CodeLlamaTokenizer"},
    {"cohere", "CohereTokenizer"},
    {"cohere2", "CohereTokenizer"},
    {"colqwen2", "Qwen2Tokenizer"},
    {"cosmos3omni", "Qwen2Tokenizer"},
    {"cpm", "CpmTokenizer"},
    {"cpmant", "CpmAntTokenizer"},
    {"ctrl", "CTRLTokenizer"},
    {"data2vecaudio", "Wav2Vec2CTCTokenizer"},
    {"dia", "DiaTokenizer"},
    {"diffusiongemma", "GemmaTokenizer"},
    {"dots3note", "Qwen2Tokenizer"},
    {"dpr", "DPRQuestionEncoderTokenizer"},
    {"esm", "EsmTokenizer"},
    {"esmc", "EsmcTokenizer"},
    {"esmfold2", "EsmcTokenizer"},
    {"falconmamba", "GPTNeoXTokenizer"},
    {"flaubert", "FlaubertTokenizer"},
    {"fnet", "FNetTokenizer"},
    {"fsmt", "FSMTTokenizer"},
    {"funasrnano", "Qwen2Tokenizer"},
    {"funnel", "FunnelTokenizer"},
    {"gemma", "GemmaTokenizer"},
    {"gemma2", "GemmaTokenizer"},
    {"gemma3", "GemmaTokenizer"},
    {"gemma3n", "GemmaTokenizer"},
    {"gemma3ntext", "GemmaTokenizer"},
    {"gemma3text", "GemmaTokenizer"},
    {"gptneox", "GPTNeoXTokenizer"},
    {"gptneoxjapanese", "GPTNeoXJapaneseTokenizer"},
    {"gptsw3", "GPTSw3Tokenizer"},
    {"granitespeech5ctc", "ParakeetTokenizer"},
    {"groupvit", "CLIPTokenizer"},
    {"hubert", "Wav2Vec2CTCTokenizer"},
    {"hunyuanvl", "Qwen2Tokenizer"},
    {"idefics", "LlamaTokenizer"},
    {"idefics2", "LlamaTokenizer"},
    {"internvl", "Qwen2Tokenizer"},
    {"lasrctc", "LasrTokenizer"},
    {"lasrencoder", "LasrTokenizer"},
    {"layoutlmv2", "LayoutLMv2Tokenizer"},
    {"layoutlmv3", "LayoutLMv3Tokenizer"},
    {"layoutxlm", "LayoutXLMTokenizer"},
    {"lightonocr", "Qwen2TokenizerFast"},
    {"luke", "LukeTokenizer"},
    {"m2m100", "M2M100Tokenizer"},
    {"mamba", "GPTNeoXTokenizer"},
    {"mamba2", "GPTNeoXTokenizer"},
    {"marian", "MarianTokenizer"},
    {"markuplm", "MarkupLMTokenizer"},
    {"mbart", "MBartTokenizer"},
    {"mbart50", "MBart50Tokenizer"},
    {"mgpstr", "MgpstrTokenizer"},
    {"mluke", "MLukeTokenizer"},
    {"mosstranscribediarize", "Qwen2Tokenizer"},
    {"mpt", "GPTNeoXTokenizer"},
    {"mvp", "MvpTokenizer"},
    {"myt5", "MyT5Tokenizer"},
    {"nemotron35asr", "ParakeetTokenizer"},
    {"nemotronasrstreaming", "ParakeetTokenizer"},
    {"nllb", "NllbTokenizer"},
    {"nllbmoe", "NllbTokenizer"},
    {"nougat", "NougatTokenizer"},
    {"olmo", "GPTNeoXTokenizer"},
    {"olmoe", "GPTNeoXTokenizer"},
    {"omdetturbo", "CLIPTokenizer"},
    {"omniasrctc", "ParakeetTokenizer"},
    {"oneformer", "CLIPTokenizer"},
    {"openaigpt", "OpenAIGPTTokenizer"},
    {"ovis2", "Qwen2Tokenizer"},
    {"owlv2", "CLIPTokenizer"},
    {"owlvit", "CLIPTokenizer"},
    {"parakeetctc", "ParakeetTokenizer"},
    {"parakeetrnnt", "ParakeetTokenizer"},
    {"parakeettdt", "ParakeetTokenizer"},
    {"pegasus", "PegasusTokenizer"},
    {"perceiver", "PerceiverTokenizer"},
    {"phobert", "PhobertTokenizer"},
    {"plbart", "PLBartTokenizer"},
    {"ppformulanet", "NougatTokenizer"},
    {"prophetnet", "ProphetNetTokenizer"},
    {"qianfanocr", "Qwen2Tokenizer"},
    {"qwen2", "Qwen2Tokenizer"},
    {"qwen25omni", "Qwen2Tokenizer"},
    {"qwen25vl", "Qwen2Tokenizer"},
    {"qwen2audio", "Qwen2Tokenizer"},
    {"qwen2moe", "Qwen2Tokenizer"},
    {"qwen2vl", "Qwen2Tokenizer"},
    {"qwen3", "Qwen2Tokenizer"},
    {"qwen35", "Qwen3_5Tokenizer"},
    {"qwen35moe", "Qwen3_5Tokenizer"},
    {"qwen35moetext", "Qwen3_5Tokenizer"},
    {"qwen35text", "Qwen3_5Tokenizer"},
    {"qwen3asr", "Qwen2Tokenizer"},
    {"qwen3moe", "Qwen2Tokenizer"},
    {"qwen3next", "Qwen2Tokenizer"},
    {"qwen3omnimoe", "Qwen2Tokenizer"},
    {"qwen3vl", "Qwen2Tokenizer"},
    {"qwen3vlmoe", "Qwen2Tokenizer"},
    {"qwen4exp", "Qwen3_5Tokenizer"},
    {"rag", "RagTokenizer"},
    {"recurrentgemma", "GemmaTokenizer"},
    {"reformer", "ReformerTokenizer"},
    {"rembert", "RemBertTokenizer"},
    {"rocbert", "RoCBertTokenizer"},
    {"roformer", "RoFormerTokenizer"},
    {"rwkv", "GPTNeoXTokenizer"},
    {"sam3", "CLIPTokenizer"},
    {"sam3video", "CLIPTokenizer"},
    {"seamlessm4t", "SeamlessM4TTokenizer"},
    {"seamlessm4tv2", "SeamlessM4TTokenizer"},
    {"shieldgemma2", "GemmaTokenizer"},
    {"siglip", "SiglipTokenizer"},
    {"siglip2", "Siglip2Tokenizer"},
    {"speecht5", "SpeechT5Tokenizer"},
    {"speechtotext", "Speech2TextTokenizer"},
    {"splinter", "SplinterTokenizer"},
    {"t5gemma", "GemmaTokenizer"},
    {"tapas", "TapasTokenizer"},
    {"tipsv2", "Tipsv2Tokenizer"},
    {"udop", "UdopTokenizer"},
    {"unispeech", "Wav2Vec2CTCTokenizer"},
    {"unispeechsat", "Wav2Vec2CTCTokenizer"},
    {"vibevoice", "Qwen2TokenizerFast"},
    {"videoprism", "VideoPrismTokenizer"},
    {"vits", "VitsTokenizer"},
    {"wav2vec2", "Wav2Vec2CTCTokenizer"},
    {"wav2vec2bert", "Wav2Vec2CTCTokenizer"},
    {"wav2vec2conformer", "Wav2Vec2CTCTokenizer"},
    {"wav2vec2phoneme", "Wav2Vec2PhonemeCTCTokenizer"},
    {"whisper", "WhisperTokenizer"},
    {"xclip", "CLIPTokenizer"},
    {"xglm", "XGLMTokenizer"},
    {"xlm", "XLMTokenizer"},
    {"xlnet", "XLNetTokenizer"},
    {"xlstm", "GPTNeoXTokenizer"},
    {"zaya", "GemmaTokenizer"},
};

// The tokenizer class that transformers 5 has for a model_type and berth has not, or "". The type
// is in lower case, without "-" and "_". Two classes may read one tokenizer.json differently.
std::string_view foreign_class(std::string_view model_type) {
  const auto* const found = std::ranges::find(kForeignClasses, model_type, &ForeignClass::type);
  return found == std::end(kForeignClasses) ? std::string_view() : found->name;
}

struct KindName {
  std::string_view name;  // model_type in config.json, or a class
  TokenizerKind kind;
  bool rebuilds = true;
};

// The classes of transformers 5, without Fast. It has no MT5Tokenizer, and reads all of
// tokenizer.json then.
constexpr KindName kClasses[] = {
    {"AlbertTokenizer", TokenizerKind::kAlbert},
    {"BartTokenizer", TokenizerKind::kRoberta},
    {"BertTokenizer", TokenizerKind::kBert},
    {"CamembertTokenizer", TokenizerKind::kCamembert},
    {"ConvBertTokenizer", TokenizerKind::kBert, false},
    {"DebertaTokenizer", TokenizerKind::kDeberta},
    {"DebertaV2Tokenizer", TokenizerKind::kDebertaV2},
    {"DistilBertTokenizer", TokenizerKind::kBert},
    {"ElectraTokenizer", TokenizerKind::kBert},
    {"GPT2Tokenizer", TokenizerKind::kGpt2},
    {"HerbertTokenizer", TokenizerKind::kHerbert},
    {"LEDTokenizer", TokenizerKind::kRoberta},
    {"LayoutLMTokenizer", TokenizerKind::kBert},
    {"LongformerTokenizer", TokenizerKind::kRoberta},
    {"LxmertTokenizer", TokenizerKind::kBert},
    {"MPNetTokenizer", TokenizerKind::kMpnet},
    {"MT5Tokenizer", TokenizerKind::kUnknown, false},
    {"MobileBertTokenizer", TokenizerKind::kBert},
    {"PreTrainedTokenizer", TokenizerKind::kUnknown, false},
    {"RobertaTokenizer", TokenizerKind::kRoberta},
    {"SqueezeBertTokenizer", TokenizerKind::kBert},
    {"T5Tokenizer", TokenizerKind::kT5},
    {"XLMRobertaTokenizer", TokenizerKind::kXlmRoberta},
    {"TokenizersBackend", TokenizerKind::kUnknown, false},
};

constexpr KindName kModels[] = {
    {"albert", TokenizerKind::kAlbert},
    {"bert", TokenizerKind::kBert},
    {"camembert", TokenizerKind::kCamembert},
    {"deberta", TokenizerKind::kDeberta},
    {"debertav2", TokenizerKind::kDebertaV2},
    {"distilbert", TokenizerKind::kBert},
    {"electra", TokenizerKind::kBert},
    {"longformer", TokenizerKind::kRoberta},
    {"mobilebert", TokenizerKind::kBert},
    {"mpnet", TokenizerKind::kMpnet},
    {"mt5", TokenizerKind::kT5},
    {"nomicbert", TokenizerKind::kBert},
    {"roberta", TokenizerKind::kRoberta},
    {"t5", TokenizerKind::kT5},
    {"xlmroberta", TokenizerKind::kXlmRoberta},
    {"xlmrobertaxl", TokenizerKind::kXlmRoberta, false},
};

// What transformers 5 has for other models that no file names a class for.
constexpr KindName kTypes[] = {
    {"align", TokenizerKind::kBert},
    {"bark", TokenizerKind::kBert},
    {"bart", TokenizerKind::kRoberta},
    {"blip", TokenizerKind::kBert},
    {"blip2", TokenizerKind::kGpt2},
    {"bridgetower", TokenizerKind::kRoberta},
    {"bros", TokenizerKind::kBert},
    {"chineseclip", TokenizerKind::kBert},
    {"clap", TokenizerKind::kRoberta},
    {"codegen", TokenizerKind::kGpt2},
    {"convbert", TokenizerKind::kBert},
    {"data2vectext", TokenizerKind::kRoberta},
    {"dbrx", TokenizerKind::kGpt2},
    {"emu3", TokenizerKind::kGpt2},
    {"ernie", TokenizerKind::kBert},
    {"flava", TokenizerKind::kBert},
    {"florence2", TokenizerKind::kRoberta},
    {"git", TokenizerKind::kBert},
    {"gpt2", TokenizerKind::kGpt2},
    {"gptj", TokenizerKind::kGpt2},
    {"gptneo", TokenizerKind::kGpt2},
    {"groundingdino", TokenizerKind::kBert},
    {"gte", TokenizerKind::kXlmRoberta},
    {"herbert", TokenizerKind::kHerbert},
    {"hyperclovaxvisionv2", TokenizerKind::kGpt2},
    {"ibert", TokenizerKind::kRoberta},
    {"instructblip", TokenizerKind::kGpt2},
    {"instructblipvideo", TokenizerKind::kGpt2},
    {"jais2", TokenizerKind::kGpt2},
    {"jinaembeddingsv3", TokenizerKind::kXlmRoberta},
    {"layoutlm", TokenizerKind::kBert},
    {"led", TokenizerKind::kRoberta},
    {"lilt", TokenizerKind::kRoberta},
    {"lxmert", TokenizerKind::kBert},
    {"mega", TokenizerKind::kUnknown, false},
    {"megatronbert", TokenizerKind::kBert},
    {"metaclip2", TokenizerKind::kXlmRoberta},
    {"mmgroundingdino", TokenizerKind::kBert},
    {"modernbert", TokenizerKind::kUnknown, false},
    {"modernbertdecoder", TokenizerKind::kUnknown, false},
    {"mra", TokenizerKind::kRoberta},
    {"musicgen", TokenizerKind::kT5},
    {"musicgenmelody", TokenizerKind::kT5},
    {"nezha", TokenizerKind::kUnknown, false},
    {"nystromformer", TokenizerKind::kUnknown, false},
    {"opt", TokenizerKind::kGpt2},
    {"phi", TokenizerKind::kGpt2},
    {"qdqbert", TokenizerKind::kUnknown, false},
    {"realm", TokenizerKind::kUnknown, false},
    {"retribert", TokenizerKind::kUnknown, false},
    {"robertaprelayernorm", TokenizerKind::kRoberta},
    {"squeezebert", TokenizerKind::kBert},
    {"starcoder2", TokenizerKind::kGpt2},
    {"switchtransformers", TokenizerKind::kT5},
    {"trocr", TokenizerKind::kXlmRoberta},
    {"tvp", TokenizerKind::kBert},
    {"vilt", TokenizerKind::kBert},
    {"visualbert", TokenizerKind::kBert},
    {"xmod", TokenizerKind::kXlmRoberta},
    {"yoso", TokenizerKind::kAlbert},
};

// For these models transformers 5 does not believe the class that a file names.
constexpr std::string_view kWithoutClass[] = {"modernbert", "modernbertdecoder", "nystromformer",
                                              "xlmrobertaxl"};

// "xlm-roberta" becomes "xlmroberta", and so does "XLMRobertaTokenizerFast".
std::string plain_name(std::string name) {
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  name = lower_ascii(name);
  for (const std::string_view ending : {"fast", "tokenizer"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

const KindName* named(std::string_view name, std::span<const KindName> rows) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const KindName& row) { return row.name == name; });
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
  found.name = text_in(file, "tokenizer_config.json", "tokenizer_class");
  if (found.name.empty()) {
    found.name = text_in(file, "config.json", "tokenizer_class");
    found.of_model = !found.name.empty();
  }
  const std::string type = model_type(file);
  found.has_type = !type.empty();
  const KindName* of_model = named(type, kModels);
  if (of_model == nullptr) of_model = named(type, kTypes);
  const KindName* row = of_model;
  if (!found.name.empty()) {
    std::string_view name = found.name;
    if (name.ends_with("Fast")) name.remove_suffix(4);
    row = named(name, kClasses);
    if (row == nullptr) {
      throw Error(Code::kBadData,
                  cat("the tokenizer is a ", found.name, ", a class that berth does not know"),
                  found.of_model ? "config.json" : "tokenizer_config.json",
                  "if tokenizer.json says all of it, name the class PreTrainedTokenizerFast there");
    }
  } else if (row == nullptr && !type.empty()) {
    refuse_type(file, type);
  }
  if (row != nullptr) found.kind = row->kind, found.rebuilds = row->rebuilds;
  found.makes_template = found.kind == TokenizerKind::kBert && !found.rebuilds;
  if (std::find(std::begin(kWithoutClass), std::end(kWithoutClass), type) !=
      std::end(kWithoutClass)) {
    found.rebuilds = found.makes_template = false;
  }
  // Such a class has tokenizer.json. Without such a template, only the model's kind decides.
  if (found.kind == TokenizerKind::kUnknown && of_model != nullptr) found.kind = of_model->kind;
  return found;
}

std::string shown_class(const TokenizerClass& of) {
  if (!of.name.empty()) return of.name;
  switch (of.kind) {
    case TokenizerKind::kUnknown:
      return "tokenizer of no known class";
    case TokenizerKind::kBert:
      return "BertTokenizer";
    case TokenizerKind::kMpnet:
      return "MPNetTokenizer";
    case TokenizerKind::kRoberta:
      return "RobertaTokenizer";
    case TokenizerKind::kGpt2:
      return "GPT2Tokenizer";
    case TokenizerKind::kDeberta:
      return "DebertaTokenizer";
    case TokenizerKind::kHerbert:
      return "HerbertTokenizer";
    case TokenizerKind::kXlmRoberta:
      return "XLMRobertaTokenizer";
    case TokenizerKind::kCamembert:
      return "CamembertTokenizer";
    case TokenizerKind::kAlbert:
      return "AlbertTokenizer";
    case TokenizerKind::kDebertaV2:
      return "DebertaV2Tokenizer";
    case TokenizerKind::kT5:
      return "T5Tokenizer";
  }
  return "";
}

bool is_distilbert(const FileLookup& file) {
  return plain_name(text_in(file, "tokenizer_config.json", "tokenizer_class")) == "distilbert" ||
         model_type(file) == "distilbert";
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
