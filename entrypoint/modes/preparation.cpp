#include "entrypoint/modes/preparation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/job/resolve_settings.h"
#include "entrypoint/modes/corpus_preparation.h"
#include "entrypoint/modes/modes.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "storage/gzip_stream.h"
#include "storage/whole_file.h"
#include "trainer/data/batcher.h"
#include "trainer/data/joined_documents.h"
#include "trainer/data/prepared_tokens.h"
#include "trainer/tasks/glue.h"
#include "trainer/text/tokenizer.h"

namespace berth {
namespace {

using AppendRow = std::function<void(int64_t row, std::vector<std::byte>& bytes)>;

void write_file(ByteSink& sink, bool gzip, int64_t begin, int64_t end, const AppendRow& append) {
  constexpr size_t kWriteBytes = size_t{1} << 20;
  std::optional<GzipWriter> compressed;
  if (gzip) compressed.emplace(sink);
  std::vector<std::byte> bytes;
  const auto write = [&] {
    if (compressed) {
      compressed->write(bytes);
    } else {
      sink.write(bytes);
    }
    bytes.clear();
  };
  for (int64_t row = begin; row < end; ++row) {
    append(row, bytes);
    if (bytes.size() >= kWriteBytes) write();
  }
  write();
  if (compressed) compressed->finish();
}

}  // namespace

std::string shard_suffix(int64_t shard, int64_t shards) {
  return formatted("-%05lld-of-%05lld", static_cast<long long>(shard),
                   static_cast<long long>(shards));
}

std::vector<std::string> prepared_names(const std::string& set,
                                        const PreparedFileOptions& options) {
  std::vector<std::string> names;
  for (int64_t shard = 0; shard < options.num_shards; ++shard) {
    const std::string suffix =
        options.num_shards > 1 ? shard_suffix(shard, options.num_shards) : std::string();
    const bool is_records = options.format == RecordFormat::kTfRecord;
    std::string name = is_records ? set + ".tf_record" + suffix : set + suffix + ".jsonl";
    names.push_back(options.gzip ? name + ".gz" : std::move(name));
  }
  return names;
}

void refuse_leftovers(Storage& storage, const Uri& directory, const std::vector<std::string>& names,
                      const std::function<bool(const std::string& name)>& is_of_set) {
  for (const Stat& file : storage.list(directory)) {
    const std::string name = Uri::parse(file.name).file_name();
    if (file.name != (directory / name).to_string()) continue;  // the file lies in a folder below
    if (!is_of_set(name) || std::ranges::find(names, name) != names.end()) continue;
    throw Error(Code::kIncompatible,
                cat("the directory holds ", name,
                    " of another preparation, which would stay beside ", names.front()),
                directory.to_string(),
                "give a new --export-dir, or remove the files of the other preparation");
  }
}

void refuse_leftovers(Storage& storage, const Uri& directory, const std::string& set,
                      const PreparedFileOptions& options) {
  const bool is_records = options.format == RecordFormat::kTfRecord;
  refuse_leftovers(storage, directory, prepared_names(set, options), [&](const std::string& name) {
    if (is_records) return name.starts_with(set + ".tf_record");
    return name.starts_with(set + ".jsonl") ||
           (name.starts_with(set + "-") && name.find(".jsonl") != std::string::npos);
  });
}

std::string first_of_files(const Uri& directory, const std::vector<std::string>& names) {
  return cat((directory / names.front()).to_string(),
             names.size() > 1 ? cat(" and ", names.size() - 1, " more") : "");
}

void write_prepared(Storage& storage, const Uri& directory, const std::string& set,
                    const PreparedFileOptions& options, int64_t rows, const AppendRow& append) {
  const std::vector<std::string> names = prepared_names(set, options);
  const auto shards = static_cast<int64_t>(names.size());
  for (int64_t shard = 0; shard < shards; ++shard) {
    const int64_t begin = rows * shard / shards, end = rows * (shard + 1) / shards;
    store_object(storage, directory / names[static_cast<size_t>(shard)],
                 [&](ByteSink& sink) { write_file(sink, options.gzip, begin, end, append); });
  }
}

namespace {

// The rows of a table that go into the files of one data set.
struct PreparedSet {
  std::string name;  // "train", "eval", "eval_mm", "test"
  const LoadedTable& table;
  std::vector<uint32_t> rows;
};

// Whether any row has a weight. Tables of texts have a column of weights. Records of token ids must
// be read to find out.
bool has_weights(const LoadedTable& loaded) {
  if (!loaded.columns.weight.empty()) return true;
  if (!loaded.columns.text.empty()) return false;
  for (uint32_t row = 0; row < loaded.table->rows(); ++row) {
    if (loaded.table->read(row).weight != 1) return true;
  }
  return false;
}

std::string processor_type(const std::string& task_flag, Task task) {
  const GlueTask* glue = find_glue_task(task_flag);
  if (glue == nullptr) return std::string(task_name(task));
  if (glue->name == "sst2") return "SST-2";
  if (glue->name == "stsb") return "STS-B";
  std::string name(glue->name);
  for (char& letter : name) letter = static_cast<char>(letter - ('a' <= letter ? 32 : 0));
  return name;
}

// The meta data file of create_finetuning_data.py, to which berth adds the names of the labels in
// the order of their numbers.
std::string meta_data(const std::vector<PreparedSet>& sets, const TokenRecordOptions& options,
                      const std::vector<std::string>& labels, const std::string& processor) {
  OrderedJson object = {{"processor_type", processor}};
  for (const PreparedSet& set : sets) object[set.name + "_data_size"] = set.rows.size();
  object["max_seq_length"] = options.max_seq_length;
  object["task_type"] = traits(options.task).record_type;
  if (traits(options.task).labels == LabelKind::kNumber) {
    object["label_type"] = "float";
  } else {
    object["num_labels"] = options.num_labels;
    object["labels"] = labels;
  }
  object["has_sample_weights"] = options.with_weight;
  return to_text(object, 4) + "\n";
}

// The data sets that a training job with the same flags would use.
std::vector<PreparedSet> sets_of(TrainingRows& rows, const std::optional<LoadedTable>& test) {
  std::vector<PreparedSet> sets = {{"train", rows.train, std::move(rows.split.train)}};
  if (rows.eval) {
    sets.push_back({"eval", *rows.eval, all_rows(*rows.eval)});
  } else if (!rows.split.held_out.empty()) {
    sets.push_back({"eval", rows.train, std::move(rows.split.held_out)});
  }
  if (rows.mismatched) sets.push_back({"eval_mm", *rows.mismatched, all_rows(*rows.mismatched)});
  if (test) sets.push_back({"test", *test, all_rows(*test)});
  return sets;
}

bool make_pairs(Task task) { return traits(task).inputs == InputKind::kSentences; }

// Throws kUsage where there is no form of records for such rows.
void require_preparable(const TrainingRows& rows, bool has_tokenizer) {
  if (make_pairs(rows.task)) {
    if (!holds_texts(*rows.train.table)) {
      throw Error(Code::kUsage, "holds records that are prepared already", rows.train.name,
                  "train on the file itself");
    }
    if (has_tokenizer) return;
    throw Error(Code::kUsage, "rows of texts need a tokenizer", "", "name a model with --model");
  }
  if (!traits(rows.task).record_type.empty()) return;
  throw Error(Code::kUsage,
              cat("rows of ", task_name(rows.task), " cannot be prepared as TFRecords"),
              rows.train.name, "train on the file itself");
}

TokenRecordOptions record_options(const TrainingRows& rows, const DataOptions& data) {
  const int64_t masked =
      Masking::most_masked(data.mlm_probability, data.max_seq_length, /*sequences=*/1);
  return {.task = rows.task,
          .max_seq_length = data.max_seq_length,
          .num_labels = static_cast<int32_t>(rows.labels.size()),
          .with_weight = has_weights(rows.train),
          .most_masked = static_cast<int32_t>(masked)};
}

// How the rows of a set are written.
struct RowForm {
  std::function<Features(int64_t row)> features;
  std::function<std::vector<TfFeature>(const Features& features)> record;
  std::function<std::string(const Features& features)> line;
};

// Removes the earlier files of a set, so that they do not stay beside new files of another set
// where the job ends early. A file whose rows are read stays until it is replaced.
void remove_earlier(Job& job, const Uri& directory, const std::string& set,
                    const std::vector<PreparedSet>& sets) {
  for (const std::string& name : prepared_names(set, job.command_line.tool.prepared)) {
    const auto reads = [&](const PreparedSet& each) {
      return std::ranges::any_of(each.table.sources, [&](const Source& source) {
        return Uri::parse(source.uri).file_name() == name;
      });
    };
    if (std::ranges::none_of(sets, reads)) job.storage.remove(directory / name);
  }
}

// Writes a set of `rows` rows, which the log calls `what`.
void write_set(Job& job, const Uri& directory, const std::string& set, int64_t rows,
               const std::string& what, const RowForm& form) {
  const PreparedFileOptions& files = job.command_line.tool.prepared;
  const auto append = [&](int64_t row, std::vector<std::byte>& bytes) {
    job.stop_point();
    const Features features = form.features(row);
    if (files.format == RecordFormat::kTfRecord) {
      append_tfrecord(bytes, serialize_tf_example(form.record(features)));
      return;
    }
    const std::string line = form.line(features);
    const Bytes added = as_bytes(line);
    bytes.insert(bytes.end(), added.begin(), added.end());
  };
  write_prepared(job.storage, directory, set, files, rows, append);
  log_info(cat("wrote ", what, " to ", first_of_files(directory, prepared_names(set, files))));
}

// Writes the pairs of documents: of rows to train on the pairs of the first epoch, and of other
// rows the pairs of evaluation.
void write_pairs(Job& job, const Uri& directory, const PreparedSet& set, Dataset& pairs,
                 const TokenRecordOptions& options, const Tokenizer& tokenizer) {
  const MaskingRound round =
      set.name == "train" ? MaskingRound::of_epoch(0) : MaskingRound::of_evaluation();
  write_set(job, directory, set.name, pairs.size(),
            cat(counted(pairs.size(), "pair"), " of ", counted(set.rows.size(), "document")),
            {.features = [&](int64_t index) { return masked_features(pairs, index, round); },
             .record = [&](const Features& pair) { return pair_record(pair, options); },
             .line = [&](const Features& pair) { return pair_line(pair, tokenizer); }});
  if (job.command_line.tool.prepared.format != RecordFormat::kTfRecord) return;
  log_info(cat("run_pretraining.py reads these records with --max_predictions_per_seq ",
               options.most_masked, " --max_seq_length ", options.max_seq_length));
}

void write_rows(Job& job, const Uri& directory, const PreparedSet& set, const LabelledData& data,
                const TokenRecordOptions& options, const std::vector<std::string>& labels,
                const Tokenizer* tokenizer) {
  write_set(
      job, directory, set.name, std::ssize(set.rows), counted(set.rows.size(), "row"),
      {.features = [&](int64_t row) { return data.make(set.rows[static_cast<size_t>(row)]); },
       .record = [&](const Features& row) { return token_record(row, options); },
       .line = [&](const Features& row) { return token_line(row, options, labels, tokenizer); }});
}

}  // namespace

void run_preparation(Job& job) {
  const Settings& asked = job.command_line.settings;
  if (prepares_corpus(asked.data, asked.mode)) return run_corpus_preparation(job);
  const DataPaths paths(job.storage);
  ResolvedJob resolved = resolve_settings(paths, job.command_line);
  const Settings& settings = resolved.settings;
  const DataSources& sources = resolved.sources;
  preflight(paths, settings);
  const Uri directory = Uri::parse(settings.output.export_dir);
  for (const char* set : {"train", "eval", "eval_mm", "test"}) {
    refuse_leftovers(job.storage, directory, set, job.command_line.tool.prepared);
  }
  const bool has_tokenizer = !settings.model.model.empty() || !settings.model.vocab_file.empty();
  const std::unique_ptr<Tokenizer> tokenizer =
      has_tokenizer
          ? open_tokenizer(job.storage, settings.model)
          : std::make_unique<NoTokenizer>(Error(Code::kUsage, "rows of texts need a tokenizer", "",
                                                "name a model with --model"));
  use_archived_splits(paths, job.command_line, resolved.settings, resolved.sources);
  TrainingRows rows = load_training_rows(paths, settings, sources, ModelConfig());
  require_preparable(rows, has_tokenizer);
  std::optional<LoadedTable> test;
  if (!sources.predict.path.empty()) {
    DataRequest request = sources.predict;
    request.rules.task = rows.task;
    if (traits(rows.task).has_classes) request.rules.known_labels = rows.labels;
    test = load_table(paths, request);
  }
  const TokenRecordOptions options = record_options(rows, settings.data);
  const std::vector<PreparedSet> sets = sets_of(rows, test);
  // Checks the labels of all sets, and makes all pairs, before anything is written.
  const bool are_pairs = make_pairs(rows.task);
  std::deque<LabelledData> data;
  std::deque<Dataset> pairs;
  for (const PreparedSet& set : sets) {
    data.emplace_back(set.table, rows.task, rows.labels, /*wants_labels=*/true, settings,
                      *tokenizer);
    if (!are_pairs) continue;
    pairs.push_back(set.name == "train" ? data.back().rows(set.rows)
                                        : data.back().rows_to_evaluate(set.rows));
  }
  // The meta data's presence means that the other files are complete. The old ones are therefore
  // removed first, and the new ones are written last.
  const Uri meta = directory / "meta_data.json";
  job.storage.remove(meta);
  for (const PreparedSet& set : sets) remove_earlier(job, directory, set.name, sets);
  for (size_t i = 0; i < sets.size(); ++i) {
    if (are_pairs) {
      write_pairs(job, directory, sets[i], pairs[i], options, *tokenizer);
      continue;
    }
    write_rows(job, directory, sets[i], data[i], options, rows.labels,
               has_tokenizer ? tokenizer.get() : nullptr);
  }
  if (are_pairs) return;  // create_pretraining_data.py writes no meta data
  write_text(job.storage, meta,
             meta_data(sets, options, rows.labels, processor_type(settings.data.task, rows.task)));
}

}  // namespace berth
