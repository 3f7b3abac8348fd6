#include "entrypoint/modes/tokenizer_training.h"

#include <string>

#include "entrypoint/job/preflight.h"
#include "entrypoint/job/text_files.h"
#include "entrypoint/modes/tokenizer_progress.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/whole_file.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/training/tokenizer_trainer.h"

namespace berth {
namespace {

void say_what_was_read(const TextStatistics& text, uint64_t distinct_words, size_t files) {
  log_info(cat("read ", human_bytes(text.bytes), " of text in ", counted(text.rows, "row"), " of ",
               counted(files, "file"), ": ", counted(distinct_words, "distinct word")));
  if (text.malformed > 0) {
    log_warning(cat(counted(text.malformed, "malformed sequence"),
                    " of bytes, which are not UTF-8, were read as U+FFFD"));
  }
  if (text.long_words > 0) {
    log_warning(cat(counted(text.long_words, "word"), " were left out because of their length"));
  }
  if (text.words_removed > 0) {
    log_warning(cat("the memory for words was full, so ", counted(text.words_removed, "rare word"),
                    " were removed while counting; a "
                    "word's count may be too low by at most ",
                    text.largest_deficit));
  }
}

// Loads the tokenizer from the files just made, so that no job ends with files that cannot be read.
void require_loadable(const TrainedTokenizer& trained) {
  load_tokenizer([&](std::string_view name) -> std::optional<std::string> {
    for (const Tokenizer::File& file : trained.files) {
      if (file.name == name) return file.content;
    }
    return std::nullopt;
  });
}

}  // namespace

void run_tokenizer_training(Job& job) {
  const Settings& settings = job.command_line.settings;
  preflight(job.storage, settings);
  TokenizerTrainingOptions options = job.command_line.tool.tokenizer;
  options.lowercase = settings.model.do_lower_case;
  TextFiles files(job.storage, settings.data.train_data_file, settings.data.text_column,
                  settings.data.text_pair_column, settings.data.text_form);
  TokenizerProgress progress;
  const auto read = [&](TextBlock& block) {
    job.stop_point();
    if (!files.next(block)) return false;
    progress.on_texts(block.rows(), block.bytes.size());
    return true;
  };
  const TokenizerObserver observer{.on_words =
                                       [&](const TextStatistics& text, uint64_t distinct_words) {
                                         say_what_was_read(text, distinct_words, files.size());
                                       },
                                   .on_pieces =
                                       [&](size_t pieces, size_t goal) {
                                         job.stop_point();
                                         progress.on_pieces(pieces, goal);
                                       }};
  ThreadPool pool(compute_threads(settings));
  TrainedTokenizer trained;
  try {
    trained = train_tokenizer(read, options, pool, observer);
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw error.at(settings.data.train_data_file);
  }
  if (trained.vocab_size < vocab_size_of(options)) {
    log_warning(cat("the vocabulary has ", trained.vocab_size, " pieces and not ",
                    vocab_size_of(options), ", because no other pair occurs ",
                    counted(options.min_frequency, "time"), " in these texts"));
  }
  require_loadable(trained);
  const std::string& place =
      settings.output.export_dir.empty() ? settings.output.job_dir : settings.output.export_dir;
  const Uri directory = Uri::parse(place);
  for (const Tokenizer::File& file : trained.files) {
    write_text(job.storage, directory / file.name, file.content);
  }
  log_info(cat("wrote a tokenizer of ", trained.vocab_size, " pieces to ", directory.to_string()));
}

}  // namespace berth
