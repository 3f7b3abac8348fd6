#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "entrypoint/explain/program_names.h"
#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Tokens = std::span<const PythonToken>;

struct RowCall {
  std::string_view name, text;
  bool is_method = true;
};

constexpr std::string_view kWriteRows =
    "; write the rows into a file and name it with "
    "--train-data-file";
constexpr std::string_view kUnmasked =
    "leaves out attention_mask, so that the model reads the tokens that fill a text; keep it among "
    "the columns";
constexpr std::string_view kUntyped =
    "leaves out token_type_ids, by which the model tells two texts apart; keep it among the "
    "columns";
constexpr std::string_view kPartOfRows =
    "takes a part of the rows; write them into a file and name it";

// Calls that change the rows in ways that only the program knows.
constexpr RowCall kRowCalls[] = {
    {"select", kPartOfRows},
    {"filter", "leaves rows out; write the others into a file and name it"},
    {"train_test_split",
     "divides the rows by chance; --validation-split divides them in berth, "
     "but not into the same halves"},
    {"shard", kPartOfRows},
    {"Subset", kPartOfRows, false},
    {"random_split",
     "divides the rows by chance; --validation-split divides them in berth, "
     "but not into the same halves",
     false},
    {"take", kPartOfRows},
    {"skip", kPartOfRows},
    {"align_labels_with_mapping",
     "gives the labels other numbers; --label-names names the labels in their order"},
    {"concatenate_datasets", "joins data sets; write the rows into a file and name it", false},
    {"interleave_datasets", "joins data sets; write the rows into a file and name it", false},
    {"sample_dataset", kPartOfRows, false},
    {"mine_hard_negatives",
     "adds texts to the rows, as --mode mine does; name the rows with --train-data-file", false},
    {"TextDataset",
     "joins the lines of a file into blocks without the tokens for the ends of texts, which berth "
     "puts around each line",
     false},
    {"set_transform", "makes the rows anew in each epoch; berth tokenizes them as they are"},
    {"with_transform", "makes the rows anew in each epoch; berth tokenizes them as they are"},
    {"add_tokens", "changes the vocabulary; save the tokenizer and the model, and name its folder"},
    {"add_special_tokens",
     "changes the vocabulary; save the tokenizer and the model, and name its folder"},
    {"train_new_from_iterator",
     "makes another vocabulary; save the tokenizer with a config.json, and name its folder with "
     "--model and --init random"},
};

// How many rows map() gives a function at a time.
constexpr uint64_t kRowsOfMap = 1000;

// Columns of texts that hold the answers to questions.
constexpr std::string_view kContexts = "context contexts passage paragraph story document article";

// Makers of data sets in a program that also loads one.
constexpr std::string_view kMakers =
    "from_pandas from_dict from_list from_csv from_generator from_json";

// Arguments of a tokenizer's call that change no token.
constexpr std::string_view kPlainArguments =
    "text text_pair padding truncation max_length pad_to_max_length return_tensors "
    "return_attention_mask return_token_type_ids return_special_tokens_mask "
    "return_offsets_mapping return_length is_split_into_words is_pretokenized verbose "
    "pad_to_multiple_of batched padding_side return_overflowing_tokens";
// The same of from_pretrained() of a tokenizer.
constexpr std::string_view kPlainOptions =
    "max_len pretrained_model_name_or_path use_fast cache_dir token use_auth_token "
    "trust_remote_code revision local_files_only force_download model_max_length max_length "
    "padding truncation padding_side clean_up_tokenization_spaces add_prefix_space config";

bool is_tokenizer(std::string_view name) {
  const std::string last = lower_ascii(last_name(name));
  return last.find("token") != last.npos || last == "encode_plus" || last == "batch_encode_plus";
}

// Whether a function with these calls does nothing to a row but to tokenize it, and to give words
// or answers their tokens.
bool only_tokenizes(const std::vector<std::string>& calls) {
  constexpr std::string_view kHelpers =
      "append copy dict enumerate extend get index int items keys len list max min pop print "
      "range sequence_ids set tolist tuple values word_ids zip lstrip strip sum chain";
  if (calls.size() >= kMostInner) return false;
  return std::ranges::any_of(calls, is_tokenizer) &&
         std::ranges::all_of(calls, [&](const std::string& name) {
           return is_tokenizer(name) || is_one_of(kHelpers, last_name(name));
         });
}

// Whether a function with these calls may only join lists and cut them.
bool only_joins(const std::vector<std::string>& calls) {
  constexpr std::string_view kHelpers =
      "sum list len range keys items copy chain from_iterable concatenate";
  return std::ranges::all_of(
      calls, [&](const std::string& name) { return is_one_of(kHelpers, last_name(name)); });
}

class ProgramRowReader {
 public:
  ProgramRowReader(const ProgramRows& rows, Launch& launch)
      : rows_(rows), program_(rows.program), launch_(launch) {}

  void read() {
    for (const PythonCall& call : program_.calls) {
      const std::string_view name = last_name(call.name);
      const bool is_method = call.name.find('.') != std::string::npos;
      if (call.name.starts_with(kDefinition)) continue;
      for (const RowCall& row : kRowCalls) {
        if (name == row.name && (!row.is_method || is_method)) refuse(call, row.text);
      }
      if (is_method && name == "map") read_map(call);
      if (name == "rename_column") note_renamed(call);
      if (name == "rename_columns") note_all_renamed(call);
      if (!rows_.is_similarity && is_method) note_columns(call, name);
      if (rows_.is_similarity && (name == "select_columns" || name == "remove_columns")) {
        refuse(call,
               "chooses the columns of texts; add --text-column NAME and --text-pair-column NAME "
               "to the line");
      }
      if (is_method && is_one_of(kMakers, name)) {
        refuse(call, cat("makes rows in the program", kWriteRows));
      }
      const bool is_tokenizer = call.name.ends_with("Tokenizer.from_pretrained") ||
                                call.name.ends_with("TokenizerFast.from_pretrained");
      if (is_tokenizer && call.arguments.begin < end_of_code()) check_tokenizer(call);
    }
    for (const char* rows : {"train_dataset", "eval_dataset"}) check_slice(rows);
    name_columns();
    check_types();
    check_splits(program_, launch_);
  }

 private:
  // "train_dataset=rows["train"][:100]"
  void check_slice(std::string_view keyword) {
    const PythonSpan span = find_argument(program_, "Trainer", keyword);
    for (size_t i = span.begin; i + 1 < span.end; ++i) {
      const bool begins = program_.tokens[i].is_sign('[') && i + 2 < span.end;
      const bool is_slice =
          begins && (program_.tokens[i + 1].is_sign(':') || program_.tokens[i + 2].is_sign(':'));
      if (is_slice) launch_.refuse(keyword, kPartOfRows);
    }
  }

  void refuse(const PythonCall& call, std::string_view text) {
    launch_.refuse(cat(last_name(call.name), " (line ", call.line, ")"), text);
  }

  // Columns that the rows keep or lose after they are tokenized. The model fills in what it does
  // not get: a mask of ones, and one type for all tokens.
  void note_columns(const PythonCall& call, std::string_view name) {
    const bool keeps = name == "set_format" || name == "with_format" || name == "select_columns";
    if (!keeps && name != "remove_columns") return;
    const size_t place = name == "set_format" || name == "with_format" ? 1 : 0;
    const PythonValue* columns = call.find(place == 1 ? "columns" : "column_names");
    if (call.positional.size() > place) columns = &call.positional[place];
    if (columns == nullptr || columns->text == "None") return;
    std::vector<std::string> names = {columns->text};
    for (const PythonValue& item : columns->items) names.push_back(item.text);
    const bool is_list = columns->kind == PythonValue::Kind::kList;
    const bool is_known = columns->kind == PythonValue::Kind::kText ||
                          (is_list && std::ranges::all_of(columns->items, &PythonValue::is_known));
    if (keeps && !is_known && name != "select_columns") {
      return refuse(call, "keeps columns that the program computes; write their names out");
    }
    const bool is_earlier = is_known ? !is_one_of(names, "input_ids") : name == "select_columns";
    if (keeps && is_earlier) return;  // of columns that are not tokenized yet
    const auto lacks = [&](std::string_view column) {
      return keeps ? !is_one_of(names, column) : is_one_of(names, column);
    };
    if (lacks("attention_mask")) refuse(call, kUnmasked);
    if (lacks("token_type_ids")) untyped_ = &call;
  }

  // Two texts without the types that tell them apart. Some models have one type.
  void check_types() {
    constexpr std::string_view kOneType[] = {"roberta",   "distilbert", "mpnet",
                                             "camembert", "modernbert", "deberta"};
    const std::string model = lower_ascii(rows_.model);
    const bool has_pair = std::ranges::any_of(
        columns_, [](const std::vector<std::string>& columns) { return columns.size() > 1; });
    if (untyped_ == nullptr || !(has_pair || rows_.task == "question_answering")) return;
    if (std::ranges::any_of(kOneType, [&](auto kind) { return model.find(kind) != model.npos; })) {
      return;
    }
    refuse(*untyped_, kUntyped);
  }

  // Where the Trainer is made: what follows tries out the finished model.
  size_t end_of_code() const {
    size_t end = program_.tokens.size();
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name).ends_with("Trainer")) end = call.arguments.begin;
    }
    return end;
  }

  bool classifies() const {
    return rows_.task == "sequence_classification" || rows_.task == "regression" ||
           rows_.task == "multi_label";
  }

  // A call of dataset.map() whose function changes texts or labels, or is not in the program, is
  // refused. Other functions say which columns are tokenized, and how.
  void read_map(const PythonCall& call) {
    constexpr std::string_view kPlainOfMap =
        "function batched batch_size remove_columns num_proc load_from_cache_file desc "
        "keep_in_memory cache_file_name cache_file_names writer_batch_size new_fingerprint "
        "fn_kwargs features disable_nullable";
    for (const auto& [keyword, value] : call.keywords) {
      if (is_one_of(kPlainOfMap, keyword) || value.text == "False" || value.text == "None")
        continue;
      refuse(call, cat("has ", keyword, ", by which its function gets other rows"));
    }
    const PythonValue* function = call.find("function");
    if (!call.positional.empty()) function = &call.positional[0];
    const std::string name = function == nullptr ? std::string() : function->name;
    const auto body = program_.bodies.find(name);
    const bool joins = name.find("group") != name.npos || name.find("chunk") != name.npos;
    if (rows_.task == "masked_lm" && joins) return check_blocks(call, name);
    const bool is_plain = call.has_lambda
                              ? only_tokenizes(call.inner)
                              : body != program_.bodies.end() && only_tokenizes(body->second);
    if (!is_plain) {
      return refuse(call,
                    "does more than to tokenize the rows, or is not in the program; write its rows "
                    "into a file, and name the file with --train-data-file");
    }
    const PythonSpan span = call.has_lambda ? call.arguments : program_.spans.at(name);
    check_given(call, name);
    if (classifies() && computes(span)) {
      return refuse(call, cat("computes texts or labels, or chooses among them", kWriteRows));
    }
    if (classifies()) find_labels(span);
    check_returned(call, span);
    for (const PythonCall& inner : program_.calls) {
      const bool is_inside = inner.arguments.begin >= span.begin && inner.arguments.end <= span.end;
      if (is_inside && !inner.name.starts_with(kDefinition) && tokenizes(inner.name)) {
        read_tokenizer(inner, span);
      }
    }
  }

  // Rows that are filled up must keep their masks: return {"input_ids": ...} leaves them out.
  void check_returned(const PythonCall& map, PythonSpan span) {
    const std::vector<PythonToken>& tokens = program_.tokens;
    const bool fills_up = std::ranges::any_of(program_.calls, [&](const PythonCall& call) {
      const PythonValue* padding = call.find("padding");
      const bool is_inside = call.arguments.begin >= span.begin && call.arguments.end <= span.end;
      return is_inside && padding != nullptr && !is_one_of("False None do_not_pad", padding->text);
    });
    for (size_t i = span.begin; fills_up && i + 1 < span.end; ++i) {
      if (!tokens[i].is_name("return")) continue;
      bool has_ids = false, has_mask = false;
      for (const auto& [name, value] : find_entries(program_, {i + 1, span.end})) {
        has_ids = has_ids || name == "input_ids";
        has_mask = has_mask || name == "attention_mask";
      }
      if (has_ids && !has_mask) return refuse(map, kUnmasked);
    }
  }

  // What a function for rows stores as their labels, or as other columns: batch["labels"] =
  // rows["stars"], or {"labels": rows["stars"]}.
  void find_labels(PythonSpan span) {
    const std::vector<PythonToken>& tokens = program_.tokens;
    for (size_t i = span.begin; i + 3 < span.end; ++i) {
      const PythonToken& key = tokens[i];
      if (key.kind != PythonToken::Kind::kText) continue;
      const bool is_item =
          tokens[i + 1].is_sign(']') && tokens[i + 2].is_sign('=') && !tokens[i + 3].is_sign('=');
      const bool is_entry = tokens[i + 1].is_sign(':');
      if (!is_item && !is_entry) continue;
      const size_t begin = i + (is_item ? 3 : 2);
      const PythonSpan value{begin, end_of_value(begin, span.end)};
      if (key.text == "label" || key.text == "labels") {
        take_labels(value);
      } else if (is_item && i > 1 && tokens[i - 1].is_sign('[')) {
        changed_.insert(key.text);
      }
    }
  }

  size_t end_of_value(size_t at, size_t end) const {
    size_t depth = 0;
    for (; at < end; ++at) {
      const PythonToken& token = program_.tokens[at];
      if (token.kind == PythonToken::Kind::kLineEnd) break;
      if (opens(token)) ++depth;
      const bool is_end = closes(token);
      if (depth == 0 && (is_end || token.is_sign(','))) break;
      if (is_end) --depth;
    }
    return at;
  }

  void take_labels(PythonSpan value) {
    const std::optional<std::string> column =
        column_of(Tokens(program_.tokens).subspan(value.begin, value.end - value.begin));
    if (!column) {
      return launch_.refuse(cat("the labels (line ", program_.tokens[value.begin].line, ")"),
                            cat("are computed in the program", kWriteRows));
    }
    if (*column != "label" && *column != "labels") labels_.insert(*column);
  }

  // map(function, fn_kwargs={"max_length": 64}), where the function has another default.
  void check_given(const PythonCall& call, const std::string& name) {
    const PythonValue* given = call.find("fn_kwargs");
    const PythonCall* definition = find_last_call(program_, cat(kDefinition, name));
    if (given == nullptr || definition == nullptr) return;
    if (!given->is_known()) {
      const auto place = static_cast<size_t>(
          std::ranges::find(call.keywords, "fn_kwargs", [](const auto& row) { return row.first; }) -
          call.keywords.begin());
      const auto entries = find_entries(program_, call.spans[place]);
      const bool has_default = std::ranges::any_of(
          entries, [&](const auto& row) { return definition->find(row.first) != nullptr; });
      if (!has_default && (!entries.empty() || definition->keywords.empty())) return;
      refuse(call, "gives its function values that the program computes; write them into it");
    }
    for (size_t i = 0; i < given->keys.size(); ++i) {
      const PythonValue* usual = definition->find(given->keys[i]);
      const PythonValue& value = given->items[i];
      if (usual == nullptr || !value.is_known() || usual->text == value.text) continue;
      refuse(call, cat("gives ", given->keys[i],
                       " another value than its function says; write it into the function"));
    }
  }

  // A function that joins the tokens of rows, and cuts them into blocks of one length.
  void check_blocks(const PythonCall& call, const std::string& name) {
    const PythonValue *size = call.find("batch_size"), *batched = call.find("batched");
    const bool is_small = size != nullptr && parse_number(size->text).value_or(0) < kRowsOfMap;
    if (batched == nullptr || batched->text != "True" || is_small) {
      refuse(call, "joins few rows at a time, and leaves out what is less than a block of them");
    }
    const auto span = program_.spans.find(name);
    const bool is_plain = span != program_.spans.end() && only_joins(program_.bodies.at(name)) &&
                          sets_labels_alone(span->second) && cuts_blocks(span->second);
    if (is_plain) return;
    refuse(call,
           "cuts the texts in a way that berth does not read, or is not in the program; berth cuts "
           "them one behind the other: add --max-seq-length N to the line where this is the same");
  }

  // The labels of blocks are of no account: the collator sets them anew.
  bool sets_labels_alone(PythonSpan span) const {
    const std::vector<PythonToken>& tokens = program_.tokens;
    for (size_t i = span.begin; i + 3 < span.end; ++i) {
      const bool is_item = tokens[i].is_sign('[') && tokens[i + 2].is_sign(']') &&
                           tokens[i + 3].is_sign('=') && !tokens[i + 4].is_sign('=');
      if (is_item && tokens[i + 1].text != "labels") return false;
    }
    return true;
  }

  // Whether the function has "range(0, TOTAL, SIZE)" and all its parts are "[i : i + SIZE]". "//"
  // leaves out what is less than a block.
  bool cuts_blocks(PythonSpan span) const {
    const std::vector<PythonToken>& tokens = program_.tokens;
    std::string size;
    bool joins = false, cuts = false, drops_rest = false;
    for (size_t i = span.begin; i + 7 < span.end; ++i) {
      if (tokens[i].is_sign('/') && tokens[i + 1].is_sign('/')) drops_rest = true;
      if (tokens[i].is_name("sum") || tokens[i].is_name("chain") ||
          tokens[i].is_name("concatenate")) {
        joins = true;
      }
      const bool is_range = tokens[i].is_name("range") && tokens[i + 1].is_sign('(') &&
                            tokens[i + 2].text == "0" && tokens[i + 5].is_sign(',') &&
                            tokens[i + 7].is_sign(')');
      if (is_range) size = tokens[i + 6].text;
    }
    for (size_t i = span.begin; i + 6 < span.end; ++i) {
      if (!tokens[i].is_sign('[') || !has_slice(i, span.end)) continue;
      cuts = tokens[i + 2].is_sign(':') && tokens[i + 3].text == tokens[i + 1].text &&
             tokens[i + 4].is_sign('+') && tokens[i + 5].text == size && tokens[i + 6].is_sign(']');
      if (!cuts) return false;
    }
    return joins && cuts && drops_rest && !size.empty();
  }

  // Whether the bracket at `at` holds a colon of its own: a[1:2], and not [x for x in {1: 2}].
  bool has_slice(size_t at, size_t end) const {
    size_t depth = 0;
    for (; at < end; ++at) {
      const PythonToken& token = program_.tokens[at];
      if (opens(token)) ++depth;
      const bool is_end = closes(token);
      if (is_end && --depth == 0) return false;
      if (depth == 1 && token.is_sign(':')) return true;
    }
    return false;
  }

  static bool tokenizes(std::string_view name) {
    const std::string last = lower_ascii(last_name(name));
    return last.ends_with("tokenizer") || last.ends_with("encode_plus");
  }

  // Whether the function has more than calls, names and texts: a sum, a comparison, a loop.
  bool computes(PythonSpan span) const {
    constexpr std::string_view kOperators = "+-*/%<>@|&^";
    constexpr std::string_view kWords = "for else while try";
    for (size_t i = span.begin; i < span.end; ++i) {
      const PythonToken& token = program_.tokens[i];
      const bool is_unpacked = token.is_sign('*') && is_behind_comma(i);
      if (is_unpacked) continue;
      const bool is_arrow = (token.is_sign('-') && program_.tokens[i + 1].is_sign('>')) ||
                            (token.is_sign('>') && i > 0 && program_.tokens[i - 1].is_sign('-'));
      if (token.kind == PythonToken::Kind::kSign && !is_arrow &&
          kOperators.find(token.text[0]) != kOperators.npos) {
        return true;
      }
      if (token.kind == PythonToken::Kind::kName && is_one_of(kWords, token.text)) return true;
      if (token.kind == PythonToken::Kind::kUnknownText && !resolved(token)) return true;
    }
    return false;
  }

  // "*all" or "**named" among arguments, of which the second sign stands behind the first one.
  bool is_behind_comma(size_t at) const {
    if (at > 0 && program_.tokens[at - 1].is_sign('*')) --at;
    return at > 0 && (program_.tokens[at - 1].is_sign(',') || program_.tokens[at - 1].is_sign('('));
  }

  // A text, an f-string of known names, or a name of a text.
  std::optional<std::string> resolved(const PythonToken& token) const {
    if (token.kind == PythonToken::Kind::kText) return token.text;
    if (token.kind == PythonToken::Kind::kName) {
      const PythonValue* value = program_.assigned(token.text);
      if (value == nullptr || value->kind != PythonValue::Kind::kText) return std::nullopt;
      return value->text;
    }
    if (token.kind != PythonToken::Kind::kUnknownText) return std::nullopt;
    std::string text;
    for (size_t at = 0; at < token.text.size(); ++at) {
      if (token.text[at] != '{') {
        text += token.text[at];
        continue;
      }
      const size_t end = std::min(token.text.find('}', at), token.text.size());
      const PythonValue* part = program_.assigned(token.text.substr(at + 1, end - at - 1));
      if (part == nullptr || !part->is_known() || part->kind == PythonValue::Kind::kList ||
          part->kind == PythonValue::Kind::kMapping) {
        return std::nullopt;
      }
      text += part->text;
      at = end;
    }
    return text;
  }

  // The call of a tokenizer in a function for rows.
  void read_tokenizer(const PythonCall& call, PythonSpan function) {
    if (has_unpacked(program_, call)) {
      refuse(call, "has arguments that the program computes; write them out");
    }
    for (const auto& [keyword, value] : call.keywords) {
      if (keyword == "stride" && rows_.task == "question_answering") {
        take_stride(value);
      } else if (keyword == "stride" ||
                 (keyword == "return_overflowing_tokens" && rows_.task != "question_answering")) {
        const bool is_off = value.text == "0" || value.text == "False";
        if (!is_off && rows_.task != "masked_lm") {
          refuse(call, cat("makes several rows of a long text by ", keyword, kWriteRows));
        }
      } else if (keyword == "add_special_tokens" && value.text != "True") {
        refuse(call, "leaves out the tokens around a text, which berth always puts there");
      } else if (keyword == "return_token_type_ids" && value.text == "False") {
        untyped_ = &call;
      } else if (keyword == "return_attention_mask" && value.text == "False") {
        refuse(call, kUnmasked);
      } else if (!is_one_of(kPlainArguments, keyword) && keyword != "add_special_tokens") {
        refuse(call, cat("has ", keyword, ", which berth does not know of a tokenizer"));
      }
    }
    std::vector<std::string> columns;
    if (rows_.task == "question_answering") return check_windows(call, function);
    const PythonValue* cuts = call.find("truncation");
    if (rows_.task == "masked_lm" && joins_texts(program_) && cuts != nullptr &&
        cuts->text != "False") {
      return refuse(call, "cuts each row before the rows are joined, and berth joins whole rows");
    }
    if (!find_columns(call, columns)) {
      return refuse(call,
                    "takes texts that the program makes or chooses; write them into a file, or add "
                    "--text-column NAME to the line");
    }
    if (columns.size() > 1 && cuts != nullptr && cuts->text.starts_with("only_")) {
      refuse(call, "cuts one text of a pair alone, and berth the longer one");
    }
    if (!columns.empty()) columns_.insert(columns);
    if (rows_.task == "token_classification") {
      const PythonValue* words = call.find("is_split_into_words");
      if (words == nullptr || words->text != "True") {
        refuse(call,
               "tokenizes texts, and not the words of a row: is_split_into_words is not True");
      }
      find_tags(function, columns);
    }
  }

  // A question and windows over its context, in this order.
  void check_windows(const PythonCall& call, PythonSpan function) {
    const std::vector<PythonArgument> given = arguments_of(program_, call);
    const std::string first = given.empty() ? "" : column_in(given[0].value, function);
    if (is_one_of(kContexts, first)) {
      refuse(call, "puts the context before the question, and berth behind it");
    } else if (first != "question") {
      refuse(
          call,
          "takes texts that the program makes, and berth the columns question and context; write "
          "them into a file, and name it with --train-data-file");
    } else if (given.size() > 1 && given[1].keyword.empty()) {
      const std::string second = column_in(given[1].value, function);
      if (!second.empty() && second != "context") {
        refuse(call, cat("takes the column ", second,
                         " as the context, and berth the column named context; write the rows into "
                         "a file, and name it with --train-data-file"));
      }
    }
    const PythonValue* cuts = call.find("truncation");
    if (cuts != nullptr && cuts->is_known() && cuts->text != "only_second") {
      refuse(call, "cuts the question, too, and berth the context alone");
    }
    const PythonValue* windows = call.find("return_overflowing_tokens");
    if (windows == nullptr || windows->text != "True") {
      refuse(call, "keeps the first window of a context alone, and berth takes all windows");
    } else if (call.find("stride") == nullptr) {
      launch_.add_flag("doc_stride", "0");
    }
  }

  // The first text in this value, as "question" of [q.strip() for q in rows["question"]]. A name
  // counts as what the function assigns to it.
  std::string column_in(PythonSpan value, PythonSpan function) const {
    const std::vector<PythonToken>& tokens = program_.tokens;
    const bool is_name =
        value.end == value.begin + 1 && tokens[value.begin].kind == PythonToken::Kind::kName;
    for (size_t i = function.begin; is_name && i + 2 < function.end; ++i) {
      const bool is_set = tokens[i].is_name(tokens[value.begin].text) &&
                          tokens[i + 1].is_sign('=') && !tokens[i + 2].is_sign('=');
      if (is_set) return column_in({i + 2, end_of_value(i + 2, function.end)}, {});
    }
    for (size_t i = value.begin; i < value.end; ++i) {
      const bool is_item = i > 0 && tokens[i - 1].is_sign('[');
      const std::optional<std::string> column = resolved(tokens[i]);
      if (is_item && column) return *column;
    }
    return "";
  }

  void take_stride(const PythonValue& value) {
    if (value.kind == PythonValue::Kind::kWord) return launch_.add_flag("doc_stride", value.text);
    launch_.refuse("stride", "is computed in the program; add --doc-stride N to the line");
  }

  // The columns of a call: tokenizer(rows["a"], rows["b"]). false: an argument is something else.
  bool find_columns(const PythonCall& call, std::vector<std::string>& columns) const {
    const Tokens tokens =
        Tokens(program_.tokens)
            .subspan(call.arguments.begin, call.arguments.end - call.arguments.begin);
    size_t at = 0;
    while (at < tokens.size()) {
      const size_t begin = at;
      size_t depth = 0;
      for (; at < tokens.size() && (depth > 0 || !tokens[at].is_sign(',')); ++at) {
        const PythonToken& token = tokens[at];
        if (opens(token)) ++depth;
        if (closes(token)) --depth;
      }
      Tokens argument = tokens.subspan(begin, at - begin);
      ++at;  // ","
      if (argument.empty()) continue;
      const bool is_keyword = argument.size() > 1 && argument[1].is_sign('=');
      const bool is_first = is_keyword && argument[0].text == "text";
      if (is_keyword) {
        if (!is_first && argument[0].text != "text_pair") continue;
        argument = argument.subspan(2);
        if (argument.empty()) continue;
      }
      if (argument[0].is_sign('*')) continue;  // **arguments
      const std::optional<std::string> column = column_of(argument);
      if (!column) return false;
      columns.insert(is_first ? columns.begin() : columns.end(), *column);
    }
    return columns.size() < 3;
  }

  // "a" of rows["a"] or list(rows["a"]).
  std::optional<std::string> column_of(Tokens argument) const {
    if (argument.size() > 3 && argument[0].is_name("list") && argument[1].is_sign('(')) {
      argument = argument.subspan(2, argument.size() - 3);
    }
    const bool is_subscript = argument.size() == 4 && argument[1].is_sign('[') &&
                              argument[3].is_sign(']') &&
                              argument[0].kind == PythonToken::Kind::kName;
    return is_subscript ? resolved(argument[2]) : std::nullopt;
  }

  // The column of tags: another one that the function reads of its rows.
  void find_tags(PythonSpan function, const std::vector<std::string>& texts) {
    const Tokens tokens =
        Tokens(program_.tokens).subspan(function.begin, function.end - function.begin);
    const bool has_rows = tokens.size() > 3 && tokens[0].is_name("def");
    if (!has_rows) return;
    const std::string& parameter = tokens[3].text;
    for (size_t i = 4; i + 3 < tokens.size(); ++i) {
      if (!tokens[i].is_name(parameter) || !tokens[i + 1].is_sign('[')) continue;
      const std::optional<std::string> column = resolved(tokens[i + 2]);
      if (!column) {
        launch_.refuse("the tags", cat("are a column whose name the program computes (line ",
                                       tokens[i].line, "); add --label-column NAME to the line"));
        return;
      }
      if (!is_one_of(texts, *column)) tags_.insert(*column);
    }
  }

  void note_renamed(const PythonCall& call) {
    const PythonValue *from = call.find("original_column_name"), *to = call.find("new_column_name");
    if (!call.positional.empty()) from = &call.positional[0];
    if (call.positional.size() > 1) to = &call.positional[1];
    if (from != nullptr && to != nullptr) note_renamed(call, from->text, to->text);
  }

  // rename_columns({"headline": "text", "stars": "label"})
  void note_all_renamed(const PythonCall& call) {
    const PythonValue* names = call.find("column_mapping");
    if (!call.positional.empty()) names = &call.positional[0];
    if (names == nullptr || names->kind != PythonValue::Kind::kMapping) {
      return note_renamed(call, "", "");
    }
    for (size_t i = 0; i < names->items.size(); ++i) {
      note_renamed(call, names->keys[i], names->items[i].text);
    }
  }

  void note_renamed(const PythonCall& call, const std::string& from, const std::string& to) {
    if (from.empty() || to.empty()) {
      if (rows_.is_similarity) return;  // which reads columns in their order
      return refuse(call,
                    "gives columns names that the program computes; add --text-column NAME and "
                    "--label-column NAME to the line");
    }
    if (to == "label" || to == "labels") {
      if (from != "label" && from != "labels") launch_.add_flag("label_column", from);
    } else {
      renamed_.emplace_back(to, from);
    }
  }

  std::string first_name(const std::string& column) const {
    for (const auto& [to, from] : renamed_) {
      if (to == column) return from;
    }
    return column;
  }

  void name_columns() {
    if (tags_.size() == 1) launch_.add_flag("label_column", first_name(*tags_.begin()));
    if (labels_.size() == 1) launch_.add_flag("label_column", first_name(*labels_.begin()));
    for (const std::vector<std::string>& columns : columns_) {
      for (const std::string& column : columns) {
        if (!changed_.contains(column)) continue;
        launch_.refuse(cat("the column ", column),
                       cat("is changed before it is tokenized", kWriteRows));
      }
    }
    if (columns_.size() > 1) {
      return launch_.refuse("the columns of texts",
                            "differ between calls of the tokenizer; add --text-column NAME to the "
                            "line");
    }
    if (columns_.empty() || rows_.is_similarity) return;
    const std::vector<std::string>& names = *columns_.begin();
    const bool has_words = rows_.task == "token_classification";
    const bool is_usual = names.size() == 1
                              ? is_one_of(has_words ? "tokens" : "text tokens sentence", names[0])
                              : names[0] == "sentence1" && names[1] == "sentence2";
    if (is_usual && renamed_.empty()) return;
    launch_.add_flag("text_column", first_name(names[0]));
    if (names.size() > 1) launch_.add_flag("text_pair_column", first_name(names[1]));
  }

  void check_tokenizer(const PythonCall& call) {
    const PythonValue* name = call.find("pretrained_model_name_or_path");
    if (!call.positional.empty()) name = &call.positional[0];
    const bool is_known = name != nullptr && name->kind == PythonValue::Kind::kText;
    if (is_known && !rows_.model.empty() && name->text != rows_.model) {
      refuse(call,
             cat("takes the tokenizer of ", quoted(name->text), " and not of ", quoted(rows_.model),
                 "; put its files beside the model's, and name that folder with --model"));
    }
    for (const auto& [keyword, value] : call.keywords) {
      if (keyword == "do_lower_case" || keyword == "do_lowercase") {
        if (value.kind == PythonValue::Kind::kWord) {
          launch_.add_flag("do_lower_case", value.text);
        }
      } else if (changes_tokens(keyword, value)) {
        refuse(call, cat("has ", keyword, ", which gives the tokens other places or other words"));
      } else if (!is_one_of(kPlainOptions, keyword) && value.text != "None") {
        refuse(call, cat("has ", keyword,
                         ", which changes the tokenizer; save it with the model, and name its "
                         "folder with --model"));
      }
    }
  }

  // Padding on the left moves the first token. A blank before the first word changes it, where the
  // words of a text are not tokenized one by one.
  bool changes_tokens(std::string_view keyword, const PythonValue& value) const {
    if (keyword == "padding_side") return value.text != "right";
    return keyword == "add_prefix_space" && value.text != "False" &&
           rows_.task != "token_classification";
  }

  const ProgramRows& rows_;
  const PythonProgram& program_;
  Launch& launch_;
  const PythonCall* untyped_ = nullptr;  // leaves the types of tokens out
  std::set<std::vector<std::string>> columns_;
  std::set<std::string> tags_, labels_;                       // columns
  std::set<std::string> changed_;                             // columns that functions for rows set
  std::vector<std::pair<std::string, std::string>> renamed_;  // to, from
};

}  // namespace

bool joins_texts(const PythonProgram& program) {
  return std::ranges::any_of(program.calls, [](const PythonCall& call) {
    if (last_name(call.name) != "map") return false;
    const PythonValue* function = call.find("function");
    if (!call.positional.empty()) function = &call.positional[0];
    return function != nullptr && (function->name.find("group") != std::string::npos ||
                                   function->name.find("chunk") != std::string::npos);
  });
}

bool is_row_call(std::string_view name) {
  return is_one_of(kMakers, name) ||
         std::ranges::find(kRowCalls, name, &RowCall::name) != std::end(kRowCalls);
}

void read_rows(const ProgramRows& rows, Launch& launch) { ProgramRowReader(rows, launch).read(); }

}  // namespace berth
