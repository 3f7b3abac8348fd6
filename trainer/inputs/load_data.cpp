#include "trainer/inputs/load_data.h"

#include <algorithm>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "storage/formats/utf8.h"
#include "trainer/data/choice_rows.h"
#include "trainer/inputs/managed_rows.h"
#include "trainer/inputs/peeked_source.h"
#include "trainer/inputs/table_files.h"

namespace berth {
namespace {

// A source that its user still needs after the reader took ownership of it.
class BorrowedSource final : public ByteSource {
 public:
  explicit BorrowedSource(ByteSource& inner) : inner_(inner) {}
  size_t read(std::span<std::byte> buffer) override { return inner_.read(buffer); }
  std::unique_ptr<RandomAccessSource> map() override { return inner_.map(); }

 private:
  ByteSource& inner_;
};

// The bytes of a file that show how it is laid out: as many as most contexts of questions have.
constexpr size_t kBeginning = size_t{256} << 10;

// Whether the text begins as SQuAD's JSON does: {"version": ..., "data": [{"paragraphs": ...
// or as a list of its paragraphs, which may be called "data", too.
bool begins_squad(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("\"paragraphs\"")) return true;
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_list = first != std::string_view::npos && text[first] == '[';
  if (!has("\"context\"") || !(is_list || has("\"data\""))) return false;
  // The first context may be longer than what is seen.
  return has("\"qas\"") || (!has("\"question\"") && !has("}"));
}

// Whether the text begins as an object that is an article of SQuAD, or a paragraph with questions.
// The members of the object count, and not what stands inside of them.
bool begins_squad_object(std::string_view text) {
  const auto behind = [](std::string_view rest, char wanted) {
    const size_t at = std::min(rest.find_first_not_of(" \t\r\n"), rest.size());
    return rest.substr(at).starts_with(wanted) ? rest.substr(at + 1) : std::string_view();
  };
  text = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  JsonNesting nesting;
  bool has_context = false, has_questions = false;
  for (size_t i = 0; i < text.size() && (i == 0 || nesting.depth() > 0); ++i) {
    const std::string_view rest = text.substr(i);
    const auto list_of = [&](std::string_view key) {
      return rest.starts_with(key) ? behind(behind(rest.substr(key.size()), ':'), '[') : "";
    };
    if (nesting.depth() == 1 && !nesting.in_string()) {
      if (!behind(list_of("\"paragraphs\""), '{').empty()) return true;
      has_questions = has_questions || !list_of("\"qas\"").empty();
      has_context = has_context || rest.starts_with("\"context\"");
    }
    nesting.add(text[i]);
  }
  return has_context && has_questions;
}

// Whether a file holds questions about contexts in SQuAD's layout. A request for columns or for
// another task makes it a table.
bool holds_squad(std::string_view name, std::string_view text, const LoadRules& rules) {
  const std::string lower = lower_ascii(name);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (lower.ends_with(".json")) return begins_squad(text) || begins_squad_object(text);
  const bool may_be_lines = lower.ends_with(".jsonl") || lower.ends_with(".ndjson");
  const bool asks_for_table =
      !rules.columns.text.empty() || (rules.task && traits(*rules.task).labels != LabelKind::kSpan);
  return may_be_lines && !asks_for_table && begins_squad_object(text);
}

bool has_choices(std::optional<Task> task) {
  return task && traits(*task).labels == LabelKind::kChoice;
}

// The rows of a file with choices. RACE's files are called .txt, and each holds one object.
std::unique_ptr<RowReader> open_choices(std::unique_ptr<PeekedSource> content,
                                        const std::string& name, const TextForm& form) {
  const bool is_object = is_plain_text(name) && content->beginning().starts_with('{');
  auto rows = open_rows(std::move(content), is_object ? ".json" : name, RowLayout::kByName, form);
  return names_articles(rows->columns()) ? make_question_rows(std::move(rows)) : std::move(rows);
}

// How the text of a file is laid out. Flags name the columns of CoNLL. The columns that were `read`
// before it, of another file, hold where this one may have them, too, and keep their names.
TextForm form_of(const DataRequest& request, const ColumnChoice& read) {
  const ColumnChoice& asked = request.asked ? *request.asked : request.rules.columns;
  const std::optional<Task> task = request.rules.task;
  std::string tags = asked.label.empty() ? asked.tags : asked.label;
  if (tags.empty() && task && traits(*task).inputs != InputKind::kWords) tags = "any";
  TextForm form{.delimiter = request.form.delimiter,
                .quoting = request.form.quoting,
                .words = asked.text,
                .tags = tags,
                .usual_words = request.form.usual_words,
                .usual_tags = request.form.usual_tags};
  if (asked.text.empty()) {
    if (parse_number(read.text)) form.usual_words = read.text;
    form.word_name = read.text;
  }
  if (asked.label.empty()) {
    if (parse_number(read.label)) form.usual_tags = read.label;
    form.tag_name = read.label;
  }
  return form;
}

// Appends the rows of one file, whose path below the folder of the data is `place`. If rows name
// objects that hold their texts, `objects` becomes the checksum of these objects.
void append_content(std::unique_ptr<ByteSource> content, const std::string& name,
                    const DataRequest& request, std::string_view place,
                    const std::optional<TfdsFolder>& tfds, Storage& storage, TableLoader& table,
                    Checksum& objects) {
  const bool ignores_labels = request.rules.need == LabelNeed::kIgnored;
  if (tfds) {
    return table.append_rows(make_tf_example_rows(
        plain_records(std::move(content)), ignores_labels ? ClassNames() : tfds->class_names));
  }
  if (names_records(name)) return table.append_records(plain_records(std::move(content)));
  // All of what follows looks at UTF-8.
  if (holds_text(name)) content = as_utf8(std::move(content), request.form.encoding);
  auto peeked = std::make_unique<PeekedSource>(std::move(content), kBeginning);
  if (peeked->beginning().empty() &&
      table.has_several_files()) {  // a part that Spark had no row for
    return table.add_findings({{"", cat("file ", place, " is empty, and adds no rows")}});
  }
  if (holds_squad(name, peeked->beginning(), request.rules)) {
    return table.append_squad(std::move(peeked));
  }
  RowLayout layout = request.layout;
  const std::optional<Task> task = request.rules.task;
  const bool is_of_words = task && traits(*task).inputs == InputKind::kWords;
  const bool may_be_lines =
      !is_table(name) || is_plain_text(name) || lower_ascii(name).ends_with(".tsv");
  if (is_of_words && may_be_lines) {
    if (!begins_sentence_table(peeked->beginning(), request.rules.columns)) {
      layout = RowLayout::kWordLines;
    } else if (lower_ascii(name).ends_with(".tsv")) {
      table.add_findings({{"sentences in TSV",
                           "the first line names the columns, so each line is a row of a table"}});
    }
  }
  if (layout == RowLayout::kWordLines && ignores_labels &&
      holds_plain_sentences(peeked->beginning(), request.known_tags,
                            !request.form.usual_words.empty())) {
    if (!is_plain_text(name)) {
      throw Error(Code::kBadData, "has several words in a line", "",
                  "text, a sentence a line, is called .txt, and one word a line .conll");
    }
    layout = RowLayout::kByName;
    table.add_findings({{"",
                         "each line is a sentence, whose words stand between blanks; a file "
                         "with one word a line is called .conll"}});
  }
  if (task && traits(*task).inputs == InputKind::kSentences && is_plain_text(name)) {
    layout = RowLayout::kDocuments;
  }
  const bool is_lines =
      layout == RowLayout::kWordLines || (layout == RowLayout::kByName && names_word_lines(name));
  if (is_lines && ignores_labels) layout = RowLayout::kWordsAlone;
  const TextForm form = form_of(request, table.columns());
  std::unique_ptr<RowReader> rows = has_choices(task)
                                        ? open_choices(std::move(peeked), name, form)
                                        : open_rows(std::move(peeked), name, layout, form);
  if (is_lines && (is_of_words || !task)) table.expect_words(rows->columns());
  if (names_managed_rows(rows->columns())) {
    rows = make_managed_rows(std::move(rows), storage, objects, request.rules.need,
                             request.rules.task);
  }
  table.append_rows(with_folder_columns(std::move(rows), place));
}

// Throws kUnavailable if reading the object again gives other bytes. A large object is parsed while
// it arrives, before its checksum can be compared, so an error in it may be damage in transit.
void require_same_again(Storage& storage, const Uri& file, const Checksum& read) {
  if (stored_checksum(storage, file, read.size) == read) return;
  throw Error(Code::kUnavailable, "arrived damaged: read again, it is different", file.to_string(),
              "start again");
}

// Lets `use` read the plain bytes of a file, and returns the checksum of the file. It covers the
// whole file: also bytes that a reader reads in another order or not at all, such as bytes after
// the end of a pickle. Errors name the file.
Checksum read_content(const DataSource& data, const Uri& file,
                      const std::function<void(std::unique_ptr<ByteSource> content)>& use) {
  Checksum checksum;
  try {
    ChecksumSource stored(data.open_stored(file), checksum);
    use(plain_content(std::make_unique<BorrowedSource>(stored), file));
    std::vector<std::byte> rest(size_t{1} << 18);
    while (stored.read(rest) > 0) {
    }
  } catch (const Error& error) {
    const std::string name = file.to_string();
    if (error.where().starts_with(name)) throw;  // errors of storage already name the file
    const bool is_of_content = error.code() == Code::kBadData || error.code() == Code::kCorrupt;
    if (is_of_content && !file.is_local()) require_same_again(data.storage(), file, checksum);
    throw error.at(name);
  }
  return checksum;
}

// Returns the sources that were read: the file and, as one source, all objects that it names.
std::vector<Source> append_file(const DataSource& data, const Uri& file, const DataRequest& request,
                                const std::optional<TfdsFolder>& tfds, TableLoader& table) {
  Checksum objects;
  const Checksum checksum = read_content(data, file, [&](std::unique_ptr<ByteSource> content) {
    append_content(std::move(content), std::string(without_compression_suffix(file.file_name())),
                   request, path_below(file, data.uri()), tfds, data.storage(), table, objects);
  });
  std::vector<Source> read = {
      {.role = request.role, .uri = file.to_string(), .checksum = checksum}};
  if (objects.size > 0) {
    read.push_back(
        {.role = request.role, .uri = cat(file.to_string(), kOfTexts), .checksum = objects});
  }
  return read;
}

// The folder of TensorFlow Datasets that holds the files, if there is one and they are records.
std::optional<TfdsFolder> tfds_of(Storage& storage, const std::vector<Uri>& files) {
  for (const Uri& file : files) {
    const std::string name = file.file_name();
    if (names_records(without_compression_suffix(name))) return find_tfds_folder(storage, file);
  }
  return std::nullopt;
}

// Whether all files have the format that the name says. Throws kBadData if some do.
bool all_hold(const std::vector<Uri>& files, const std::string& path,
              bool (*is_named)(std::string_view), const char* what) {
  const auto count = std::count_if(files.begin(), files.end(), [&](const Uri& file) {
    return is_named(without_compression_suffix(file.file_name()));
  });
  if (count == 0 || count == static_cast<ptrdiff_t>(files.size())) return count > 0;
  throw Error(Code::kBadData, cat("has ", what, " beside other files"), path,
              "give one kind at a time");
}

void say_loaded(const LoadedTable& loaded, const std::vector<Uri>& files,
                const DataRequest& request, const TableLoader& loader) {
  if (files.size() == 1 && files.front().url() != Uri::parse(request.path).url()) {
    log_info(cat("read ", counted(loaded.table->rows(), "row"), " of ", files.front().to_string()));
  }
  if (files.size() > 1) {
    log_info(cat("read ", counted(loaded.table->rows(), "row"), " of ", files.size(),
                 " files: ", files.front().to_string(), " to ", files.back().to_string()));
  }
  if (loader.skipped_rows() > 0) {
    log_warning(cat("left out ", counted(loader.skipped_rows(), "bad row"), " of ", loaded.name,
                    "; the first: ", loader.first_skipped()));
  }
  log_findings(loaded.name, loaded.findings, request.shows_texts);
  if (!request.rules.task && loaded.task != kDefaultTask) {
    log_info(cat("task: ", task_name(loaded.task), ", as ", loaded.name,
                 " has its labels; --task says otherwise"));
  }
}

}  // namespace

void log_findings(const std::string& name, std::span<const Finding> findings, bool shows_texts) {
  for (const Finding& found : findings) {
    const bool is_private = !shows_texts && !found.without_texts.empty();
    const std::string text = cat(name, ": ", is_private ? found.without_texts : found.text);
    found.is_warning ? log_warning(text) : log_info(text);
  }
}

namespace {

std::vector<std::string> paths_of(const std::vector<Uri>& files) {
  std::vector<std::string> paths;
  for (const Uri& file : files) paths.push_back(file.path());
  return paths;
}

}  // namespace

std::string other_scale(const std::string& name, const ScoreScale& scale, const std::string& other,
                        const ScoreScale& other_scale) {
  const bool is_below = scale.is_below(other_scale);
  if (!is_below && !other_scale.is_below(scale)) return "";
  return cat("the scores of ", name, " go up to ", scale.largest(), ", and the scores of ", other,
             " up to ", other_scale.largest(),
             ", so they seem to be of different scales; write all of them in one scale");
}

Source read_rows(const DataSource& data, const Uri& file, const std::string& role,
                 const TextForm& form, RowLayout layout,
                 const std::function<void(RowReader& rows)>& use) {
  const std::string name(without_compression_suffix(file.file_name()));
  const Checksum checksum = read_content(data, file, [&](std::unique_ptr<ByteSource> content) {
    if (holds_text(name)) content = as_utf8(std::move(content), form.encoding);
    const std::unique_ptr<RowReader> rows = open_rows(std::move(content), name, layout, form);
    use(*rows);
  });
  return {.role = role, .uri = file.to_string(), .checksum = checksum};
}

LoadedTable load_table(const DataPaths& paths, const DataRequest& request) {
  const DataSource& data = paths.at(request.path);
  LoadedTable loaded{.table = nullptr,
                     .task = kDefaultTask,
                     .columns = {},
                     .name = data.uri().to_string(),
                     .sources = {}};
  TableLoader loader(request.rules);
  std::vector<Uri> files = data.files(request.role);
  const std::optional<TfdsFolder> tfds = tfds_of(data.storage(), files);
  if (tfds) files = split_files(files, request.role);
  all_hold(files, request.path, names_records, "TFRecords");
  if (all_hold(files, request.path, names_token_shard, "shards of tokens")) {
    return load_token_shards(data, request, files);
  }
  for (const Uri& file : files) {
    loader.begin_file(files.size() > 1);
    try {
      for (Source& source : append_file(data, file, request, tfds, loader)) {
        loaded.sources.push_back(std::move(source));
      }
    } catch (const Error& error) {
      if (error.code() == Code::kBadData && !has_choices(request.rules.task)) {
        refuse_class_folders(paths_of(files), loaded.name);
      }
      throw;
    }
    const FileRows& rows = loader.file_rows();
    if (rows.are_repeated()) {
      log_warning(cat(file.to_string(), ": ", rows.repeated(),
                      " of its rows are also rows of the files before it, and count twice; if it "
                      "is a copy, name the files themselves"));
    }
    log_findings(file.to_string(), loader.look_at_file());
    const std::string scales =
        other_scale(file.to_string(), rows.scale(), "the files before it", loaded.scale);
    if (!scales.empty()) log_warning(scales);
    loaded.scale.add(rows.scale());
  }
  try {
    loaded.table = loader.finish();
  } catch (const Error& error) {
    throw error.at(loaded.name);
  }
  loaded.table->name = loaded.name;
  loaded.task = loader.task();
  loaded.columns = loader.columns();
  loaded.sentence_column = loader.sentence_column();
  loaded.label_form = loader.label_form();
  loaded.findings = loader.findings();
  loaded.declared_classes = loader.declared_classes();
  loaded.known_labels = loader.known_labels();
  say_loaded(loaded, files, request, loader);
  return loaded;
}

namespace {

constexpr uint64_t kShardLimitBytes = uint64_t{16} << 30;

// Shards that cannot be mapped. Their rows are copied into the table.
class CopiedShards {
 public:
  CopiedShards(ExampleTable& table, bool keeps_keys) : table_(table), keeps_keys_(keeps_keys) {}

  void append(const TokenShardFile& file) {
    std::optional<TokenShard> shard;
    try {
      shard.emplace(file.bytes());
    } catch (const Error& error) {
      throw error.at(file.name);
    }
    check_.add(file.name, *shard);
    Example example;
    for (uint32_t i = 0; i < shard->sequences(); ++i) {
      shard->read(i, example.token_ids);
      example.token_types.assign(example.token_ids.size(), 0);
      table_.append(example);
      if (keeps_keys_) table_.add_key(example, as_text(shard->bytes(i)), Task::kMaskedLm);
    }
  }
  void finish(std::optional<uint32_t> tokenizer_checksum) { check_.finish(tokenizer_checksum); }

 private:
  ExampleTable& table_;
  const bool keeps_keys_;
  ShardSetCheck check_;
};

Task task_of(const DataRequest& request) { return request.rules.task.value_or(Task::kMaskedLm); }

void require_pre_training(const DataRequest& request) {
  if (traits(task_of(request)).inputs == InputKind::kDocument) return;
  throw Error(Code::kBadData,
              cat("holds tokens to pre-train on, which have no labels and no texts for ",
                  task_name(*request.rules.task)),
              request.path,
              "give --task mlm, with a teacher --distillation-target hidden_states, or --task "
              "electra, or name files of texts");
}

}  // namespace

TokenShardFile read_token_shard_file(const DataSource& data, const Uri& file) {
  TokenShardFile shard{.name = file.to_string()};
  const Compression compression = compression_of(file.file_name());
  std::unique_ptr<ByteSource> source = data.open_stored(file);
  if (compression == Compression::kNone) shard.mapped = source->map();
  if (shard.mapped && !shard.mapped->view()) shard.mapped.reset();
  if (!shard.mapped) {
    source = decompress(std::move(source), compression);
    shard.read = read_all(*source, kShardLimitBytes, shard.name);
  }
  return shard;
}

LoadedTable load_token_shards(const DataSource& data, const DataRequest& request,
                              const std::vector<Uri>& files) {
  require_pre_training(request);
  const LoadRules& rules = request.rules;
  const auto expected =
      rules.tokenizer_checksum ? std::optional(rules.tokenizer_checksum()) : std::nullopt;
  LoadedTable loaded{.table = std::make_unique<ExampleTable>(),
                     .task = task_of(request),
                     .columns = {},
                     .name = data.uri().to_string(),
                     .sources = {}};
  std::vector<TokenShardFile> mapped;
  CopiedShards copied(*loaded.table, rules.keeps_keys);
  for (const Uri& file : files) {
    TokenShardFile shard = read_token_shard_file(data, file);
    Source source{.role = request.role, .uri = file.to_string(), .checksum = {}};
    source.checksum.add(shard.bytes());
    loaded.sources.push_back(std::move(source));
    // Rows are not copied if all shards can be mapped.
    const bool stays = shard.mapped != nullptr && mapped.size() + 1 == loaded.sources.size();
    if (stays) {
      mapped.push_back(std::move(shard));
      continue;
    }
    for (const TokenShardFile& each : mapped) copied.append(each);
    mapped.clear();
    copied.append(shard);
  }
  if (mapped.empty()) {
    copied.finish(expected);
  } else {
    auto shards = std::make_unique<TokenShardSet>(std::move(mapped), expected);
    for (uint32_t row = 0; rules.keeps_keys && row < shards->rows(); ++row) {
      loaded.table->add_key({}, as_text(shards->bytes(row)), Task::kMaskedLm);
    }
    loaded.table->adopt(std::move(shards));
  }
  try {
    loaded.table->finish();
  } catch (const Error& error) {
    throw error.at(request.path);
  }
  loaded.table->name = loaded.name;
  log_info(cat("read ", counted(loaded.table->rows(), "sequence"), " of tokens of ",
               counted(files.size(), "shard"), ": ", loaded.name));
  return loaded;
}

}  // namespace berth
