#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/vector_writer.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/job_record.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/vector_code.h"

// --mode embed: vectors in one file, or in a folder of files:
//
//   _plan.json            what the folder is to hold, written first; a process with another plan is
//                         refused
//   part-00000-of-00003.npy, ...
//   _ranges.npy           float32 [2, width]: the ranges of int8 and uint8
//   _manifest.json        the files and their rows, written last
//
// The names that begin with _ are ignored by readers of Parquet folders.
namespace berth {
namespace {

constexpr int64_t kCalibrationRows = 10'000;  // from which the ranges of int8 are taken, at most

std::unique_ptr<VectorWriter> make_writer(EmbeddingsFormat format, ByteSink& sink,
                                          const VectorTable& table) {
  switch (format) {
    case EmbeddingsFormat::kNpy:
      return make_npy_writer(sink, table);
    case EmbeddingsFormat::kParquet:
      return make_vector_table_writer(sink, table);
    case EmbeddingsFormat::kJsonl:
      break;
  }
  return make_vector_lines_writer(sink, table);
}

VectorNumbers numbers_of(EmbeddingsType type) {
  if (type == EmbeddingsType::kFloat32) return VectorNumbers::kFloat32;
  const bool is_signed = type == EmbeddingsType::kInt8 || type == EmbeddingsType::kBinary;
  return is_signed ? VectorNumbers::kInt8 : VectorNumbers::kUint8;
}

std::string_view name_of(Pooling pooling) {
  return pooling == Pooling::kMean ? "mean" : pooling == Pooling::kCls ? "cls" : "max";
}

void warn_of_empty_texts(const Dataset& data) {
  int64_t empty = 0;
  const InputKind inputs = traits(data.task()).inputs;
  for (int64_t i = 0; i < data.size(); ++i) empty += is_empty_row(data.example(i), inputs);
  if (empty == 0) return;
  log_warning(cat(counted(empty, "row"), empty == 1 ? " has" : " have",
                  " no text and the embedding of an empty text"));
}

// How the embeddings of this model are made. Logs it.
EmbeddingForm form_of(const FinishedModel& finished) {
  const Settings& settings = finished.settings();
  const ModelConfig& config = finished.config();
  const SentenceFiles& files = finished.sentences();
  // As encode() does: the folder's Normalize comes before truncate_dim, a wish to normalize behind.
  const std::optional<int64_t> asked = settings.embedding.truncate_dim;
  const int64_t width = asked.value_or(files.truncate_dim.value_or(config.embedding_dimension()));
  EmbeddingForm form{
      .normalizes = files.normalizes && config.normalizes_embeddings,
      .width = static_cast<size_t>(std::min(config.embedding_dimension(), width)),
      .normalizes_after = config.normalizes_embeddings && settings.embedding.normalizes,
      .code = {.type = settings.embedding.type}};
  log_info(cat("embeddings: ", form.width, " numbers",
               width >= config.embedding_dimension() ? ""
               : asked                               ? " (--truncate-dim)"
                                                     : " (truncate_dim)",
               ", pooling ", name_of(config.pooling),
               config.normalizes_embeddings ? ", scaled to length 1" : "", ", texts of at most ",
               settings.data.max_seq_length, " tokens"));
  const EmbeddingsType type = form.code.type;
  if (type != EmbeddingsType::kFloat32) log_info(cat("they are written as ", name_of(type)));
  if (needs_ranges(type) || form.code.width(form.width) * 8 == form.width ||
      type == EmbeddingsType::kFloat32) {
    return form;
  }
  throw Error(Code::kUsage,
              cat("eight numbers become one byte, and embeddings have ", form.width, " numbers"),
              "--embeddings-type", "give a --truncate-dim that is a multiple of 8");
}

// Takes the ranges of the vectors that it is given.
class RangeFinder final : public VectorWriter {
 public:
  void add(const VectorRow& row) override { ranges_.add(row.vector); }
  const ValueRanges& ranges() const { return ranges_; }

 private:
  ValueRanges ranges_;
};

// Passes on how far an evaluation is that is a part of a longer one.
class PartOf final : public Observer {
 public:
  PartOf(Observer& whole, int64_t first, int64_t total)
      : whole_(whole), first_(first), total_(total) {}
  void on_evaluating(int64_t done, int64_t) override {
    whole_.on(Evaluating{.done = first_ + done, .total = total_});
  }

 private:
  Observer& whole_;
  const int64_t first_, total_;
};

// Embeds rows of one table. All workers of the job call the same functions in the same order;
// worker 0 alone writes. Borrows its arguments.
class Embedder {
 public:
  Embedder(Job& job, FinishedModel& finished, const LoadedTable& loaded, const LabelledData& rows)
      : job_(job),
        finished_(finished),
        rows_(rows),
        has_ids_(loaded.table->has_ids),
        data_(rows.all_rows()),
        engine_(finished.engine_for(loaded, data_)),
        form_(form_of(finished)) {}

  const Dataset& data() const { return data_; }
  const EmbeddingForm& form() const { return form_; }

  // Takes the ranges of int8 from some of the rows, which are evenly spaced.
  void find_ranges() {
    const int64_t count = std::min(data_.rows(), kCalibrationRows);
    if (count == 1) {
      throw Error(Code::kUsage, "the numbers of one row have no range", "--embeddings-type",
                  "give more rows, or leave it out");
    }
    constexpr int64_t kFewRows = 100;
    if (count < kFewRows) {
      log_warning(cat("ranges of ", count, " rows hardly say what other texts have; ",
                      name_of(form_.code.type), " needs ", kFewRows, " rows or more"));
    }
    std::vector<uint32_t> some;
    for (int64_t i = 0; i < count; ++i) {
      some.push_back(static_cast<uint32_t>(i * data_.rows() / count));
    }
    log_info(
        cat("the ranges of ", name_of(form_.code.type), " are taken from ", counted(count, "row")));
    Dataset part = rows_.rows(std::move(some));
    EmbeddingForm plain = form_;
    plain.code = {};
    RangeFinder finder;
    run(part, plain, &finder, job_.output);
    form_.code.ranges = finder.ranges();
  }
  void use_ranges(ValueRanges ranges) { form_.code.ranges = std::move(ranges); }

  void write_all(ByteSink* sink) { write(data_, sink, job_.output); }
  // The rows from `first` to before `last`.
  void write_part(int64_t first, int64_t last, ByteSink* sink) {
    std::vector<uint32_t> numbers(static_cast<size_t>(last - first));
    std::iota(numbers.begin(), numbers.end(), static_cast<uint32_t>(first));
    Dataset part = rows_.rows(std::move(numbers));
    PartOf observer(job_.output, first, data_.rows());
    write(part, sink, observer);
  }

  // The ranges as quantize_embeddings() takes them.
  void write_ranges(const Uri& uri) const {
    store_object(job_.storage, uri, [this](ByteSink& sink) {
      const auto writer = make_npy_writer(sink, {.rows = 2, .width = form_.width});
      writer->add({.vector = form_.code.ranges.lowest});
      writer->add({.vector = form_.code.ranges.highest});
      writer->finish();
    });
  }

 private:
  void write(Dataset& part, ByteSink* sink, Observer& observer) {
    std::unique_ptr<VectorWriter> writer;
    if (sink != nullptr) {
      writer = make_writer(finished_.settings().embedding.format, *sink,
                           {.rows = static_cast<uint64_t>(part.rows()),
                            .width = form_.code.width(form_.width),
                            .has_ids = has_ids_,
                            .numbers = numbers_of(form_.code.type)});
    }
    run(part, form_, writer.get(), observer);
  }

  void run(Dataset& part, const EmbeddingForm& form, VectorWriter* writer, Observer& observer) {
    const int64_t batch_size = finished_.settings().training.examples_per_evaluation_batch();
    if (!write_embeddings(engine_, part, batch_size, form, writer, observer, job_.stop,
                          job_.ranks)) {
      throw_stopped();
    }
  }

  Job& job_;
  FinishedModel& finished_;
  const LabelledData& rows_;
  const bool has_ids_;
  Dataset data_;
  Engine& engine_;
  EmbeddingForm form_;
};

// A folder of files of embeddings. A process that was stopped left some of them, each as a whole.
// The next one with the same plan goes on behind them.
class EmbeddingFolder {
 public:
  EmbeddingFolder(Job& job, const FinishedModel& finished, Uri folder, int64_t rows)
      : job_(job),
        storage_(job.storage),
        leads_(job.leads()),
        folder_(std::move(folder)),
        suffix_(suffix_of(finished.settings().embedding.format)),
        rows_(rows),
        file_rows_(finished.settings().embedding.file_rows),
        files_((rows + file_rows_ - 1) / file_rows_) {}

  // Writes the files that are not there. `identity` is a text that changes with any input or
  // setting on which the vectors depend. Throws kIncompatible where the folder holds other ones.
  void write(Embedder& embedder, const std::string& identity) {
    if (leads_) begin(embedder, identity);
    if (needs_ranges(embedder.form().code.type) && on_all(!has_ranges_)) {
      embedder.find_ranges();
    }
    if (leads_ && !has_plan_) write_plan(embedder.form().code.ranges, identity);
    int64_t found = 0;
    for (int64_t file = 0; file < files_; ++file) {
      const bool is_there = on_all(leads_ && is_written(file));
      found += is_there ? 1 : 0;
      if (!is_there) write_file(embedder, file);
    }
    if (!leads_) return;
    if (needs_ranges(embedder.form().code.type)) embedder.write_ranges(folder_ / "_ranges.npy");
    write_text(storage_, folder_ / "_manifest.json", manifest(embedder.form()));
    log_info(cat("the folder ", folder_.to_string(), " has ", counted(files_, "file"),
                 " of embeddings, of which ", found, found == 1 ? " was" : " were",
                 " there already"));
  }

 private:
  // Worker 0 knows what is there, and tells the others.
  bool on_all(bool is_so) const {
    return job_.ranks == nullptr ? is_so : any_rank(*job_.ranks, leads_ && is_so);
  }

  int64_t first_row(int64_t file) const { return file * file_rows_; }
  int64_t end_row(int64_t file) const { return std::min(rows_, first_row(file) + file_rows_); }
  std::string name(int64_t file) const {
    return cat("part-", padded(file), "-of-", padded(files_), suffix_);
  }
  static std::string padded(int64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
  }

  bool is_written(int64_t file) const {
    return has_plan_ && storage_.stat(folder_ / name(file)).has_value();
  }

  // Reads the plan that an earlier process left.
  void begin(Embedder& embedder, const std::string& identity) {
    const Uri place = folder_ / "_plan.json";
    const std::optional<std::string> text = read_text(storage_, place);
    if (!text) {
      // The plan is written before the first file.
      const auto is_part = [&](const Stat& file) {
        const std::string_view name = last_part(file.name);
        return name.starts_with("part-") && name.ends_with(suffix_);
      };
      if (std::ranges::none_of(storage_.list(folder_), is_part)) return;
      throw Error(Code::kIncompatible,
                  "the folder holds embeddings without the plan (_plan.json) that says of which "
                  "rows and which model they are",
                  folder_.to_string(), "use another --job-dir, or remove the folder");
    }
    const Json plan = parse_json(*text);
    const JsonObject members(&plan);
    if (members.text("identity") != identity || members.integer("rows") != rows_ ||
        members.integer("file_rows") != file_rows_) {
      throw Error(Code::kIncompatible,
                  "the folder holds embeddings of other rows, of another model or with other "
                  "settings",
                  folder_.to_string(), "use another --job-dir, or remove the folder");
    }
    has_plan_ = true;
    ValueRanges ranges{.lowest = numbers(members, "lowest"),
                       .highest = numbers(members, "highest")};
    has_ranges_ = ranges.lowest.size() == embedder.form().width &&
                  ranges.highest.size() == ranges.lowest.size();
    if (has_ranges_) embedder.use_ranges(std::move(ranges));
  }

  static std::vector<float> numbers(const JsonObject& members, const std::string& name) {
    std::vector<float> values;
    const Json* const list = members.list(name);
    if (list == nullptr) return values;
    for (const Json& value : *list) {
      if (value.is_number()) values.push_back(value.get<float>());
    }
    return values;
  }

  void write_plan(const ValueRanges& ranges, const std::string& identity) {
    Json plan{{"identity", identity}, {"rows", rows_}, {"file_rows", file_rows_}};
    if (!ranges.lowest.empty()) {
      plan["lowest"] = ranges.lowest;
      plan["highest"] = ranges.highest;
    }
    write_text(storage_, folder_ / "_plan.json", to_text(plan) + "\n");
    has_plan_ = true;
  }

  void write_file(Embedder& embedder, int64_t file) {
    if (!leads_) return embedder.write_part(first_row(file), end_row(file), nullptr);
    store_results(job_, folder_ / name(file), [&](ByteSink& sink) {
      embedder.write_part(first_row(file), end_row(file), &sink);
    });
  }

  std::string manifest(const EmbeddingForm& form) const {
    OrderedJson files = OrderedJson::array();
    for (int64_t file = 0; file < files_; ++file) {
      files.push_back({{"file", name(file)},
                       {"first_row", first_row(file)},
                       {"rows", end_row(file) - first_row(file)}});
    }
    const OrderedJson manifest{{"rows", rows_},
                               {"dimensions", form.width},
                               {"type", berth::name_of(form.code.type)},
                               {"normalized", form.normalizes || form.normalizes_after},
                               {"files", files}};
    return to_text(manifest, 2) + "\n";
  }

  Job& job_;
  Storage& storage_;
  const bool leads_;
  const Uri folder_;
  const std::string_view suffix_;
  const int64_t rows_, file_rows_, files_;
  bool has_plan_ = false, has_ranges_ = false;
};

// Changes with every input and setting on which the vectors depend.
std::string identity_of(const FinishedModel& finished, const LoadedTable& loaded,
                        const EmbeddingForm& form) {
  JobRecord record{.sources = loaded.sources};
  for (const Source& source : finished.files()) record.sources.push_back(source);
  const Settings& settings = finished.settings();
  // Earlier versions knew these columns of ids alone.
  const std::string& id = loaded.columns.id;
  const bool is_new = !id.empty() && !is_one_of("id qid guid", lower_ascii(id));
  return cat(job_identity(record), " rows ", crc_text(loaded.table->digest()), " ids ",
             quoted(finished.sources().predict.rules.columns.id),
             is_new ? cat(" of ", quoted(id)) : "", " config ",
             crc_text(crc32c(as_bytes(to_config_json(finished.config())))), " ",
             berth::name_of(settings.precision), " ", tokenizer_checksum(finished.tokenizer()), " ",
             name_of(finished.config().pooling), " ", form.normalizes, form.normalizes_after, " ",
             form.width, " ", berth::name_of(form.code.type), " ", settings.data.max_seq_length,
             " ", static_cast<int>(settings.embedding.format),
             settings.embedding.default_prompt.empty() ? "" : " prompt ",
             settings.embedding.default_prompt);
}

// Writes one file, and for int8 its ranges beside it.
void write_one_file(Job& job, Embedder& embedder, const Uri& place) {
  if (!job.leads()) return embedder.write_all(nullptr);
  store_results(job, place, [&](ByteSink& sink) { embedder.write_all(&sink); });
  if (!needs_ranges(embedder.form().code.type)) return;
  const Uri ranges = place.with_path(place.path() + ".ranges.npy");
  embedder.write_ranges(ranges);
  log_info("the ranges of the numbers are in " + ranges.to_string());
}

}  // namespace

void run_embedding(Job& job) {
  FinishedModel finished(job);
  const Settings& settings = finished.settings();
  DataRequest request = finished.sources().predict;
  request.rules.keeps_missing_texts = true;
  const LoadedTable loaded = finished.load(request);
  const LabelledData rows(loaded, finished.config().task, /*labels=*/{}, /*wants_labels=*/false,
                          settings, finished.tokenizer());
  warn_of_tokens(loaded, finished.config(), settings, finished.tokenizer());
  Embedder embedder(job, finished, loaded, rows);
  const EmbeddingsFormat format = settings.embedding.format;
  const std::string& file = job.command_line.tool.predictions_file;
  const bool is_folder = settings.embedding.file_rows > 0;
  if (!is_folder && needs_ranges(settings.embedding.type)) embedder.find_ranges();
  if (file == "-" || (file.empty() && settings.output.job_dir.empty())) {
    StandardOutput output;
    embedder.write_all(job.leads() ? &output : nullptr);
    if (job.leads()) output.close();
  } else if (is_folder) {
    const Uri place = file.empty() ? JobDirectory(settings.output).embeddings() : Uri::parse(file);
    EmbeddingFolder folder(job, finished, place, embedder.data().rows());
    folder.write(embedder, identity_of(finished, loaded, embedder.form()));
    if (job.leads()) job.progress.set_results(embedding_folder_results(place, format));
  } else {
    const Uri place =
        file.empty() ? JobDirectory(settings.output).embeddings(format) : Uri::parse(file);
    write_one_file(job, embedder, place);
    if (job.leads()) job.progress.set_results(embedding_results(place, format));
  }
  job.output.on(JobFinished{});
  warn_of_empty_texts(embedder.data());
  log_info("embedded " + counted(embedder.data().rows(), "text"));
}

}  // namespace berth
