#include "entrypoint/modes/corpus_preparation.h"

#include <cstdio>

#include "entrypoint/job/open_tokenizer.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/modes/corpus_texts.h"
#include "entrypoint/modes/prepared_files.h"
#include "entrypoint/modes/spilled_lines.h"
#include "entrypoint/modes/token_packing.h"
#include "storage/base/background.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/whole_file.h"
#include "trainer/corpus/cleaning_report.h"
#include "trainer/corpus/corpus_cleaner.h"

namespace berth {
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
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      line += escape;
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
                 (directory / prepared_names(kSet, files_).front()).to_string(),
                 files_.num_shards > 1 ? cat(" and ", files_.num_shards - 1, " more") : ""));
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
                 (directory / names.front()).to_string(),
                 plan.size() > 1 ? cat(" and ", plan.size() - 1, " more") : ""));
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
    throw Error(Code::kUsage, "what a model is pre-trained on is not written as TFRecords",
                "--record-format", "use jsonl, or leave the flag out");
  }
  for (const char* flag : {"num-shards", "compress"}) {
    if (!writes_tokens || !command_line.gives(flag)) continue;
    throw Error(Code::kUsage, "shards of tokens are cut by --shard-size and are not compressed",
                cat("--", flag), "leave it out, or write texts with --record-format jsonl");
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
