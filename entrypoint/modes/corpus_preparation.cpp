#include "entrypoint/modes/corpus_preparation.h"

#include <cstdio>

#include "entrypoint/job/preflight.h"
#include "entrypoint/modes/corpus_texts.h"
#include "entrypoint/modes/prepared_files.h"
#include "entrypoint/modes/spilled_lines.h"
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

// The files that are asked for. Texts have one format only.
PreparedFileOptions file_options(const CommandLine& command_line) {
  PreparedFileOptions options = command_line.tool.prepared;
  if (command_line.gives("record-format") && options.format != RecordFormat::kJsonl) {
    throw Error(Code::kUsage, "texts to pre-train on are not written as TFRecords",
                "--record-format", "use jsonl");
  }
  options.format = RecordFormat::kJsonl;
  return options;
}

// Reads all documents, the next batch while the threads clean the one before it.
void clean_corpus(Job& job, CorpusTexts& texts, CorpusCleaner& cleaner,
                  const std::function<void(std::string_view)>& keep) {
  DocumentBatch batch, next;
  bool has_next = texts.read(next);
  Background reading;
  while (has_next) {
    job.stop_point();
    std::swap(batch, next);
    reading.submit([&] { has_next = texts.read(next); });
    cleaner.clean(
        std::span(batch.texts).first(batch.size),
        [&](size_t i) { return texts.where(batch.places[i]); }, keep);
    reading.wait();
  }
}

}  // namespace

void run_corpus_preparation(Job& job) {
  Settings settings = job.command_line.settings;
  const PreparedFileOptions files = file_options(job.command_line);
  CorpusTexts texts(job.storage, settings.data);
  settings.data.train_data_file.clear();  // found already, and it need not be a table
  preflight(job.storage, settings);
  const Uri directory = Uri::parse(settings.output.export_dir);
  refuse_leftovers(job.storage, directory, kSet, files);

  const CleaningOptions& options = job.command_line.tool.cleaning;
  ThreadPool threads(compute_threads(settings));
  CorpusCleaner cleaner(options, threads);
  SpilledLines kept;
  std::string line;
  clean_corpus(job, texts, cleaner, [&](std::string_view text) {
    make_json_line(text, line);
    kept.append(line);
  });
  for (const std::string& said : report_lines(cleaner.report())) log_info(said);
  if (texts.skipped_rows() > 0) {
    log_warning(cat("left out ", counted(texts.skipped_rows(), "bad row")));
  }

  const Uri report = directory / "cleaning_report.json";
  job.storage.remove(report);
  const std::string report_text = report_json(cleaner.report(), options);
  if (kept.size() == 0) {
    write_text(job.storage, report, report_text);
    throw Error(Code::kBadData, "no document is left after cleaning",
                job.command_line.settings.data.train_data_file,
                report.to_string() + " says why; loosen the rules that removed them");
  }
  write_prepared(job.storage, directory, kSet, files, kept.size(),
                 [&](int64_t row, std::vector<std::byte>& bytes) {
                   if (row % 1024 == 0) job.stop_point();
                   kept.read(row, bytes);
                 });
  write_text(job.storage, report, report_text);
  const std::string first = (directory / prepared_names(kSet, files).front()).to_string();
  log_info(cat("wrote ", counted(kept.size(), "document"), " to ", first,
               files.num_shards > 1 ? cat(" and ", files.num_shards - 1, " more") : "",
               ", and the report to ", report.to_string()));
}

}  // namespace berth
