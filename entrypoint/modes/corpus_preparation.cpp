#include "entrypoint/modes/corpus_preparation.h"

#include <algorithm>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/modes/preparation.h"
#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "storage/whole_file.h"
#include "trainer/corpus/corpus_cleaner.h"
#include "trainer/corpus/duplicates.h"
#include "trainer/data/cell_text.h"
#include "trainer/text/tokenizer.h"

namespace berth {
namespace {

// Whether a directory's file of this name belongs to the corpus.
bool holds_texts(std::string_view file_name) {
  const std::string_view name = without_compression_suffix(file_name);
  return is_table(name) || names_text_lines(name);
}

std::vector<Uri> corpus_files(const DataSource& source) {
  std::vector<Uri> files = source.text_files(holds_texts);
  for (const Uri& file : files) {
    if (!names_records(without_compression_suffix(file.file_name()))) continue;
    throw Error(Code::kBadData, "holds TFRecords, and a corpus is made of texts", file.to_string(),
                "name the files of texts");
  }
  return files;
}

// Moves the text out of a cell. Returns false if it is missing.
bool take_text(Cell& cell, std::string& text) {
  if (auto* held = std::get_if<std::string>(&cell)) {
    text.swap(*held);
    return true;
  }
  const std::optional<std::string> written = plain_text(cell);
  if (written) text = *written;
  return written.has_value();
}

}  // namespace

CorpusTexts::CorpusTexts(Storage& storage, const DataOptions& data)
    : source_(storage, data.train_data_file),
      rows_(source_, corpus_files(source_),
            {.columns = {.text = data.text_column,
                         .text_pair = data.text_pair_column,
                         .label = data.label_column},
             .form = data.text_form,
             .skip_bad_rows = data.skip_bad_rows}) {}

bool CorpusTexts::next_text(std::string& text) {
  while (rows_.next()) {
    const bool has_text = take_text(rows_.text(), text);
    Cell* const cell = rows_.second_text();
    std::string second;
    if (cell == nullptr || !take_text(*cell, second)) {
      if (has_text) return true;
    } else if (has_text) {
      text.append("\n").append(second);
      return true;
    } else {
      text = std::move(second);
      return true;
    }
  }
  return false;
}

bool CorpusTexts::read(DocumentBatch& batch) {
  batch.size = batch.bytes = 0;
  while (batch.bytes < kBatchBytes && batch.size < kBatchDocuments) {
    if (batch.texts.size() == batch.size) {
      batch.texts.emplace_back();
      batch.places.emplace_back();
    }
    std::string& text = batch.texts[batch.size];
    if (!next_text(text)) break;
    batch.places[batch.size] = {rows_.file(), rows_.number()};
    batch.bytes += text.size();
    ++batch.size;
  }
  return batch.size > 0;
}

std::string CorpusTexts::where(const DocumentBatch::Place& place) const {
  return cat(rows_.files()[place.file].to_string(), ", row ", place.row);
}

void SpilledLines::append(std::string_view line) {
  if (size_ % kLinesPerOffset == 0) offsets_.push_back(file_.size() + pending_.size());
  pending_.append(line) += '\n';
  ++size_;
  if (pending_.size() >= kWriteBytes) flush();
}

void SpilledLines::flush() {
  if (pending_.empty()) return;
  file_.append(as_bytes(pending_));
  pending_.clear();
}

void SpilledLines::seek(int64_t number) {
  const int64_t known = number / kLinesPerOffset;
  window_.clear();
  at_ = 0;
  window_end_ = offsets_[static_cast<size_t>(known)];
  for (next_ = known * kLinesPerOffset; next_ < number; ++next_) next();
}

// Returns the line at window_[at_] with its line feed, and moves on.
std::string_view SpilledLines::next() {
  size_t end = window_.find('\n', at_);
  while (end == std::string::npos) {
    window_.erase(0, at_);
    at_ = 0;
    const size_t kept = window_.size();
    const auto more = std::min<uint64_t>(kWriteBytes, file_.size() - window_end_);
    window_.resize(kept + more);
    file_.read_at(window_end_, std::as_writable_bytes(std::span(window_).subspan(kept)));
    window_end_ += more;
    end = window_.find('\n', kept);
  }
  const std::string_view line = std::string_view(window_).substr(at_, end + 1 - at_);
  at_ = end + 1;
  return line;
}

void SpilledLines::read(int64_t number, std::vector<std::byte>& bytes) {
  flush();
  if (number != next_ || window_end_ == 0) seek(number);
  const Bytes line = as_bytes(next());
  bytes.insert(bytes.end(), line.begin(), line.end());
  ++next_;
}

namespace {

constexpr size_t kPendingBytes = size_t{1} << 20;

std::unique_ptr<FeatureMaker> document_maker(const Tokenizer& tokenizer, int32_t max_seq_length) {
  FeatureOptions options{.task = Task::kMaskedLm, .max_seq_length = max_seq_length};
  options.labelled = false;
  return make_document_features(std::move(options), tokenizer);
}

}  // namespace

std::vector<std::string> token_shard_names(size_t shards) {
  std::vector<std::string> names;
  for (size_t shard = 0; shard < shards; ++shard) {
    names.push_back("train" +
                    shard_suffix(static_cast<int64_t>(shard), static_cast<int64_t>(shards)) +
                    ".tokens");
  }
  return names;
}

void refuse_other_shards(Storage& storage, const Uri& directory,
                         const std::vector<std::string>& names) {
  refuse_leftovers(storage, directory, names,
                   [](const std::string& name) { return names_token_shard(name); });
}

TokenPacker::TokenPacker(const Tokenizer& tokenizer, int32_t max_seq_length, ThreadPool& threads)
    : vocab_size_(static_cast<uint32_t>(tokenizer.vocab_size())),
      max_seq_length_(static_cast<uint32_t>(max_seq_length)),
      tokenizer_checksum_(tokenizer_checksum(tokenizer)),
      maker_(document_maker(tokenizer, max_seq_length)),
      threads_(threads) {}

void TokenPacker::tokenize(const std::string& text, Tokenized& tokenized) const {
  tokenized.ids.clear();
  tokenized.lengths.clear();
  for (const Features& features : maker_->make({.texts = {text}})) {
    for (const int32_t id : features.input_ids) append_token_id(id, vocab_size_, tokenized.ids);
    tokenized.lengths.push_back(static_cast<uint32_t>(features.input_ids.size()));
  }
}

void TokenPacker::add(std::span<const std::string> texts) {
  if (tokenized_.size() < texts.size()) tokenized_.resize(texts.size());
  const auto count = static_cast<int64_t>(texts.size());
  threads_.parallel_for(count, 16, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      tokenize(texts[i], tokenized_[i]);
    }
  });
  for (const Tokenized& document : std::span(tokenized_).first(texts.size())) {
    pending_.insert(pending_.end(), document.ids.begin(), document.ids.end());
    lengths_.insert(lengths_.end(), document.lengths.begin(), document.lengths.end());
    for (const uint32_t length : document.lengths) tokens_ += length;
    mark_ = mixed(mark_ ^ hash_text(as_text(document.ids)).low);
    if (pending_.size() >= kPendingBytes) flush();
  }
}

void TokenPacker::flush() {
  if (!pending_.empty()) file_.append(pending_);
  pending_.clear();
}

std::vector<size_t> TokenPacker::plan(uint64_t shard_bytes) {
  const size_t id_bytes = token_id_bytes(vocab_size_);
  std::vector<size_t> firsts;
  uint64_t bytes = shard_bytes;
  for (size_t i = 0; i < lengths_.size(); ++i) {
    const uint64_t more = sizeof(uint32_t) + lengths_[i] * id_bytes;
    if (bytes + more > shard_bytes) {
      firsts.push_back(i);
      bytes = 0;
    }
    bytes += more;
  }
  return firsts;
}

void TokenPacker::write(Storage& storage, const Uri& directory, const std::vector<size_t>& plan,
                        const std::function<void()>& before_each) {
  flush();
  TokenShardInfo info{.tokenizer_checksum = tokenizer_checksum_,
                      .vocab_size = vocab_size_,
                      .max_seq_length = max_seq_length_,
                      .count = static_cast<uint32_t>(plan.size()),
                      .total_sequences = lengths_.size(),
                      .preparation = mark_};
  const std::vector<std::string> names = token_shard_names(plan.size());
  std::vector<std::byte> ids;
  uint64_t offset = 0;
  for (size_t shard = 0; shard < plan.size(); ++shard) {
    before_each();
    const size_t end = shard + 1 < plan.size() ? plan[shard + 1] : lengths_.size();
    const auto lengths = std::span(lengths_).subspan(plan[shard], end - plan[shard]);
    uint64_t count = 0;
    for (const uint32_t length : lengths) count += length;
    ids.resize(count * token_id_bytes(vocab_size_));
    file_.read_at(offset, ids);
    offset += ids.size();
    info.index = static_cast<uint32_t>(shard);
    store_object(storage, directory / names[shard],
                 [&](ByteSink& sink) { write_token_shard(sink, info, lengths, ids); });
  }
}

namespace {

constexpr const char* kSet = "train";

// {"text": "..."} of valid UTF-8.
void make_json_line(std::string_view text, std::string& line) {
  line = "{\"text\": \"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') {
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20) {
      line += formatted("\\u%04x", byte);
    } else {
      line += '\\';
      line += c;
    }
  }
  line += "\"}";
}

// The output for the documents that remain. Not thread-safe.
class KeptDocuments {
 public:
  virtual ~KeptDocuments() = default;
  virtual void add(std::span<const std::string> texts) = 0;
  // Writes the files and logs what was written. `before_each` is called often.
  virtual void write(const Uri& directory, const std::function<void()>& before_each) = 0;
};

// Texts, one {"text": ...} a line.
class KeptTexts final : public KeptDocuments {
 public:
  KeptTexts(Job& job, const Uri& directory)
      : storage_(job.storage), files_(job.command_line.tool.prepared) {
    files_.format = RecordFormat::kJsonl;
    refuse_leftovers(storage_, directory, kSet, files_);
  }

  void add(std::span<const std::string> texts) override {
    for (const std::string& text : texts) {
      make_json_line(text, line_);
      lines_.append(line_);
    }
  }

  void write(const Uri& directory, const std::function<void()>& before_each) override {
    write_prepared(storage_, directory, kSet, files_, lines_.size(),
                   [&](int64_t row, std::vector<std::byte>& bytes) {
                     if (row % 1024 == 0) before_each();
                     lines_.read(row, bytes);
                   });
    log_info(cat("wrote ", counted(lines_.size(), "document"), " to ",
                 first_of_files(directory, prepared_names(kSet, files_))));
  }

 private:
  Storage& storage_;
  PreparedFileOptions files_;
  SpilledLines lines_;
  std::string line_;
};

// Shards of tokens.
class KeptTokens final : public KeptDocuments {
 public:
  KeptTokens(Job& job, std::unique_ptr<Tokenizer> tokenizer, ThreadPool& threads)
      : storage_(job.storage),
        shard_bytes_(static_cast<uint64_t>(job.command_line.tool.prepared.shard_mebibytes) << 20),
        tokenizer_(std::move(tokenizer)),
        packer_(*tokenizer_, job.command_line.settings.data.max_seq_length, threads) {}

  void add(std::span<const std::string> texts) override { packer_.add(texts); }

  void write(const Uri& directory, const std::function<void()>& before_each) override {
    const std::vector<size_t> plan = packer_.plan(shard_bytes_);
    const std::vector<std::string> names = token_shard_names(plan.size());
    refuse_other_shards(storage_, directory, names);
    packer_.write(storage_, directory, plan, before_each);
    log_info(cat("wrote ", counted(packer_.tokens(), "token"), " in ",
                 counted(packer_.sequences(), "sequence"), " to ",
                 first_of_files(directory, names)));
  }

 private:
  Storage& storage_;
  const uint64_t shard_bytes_;
  const std::unique_ptr<Tokenizer> tokenizer_;
  TokenPacker packer_;
};

// Throws kUsage where a flag contradicts what is written.
void check_format(const CommandLine& command_line, bool writes_tokens) {
  if (command_line.gives("record-format") &&
      command_line.tool.prepared.format != RecordFormat::kJsonl) {
    throw Error(Code::kUsage, "texts for pre-training are not written as TFRecords",
                "--record-format", "use jsonl, or leave the flag out");
  }
  for (const Flag& flag : flag_table()) {
    const bool is_useless = writes_tokens && flag.role.has(kNotForTokens);
    if (!is_useless || !command_line.gives(flag.name)) continue;
    throw Error(Code::kUsage, "shards of tokens are cut by --shard-size and are not compressed",
                cat("--", flag.name), "leave it out, or write texts with --record-format jsonl");
  }
  if (!writes_tokens && command_line.gives("shard-size")) {
    throw Error(Code::kUsage, "only shards of tokens have a size", "--shard-size",
                "name a tokenizer with --model or --vocab-file, or use --num-shards");
  }
}

std::unique_ptr<KeptDocuments> make_kept_documents(Job& job, const Uri& directory,
                                                   ThreadPool& threads) {
  const ModelOptions& model = job.command_line.settings.model;
  const bool has_tokenizer = !model.model.empty() || !model.vocab_file.empty();
  const bool writes_tokens = has_tokenizer && !job.command_line.gives("record-format");
  check_format(job.command_line, writes_tokens);
  if (!writes_tokens) return std::make_unique<KeptTexts>(job, directory);
  return std::make_unique<KeptTokens>(job, open_tokenizer(job.storage, model), threads);
}

// Reads all documents, the next batch while the threads clean the one before it.
void clean_corpus(Job& job, CorpusTexts& texts, CorpusCleaner& cleaner, KeptDocuments& kept) {
  DocumentBatch batch, next;
  std::vector<std::string> cleaned;
  bool has_next = texts.read(next);
  Background reading;
  while (has_next) {
    job.stop_point();
    std::swap(batch, next);
    reading.submit([&] { has_next = texts.read(next); });
    cleaner.clean(
        std::span(batch.texts).first(batch.size),
        [&](size_t i) { return texts.where(batch.places[i]); },
        [&](std::string_view text) { cleaned.emplace_back(text); });
    kept.add(cleaned);
    cleaned.clear();
    reading.wait();
  }
}

}  // namespace

void run_corpus_preparation(Job& job) {
  Settings settings = job.command_line.settings;
  CorpusTexts texts(job.storage, settings.data);
  settings.data.train_data_file.clear();  // found already, and it need not be a table
  preflight(job.storage, settings);
  const Uri directory = Uri::parse(settings.output.export_dir);
  ThreadPool threads(compute_threads(settings));
  const std::unique_ptr<KeptDocuments> kept = make_kept_documents(job, directory, threads);

  const CleaningOptions& options = job.command_line.tool.cleaning;
  CorpusCleaner cleaner(options, threads);
  clean_corpus(job, texts, cleaner, *kept);
  const CleaningReport& report = cleaner.report();
  for (const std::string& line : report_lines(report)) log_info(line);
  if (texts.skipped_rows() > 0) {
    log_warning(cat("left out ", counted(texts.skipped_rows(), "bad row")));
  }

  const Uri report_file = directory / "cleaning_report.json";
  job.storage.remove(report_file);
  if (report.kept.documents > 0) kept->write(directory, [&] { job.stop_point(); });
  write_text(job.storage, report_file, report_json(report, options));
  log_info("the report is in " + report_file.to_string());
  if (report.kept.documents > 0) return;
  throw Error(Code::kBadData, "no document is left after cleaning",
              job.command_line.settings.data.train_data_file,
              report_file.to_string() + " says why; loosen the rules that removed them");
}

}  // namespace berth
