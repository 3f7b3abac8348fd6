#include <algorithm>
#include <cctype>
#include <optional>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/train_sources.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

constexpr RealRange kSplit{0, 1, true, false, "a number from 0 to less than 1"};
constexpr RealRange kFraction{0, 1, false, true, "a number above 0, at most 1"};
constexpr RealRange kThreshold{0, 1, false, false,
                               "a number above 0 and below 1, auto or per_label"};
constexpr RealRange kReal{-1e9, 1e9, true, true, "a number"};

// Whether a mode that predicts also scores rows: to tell what int8 costs, or because the tutorials'
// rows to predict are those to evaluate.
bool needs_rows_to_evaluate(const Settings& settings) {
  const ModeTraits& mode = traits(settings.mode);
  const bool tells_cost = settings.precision == Precision::kInt8 && !mode.makes_vectors;
  return mode.predicts() && (tells_cost || !settings.data.input_meta_data_path.empty());
}

// Characters that have names. U+0001 separates the fields of Hive.
constexpr std::pair<std::string_view, char> kCharacterNames[] = {
    {"comma", ','},    {"semicolon", ';'}, {"tab", '\t'},     {"\\t", '\t'},     {"pipe", '|'},
    {"newline", '\n'}, {"\\n", '\n'},      {"\\x01", '\x01'}, {"\\001", '\x01'}, {"\x01", '\x01'}};

std::optional<char> named_character(std::string_view given) {
  for (const auto& [name, character] : kCharacterNames) {
    if (lower_ascii(given) == name) return character;
  }
  return std::nullopt;
}

// Letters and digits separate nothing, and a quote encloses fields.
bool may_separate(std::string_view given) {
  return given == "\t" || std::ranges::none_of(given, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '"' || c < ' ' || c == 127;
         });
}

std::string character_name(char character) {
  if (character == '\t') return "tab";
  if (character == '\n') return "newline";
  if (character == '\x01') return "\\x01";
  return character == '\0' ? "" : std::string(1, character);
}

// A line break ends rows, so it is no delimiter.
FlagValue delimiter_value() {
  const auto at =
      place(&CommandLine::settings, &Settings::data, &DataOptions::text_form, &TextForm::delimiter);
  return {"C", false,
          [=](CommandLine& line, std::string_view given) {
            const std::optional<char> named = named_character(given);
            const bool is_one = given.size() == 1 && may_separate(given) &&
                                static_cast<unsigned char>(given[0]) < 127;
            if ((!named && !is_one) || named == '\n') {
              throw Error(
                  Code::kUsage,
                  quoted(given) + " is not one character, comma, semicolon, tab, pipe or \\x01");
            }
            at(line) = named.value_or(given[0]);
          },
          [=](const CommandLine& line) { return character_name(at(line)); }};
}

FlagValue threshold_value() {
  const auto at = data_option(&DataOptions::label_threshold);
  return {"X|auto|per_label", false,
          [=](CommandLine& line, std::string_view given) {
            const bool is_chosen = given == kBestThreshold || given == kBestThresholds;
            at(line) = is_chosen ? std::string(given) : real_text(parse_real(given, kThreshold));
          },
          [=](const CommandLine& line) { return at(line); }};
}

FlagValue sources_value() {
  const auto at = data_option(&DataOptions::train_sources);
  return {"FILE,...", false,
          [=](CommandLine& line, std::string_view given) {
            std::string all;
            for (const std::string& part : parted(given, "\n")) {
              const std::string file = parse_train_source(part).file;
              all += cat(all.empty() ? "" : "\n", parse_path(file, line.home),
                         part.substr(file.size()));
            }
            at(line) = all;
          },
          [=](const CommandLine& line) { return at(line); }};
}

FlagValue separator_value() {
  const auto at =
      place(&CommandLine::settings, &Settings::data, &DataOptions::labels, &LabelForm::separators);
  return {"TEXT", false,
          [=](CommandLine& line, std::string_view given) {
            constexpr size_t kLongest = 16;
            const std::optional<char> named = named_character(given);
            if (!named && (given.empty() || given.size() > kLongest || !may_separate(given))) {
              throw Error(Code::kUsage, cat(quoted(given),
                                            " does not separate labels: give characters that are "
                                            "neither letters nor digits, or comma, semicolon, "
                                            "tab, pipe or newline"));
            }
            at(line) = named ? std::string(1, *named) : std::string(given);
          },
          [=](const CommandLine& line) {
            const std::string& separator = at(line);
            return separator.size() == 1 ? character_name(separator[0]) : separator;
          }};
}

std::vector<Flag> file_flags() {
  using enum Effect;
  return {
      {"task, task-name",
       cat("The task to train for: ", known_tasks(), "; or a GLUE task: ", known_glue_tasks(), "."),
       text_value("NAME", data_option(&DataOptions::task)),
       {kDecides, kInReading | kInExport | kInConvert, kAsTrained},
       "inferred from the labels"},
      {"data-dir",
       "The folder that holds the files of a GLUE task: train.tsv, dev.tsv and test.tsv.",
       path_value("DIR", data_option(&DataOptions::data_dir)),
       {kPlace, kInReading}},
      {"train-data-file, train-data-path, train-file",
       "The rows to train on: a pandas pickle, Parquet, Arrow, NumPy (.npz), CSV, TSV, JSONL, "
       "CoNLL, SQuAD JSON or TFRecord file, which may be compressed (.gz, .bz2, .xz, .zst). A "
       "pattern or a directory names several files, and a folder of Hugging Face's datasets the "
       "split train.",
       path_value("FILE", data_option(&DataOptions::train_data_file)),
       FlagRole(kPlace, kInTraining | kInPrepare | kInTrainTokenizer, kNoHparam)
           .needed_as(kNeedsTrainData)},
      {"train-source",
       "For --task similarity: more rows to train on, beside --train-data-file. The flag may be "
       "given several times. Each update takes rows of one source. Behind the file may stand "
       "weight=W, loss=NAME (as --similarity-loss), scale=X, margin=X and max-similarity=X, "
       "separated by commas.",
       sources_value(),
       FlagRole(kDecides, kInTraining, kMayRepeat | kNoHparam).heeded_by(tasks_that::compare),
       "none"},
      {"source-sampling, multi-dataset-batch-sampler",
       "With --train-source: which source an update takes. proportional reads each source as "
       "often as its weight says, in random order. round_robin takes them in turn and ends the "
       "epoch when the smallest source is read.",
       choice_value<SourceMix>(
           training_option(&TrainingOptions::source_mix),
           {{"proportional", SourceMix::kProportional}, {"round_robin", SourceMix::kRoundRobin}}),
       FlagRole(kDecides, kInTraining)
           .heeded_by(tasks_that::compare)
           .only_with("train-source", "second source")},
      {"eval-data-file, eval-data-path, validation-file",
       "The rows to evaluate on. Without this flag, some of the training rows are held out; see "
       "--validation-split.",
       path_value("FILE", data_option(&DataOptions::eval_data_file)),
       FlagRole(kPlace, kInTrainAndEval | kInEval | kInPrepare, kNoHparam)
           .needed_as(kNeedsEvalData)
           .used_where(needs_rows_to_evaluate)},
      {"eval-retrieval",
       "For --task similarity: a search to evaluate on. It is a folder or an archive in BEIR's "
       "layout: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, or tables of these names in "
       "another format. ndcg_at_10 is then the main metric.",
       path_value("DIR", data_option(&DataOptions::eval_retrieval)),
       FlagRole(kPlace, kInTrainAndEval | kInEval, kNoHparam).heeded_by(tasks_that::compare)},
      {"eval-retrieval-split", "The split of the judgements (qrels) of --eval-retrieval.",
       text_value("NAME", data_option(&DataOptions::eval_retrieval_split)),
       FlagRole(kDecides, kInTrainAndEval | kInEval)
           .heeded_by(tasks_that::compare)
           .only_with("eval-retrieval", "search to evaluate on"),
       "dev, validation or test in a training; test, dev or validation in --mode eval"},
      {"predict-data-file, test-file, predict-data-path",
       "The rows of --mode predict, the texts of --mode embed, or the pairs of --mode mine.",
       path_value("FILE", data_option(&DataOptions::predict_data_file)),
       FlagRole(kFree, kInPredict | kInEmbed | kInMine | kInPrepare, kOwnToWorker)
           .needed_as(kNeedsPredictData)},
      {"input-meta-data-path",
       "The meta data file that belongs to TFRecords made for run_classifier.py. It gives the "
       "sequence length, the labels and the task.",
       path_value("FILE", data_option(&DataOptions::input_meta_data_path)),
       {kPlace, kInReading}},
  };
}

std::vector<Flag> row_flags() {
  using enum Effect;
  return {
      {"validation-split",
       "The fraction of the training rows that is held out for evaluation when there is no "
       "--eval-data-file. 0 means no evaluation.",
       real_value(data_option(&DataOptions::validation_split), kSplit),
       {kDecides, kInTraining | kInPrepare}},
      {"data-fraction",
       "The fraction of the training rows to use, for a quick try.",
       real_value(data_option(&DataOptions::data_fraction), kFraction),
       {kDecides, kInTraining | kInPrepare}},
      {"max-train-samples",
       "The largest number of training rows to use; 0 means all.",
       integer_value(data_option(&DataOptions::max_train_samples), {0, kAnyCount}),
       {kDecides, kInTraining | kInPrepare}},
      {"max-eval-samples, max-val-samples",
       "The largest number of rows to evaluate on; 0 means all. The first rows are taken.",
       integer_value(data_option(&DataOptions::max_eval_samples), {0, kAnyCount}),
       {kDecides, kInTrainAndEval | kInEval}},
      {"skip-bad-rows",
       "How many malformed rows of each data set may be skipped before the job stops. The log "
       "says how many were skipped.",
       integer_value(data_option(&DataOptions::skip_bad_rows), {0, kAnyCount}),
       {kDecides, kInReading}},
      {"delimiter",
       "The character between the fields of .csv and .tsv files: one character, or comma, "
       "semicolon, tab, pipe or \\x01, which Hive writes.",
       delimiter_value(),
       {kDecides, kInReading | kInInspect | kInTrainTokenizer, kAsTrained},
       "found in the header of .csv; a tab in .tsv"},
      {"quoting",
       "What quotes around a field mean in .csv and .tsv. csv: they enclose the field and are no "
       "part of it, as pandas writes them. none: they belong to the text, as in GLUE's files.",
       choice_value<Quoting>(
           place(&CommandLine::settings, &Settings::data, &DataOptions::text_form,
                 &TextForm::quoting),
           {{"auto", Quoting::kAuto}, {"csv", Quoting::kCsv}, {"none", Quoting::kNone}}),
       {kDecides, kInReading | kInInspect | kInTrainTokenizer, kAsTrained},
       "csv for .csv; for .tsv what the first rows show"},
      {"encoding",
       "How files of text are encoded. auto takes windows-1252 where a file is not UTF-8. A byte "
       "order mark of UTF-16 is heeded with utf-8 too.",
       choice_value<TextEncoding>(place(&CommandLine::settings, &Settings::data,
                                        &DataOptions::text_form, &TextForm::encoding),
                                  {{"utf-8", TextEncoding::kUtf8},
                                   {"utf-16", TextEncoding::kUtf16},
                                   {"latin-1", TextEncoding::kLatin1},
                                   {"windows-1252", TextEncoding::kWindows1252},
                                   {"auto", TextEncoding::kAuto},
                                   {"utf8", TextEncoding::kUtf8},
                                   {"utf16", TextEncoding::kUtf16},
                                   {"latin1", TextEncoding::kLatin1},
                                   {"iso-8859-1", TextEncoding::kLatin1},
                                   {"cp1252", TextEncoding::kWindows1252}}),
       {kDecides, kInReading | kInInspect | kInTrainTokenizer, kAsTrained}},
      {"text-column, text-column-name",
       "The column that holds the text, the words or the question; in CoNLL its number, from 1.",
       text_value("NAME", data_option(&DataOptions::text_column)),
       {kDecides, kInReading | kInTrainTokenizer, kAsTrained | kNamesColumn},
       "found by name: text, sentence, ..."},
      {"sentence-column",
       "The column that says which sentence the word of a row belongs to, in a table with one "
       "word a row: an id, or a text in the first row of each sentence. none: each row is a "
       "sentence.",
       text_value("NAME", data_option(&DataOptions::sentence_column)),
       {kDecides, kInReading, kAsTrained},
       "found by name: sentence_id, Sentence #, ..."},
      {"text-pair-column",
       "The column that holds the second text of a pair, or the context of a question.",
       text_value("NAME", data_option(&DataOptions::text_pair_column)),
       FlagRole(kDecides, kInReading | kInTrainTokenizer, kAsTrained | kNamesColumn)
           .heeded_by(tasks_that::read_pairs),
       "found by name: sentence2, ..."},
      {"label-column, label-column-name",
       "The column that holds the label, score, tags (in CoNLL its number, from 1) or answers. "
       "For multi_label it is a column of lists (or of labels joined by |), or the names of the "
       "0/1 columns, joined by commas.",
       text_value("NAME", data_option(&DataOptions::label_column)),
       FlagRole(kDecides, kInReading, kAsTrained | kNamesColumn)
           .heeded_by(tasks_that::may_have_labels),
       "found by name: label, target, ..."},
      {"label-separator",
       "What stands between the labels of one text, for multi_label: one or more characters, or "
       "comma, semicolon, tab, pipe or newline.",
       separator_value(),
       {kDecides, kInReading, kAsTrained | kSaysLabelForm},
       "| or a comma; ; or / or line breaks where they make few labels"},
      {"label-lists",
       "What a list of labels holds: names of labels, or a 0 or 1 for each label (multi-hot). "
       "auto takes multi-hot where all lists have one length of at least 2 and hold only 0 and 1.",
       choice_value<LabelLists>(
           place(&CommandLine::settings, &Settings::data, &DataOptions::labels, &LabelForm::lists),
           {{"auto", LabelLists::kAuto},
            {"names", LabelLists::kNames},
            {"multi-hot", LabelLists::kMultiHot}}),
       {kDecides, kInReading, kAsTrained | kSaysLabelForm}},
      {"weight-column", "The column that holds the weight of a row in the loss.",
       text_value("NAME", data_option(&DataOptions::weight_column)),
       FlagRole(kDecides, kInTraining | kInEval | kInPrepare, kAsScored)
           .heeded_by(tasks_that::have_labels),
       "every row has weight 1"},
      {"id-column",
       "For --mode predict: the column whose cells name the rows in the predictions.",
       text_value("NAME", place(&CommandLine::tool, &ToolOptions::id_column)),
       {kUnrecorded, kInPredict | kInEmbed, kRefusedElsewhere},
       "id, qid or guid, else the number of the row"},
      {"label-names",
       "The names of the classes, in the order of the model's outputs, joined by commas. A label "
       "in the data is one of them, or its number, counted from 0.",
       text_value("NAMES", data_option(&DataOptions::label_names)),
       FlagRole(kDecides, kInReading, kTaskIsRefusedLater).heeded_by(tasks_that::have_classes),
       "the names in the data, or the model's"},
  };
}

std::vector<Flag> masking_flags() {
  using enum Effect;
  return {
      {"mlm-probability, masked-lm-prob, mask-prob",
       "The share of tokens that a masked language model should predict. Of these, 80 % become "
       "[MASK], 10 % become a random token and 10 % stay, anew in every epoch. With --task "
       "electra 85 % become [MASK] and 15 % stay.",
       real_value(data_option(&DataOptions::mlm_probability), kFraction),
       FlagRole(kDecides, kInReading, kAsTrained).heeded_by(tasks_that::mask)},
      {"whole-word-masking, do-whole-word-mask",
       "Choose all pieces of a word or none of them, for --mlm-probability.",
       switch_value(data_option(&DataOptions::whole_word_masking)),
       FlagRole(kDecides, kInReading, kAsTrained).heeded_by(tasks_that::mask)},
      {"line-by-line",
       "For --task mlm: a row is a sequence of its own, and a long one becomes several. Without "
       "this flag, rows are joined and cut into blocks of --max-seq-length, so that every "
       "sequence is full. The rest of each 1,000 rows is dropped.",
       switch_value(data_option(&DataOptions::line_by_line)),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::join_rows)},
      {"attend-across-documents",
       "For --task mlm, where rows are joined: let each token of a block attend to all rows in "
       "it, and count positions from the block's beginning, as run_mlm.py does. Without this flag "
       "a row attends to itself alone.",
       switch_value(data_option(&DataOptions::attends_across_documents)),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::join_rows)},
  };
}

std::vector<Flag> question_flags() {
  using enum Effect;
  return {
      {"doc-stride", "How many tokens two neighbouring windows of a long context share.",
       optional_integer_value(data_option(&DataOptions::doc_stride), {0, 1'000'000}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::find_answers),
       "128, or half of a shorter window"},
      {"doc-step",
       "The tokens from the start of one window of a long context to the start of the next. "
       "--doc_stride of run_squad.py is this number. It excludes --doc-stride.",
       optional_integer_value(data_option(&DataOptions::doc_step), {1, 1'000'000}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::find_answers)},
      {"n-best-size",
       "How many of the best start and end positions are combined to find an answer.",
       integer_value(data_option(&DataOptions::n_best_size), {1, 1'000'000}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::find_answers)},
      {"max-answer-length", "The longest answer, in tokens.",
       integer_value(data_option(&DataOptions::max_answer_length), {1, 1'000'000}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::find_answers)},
      {"version-2-with-negative", "Allow questions that have no answer, as in SQuAD 2.0.",
       switch_value(data_option(&DataOptions::has_unanswerable)),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::find_answers)},
      {"null-score-diff-threshold",
       "A question has no answer if the score of \"no answer\" exceeds the best answer's score by "
       "more than this.",
       real_value(data_option(&DataOptions::null_score_diff_threshold), kReal),
       FlagRole(kDecides, kEverywhere, kAsTrained)
           .heeded_by(tasks_that::find_answers)
           .heeded_where([](const Settings& settings) { return settings.data.has_unanswerable; },
                         "give --version-2-with-negative")},
      {"label-threshold",
       "The probability above which a label of a set is predicted. It is a number, or the rows to "
       "evaluate on choose it: auto has the largest f1_micro there, per_label the largest F1 of "
       "each label. The finished model keeps it.",
       threshold_value(),
       FlagRole(kDecides, kInTraining | kInEval | kInPredict)
           .heeded_by(tasks_that::have_sets)
           .about_evaluations_where([](const Settings& settings) {
             const auto& threshold = settings.data.label_threshold;
             return threshold == kBestThreshold || threshold == kBestThresholds;
           }),
       "the model's own in eval and predict, else 0.5"},
  };
}

}  // namespace

std::vector<Flag> data_flags() {
  std::vector<Flag> flags = file_flags();
  for (Flag& flag : row_flags()) flags.push_back(std::move(flag));
  for (Flag& flag : masking_flags()) flags.push_back(std::move(flag));
  for (Flag& flag : question_flags()) flags.push_back(std::move(flag));
  return flags;
}

namespace {

auto cleaning(auto member) { return place(&CommandLine::tool, &ToolOptions::cleaning, member); }

constexpr IntegerRange kCounts = {0, kAnyCount};
constexpr RealRange kShares = {0, 1, true, true, "a number from 0 to 1"};

}  // namespace

std::vector<Flag> corpus_flags() {
  using enum Effect;
  return {
      {"shard-size",
       "For --mode prepare --task mlm with --model or --vocab-file: the size of each shard of "
       "tokens, in MiB.",
       integer_value(
           place(&CommandLine::tool, &ToolOptions::prepared, &PreparedFileOptions::shard_mebibytes),
           {1, 4096}),
       {kUnrecorded, kInPrepare}},
      {"normalize-text",
       "For --mode prepare --task mlm: bring texts into Unicode's form NFC, fold blanks, and "
       "remove controls and invisible characters.",
       switch_value(cleaning(&CleaningOptions::normalizes)),
       {kUnrecorded, kInPrepare}},
      {"min-document-length",
       "For --mode prepare --task mlm: remove documents of fewer characters. 0 turns this and "
       "each of the following rules off.",
       integer_value(cleaning(&CleaningOptions::min_length), kCounts),
       {kUnrecorded, kInPrepare}},
      {"max-document-length",
       "For --mode prepare --task mlm: remove documents of more characters.",
       integer_value(cleaning(&CleaningOptions::max_length), kCounts),
       {kUnrecorded, kInPrepare}},
      {"min-document-words",
       "For --mode prepare --task mlm: remove documents of fewer words. An ideograph is a word.",
       integer_value(cleaning(&CleaningOptions::min_words), kCounts),
       {kUnrecorded, kInPrepare}},
      {"max-document-words",
       "For --mode prepare --task mlm: remove documents of more words.",
       integer_value(cleaning(&CleaningOptions::max_words), kCounts),
       {kUnrecorded, kInPrepare}},
      {"min-letter-ratio",
       "For --mode prepare --task mlm: remove a document if the share of letters among its "
       "non-blank characters is below this value.",
       real_value(cleaning(&CleaningOptions::min_letter_ratio), kShares),
       {kUnrecorded, kInPrepare}},
      {"max-repetition",
       "For --mode prepare --task mlm: remove documents that repeat themselves. The value is the "
       "largest share of lines that also occur earlier in the document. At 0.3, the limits for "
       "lines and for runs of 2 to 10 words equal Gopher's (Rae et al. 2021). Other values change "
       "all limits in proportion.",
       real_value(cleaning(&CleaningOptions::max_repetition),
                  {0, 10, true, true, "a number from 0 to 10"}),
       {kUnrecorded, kInPrepare}},
      {"drop-duplicates",
       "For --mode prepare --task mlm: remove documents that are equal to an earlier one after "
       "normalization.",
       switch_value(cleaning(&CleaningOptions::drops_duplicates)),
       {kUnrecorded, kInPrepare}},
      {"near-duplicate-threshold",
       "For --mode prepare --task mlm: remove documents that share at least this much of their "
       "runs of 5 words with an earlier one (Jaccard similarity, estimated by MinHash).",
       real_value(cleaning(&CleaningOptions::near_duplicate_threshold), kShares),
       {kUnrecorded, kInPrepare}},
  };
}

}  // namespace berth
