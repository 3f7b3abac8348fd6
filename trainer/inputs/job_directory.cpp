#include "trainer/inputs/job_directory.h"

#include <utility>

#include "storage/base/text.h"

namespace berth {
namespace {

// `given` is the value of the flag that moves this part elsewhere. If it is empty, the part lies in
// the job directory.
Uri place_of(const std::string& given, const Uri& root, std::string_view part) {
  return given.empty() ? root / part : Uri::parse(given);
}

}  // namespace

JobDirectory::JobDirectory(Uri root, const OutputOptions& places)
    : root_(std::move(root)),
      model_(place_of(places.export_dir, root_, kModelFolderName)),
      checkpoints_(place_of(places.checkpoint_dir, root_, kCheckpointsFolderName)),
      summaries_(place_of(places.summary_dir, root_, kSummariesFolderName)) {}

std::string_view suffix_of(EmbeddingsFormat format) {
  switch (format) {
    case EmbeddingsFormat::kNpy:
      return ".npy";
    case EmbeddingsFormat::kParquet:
      return ".parquet";
    case EmbeddingsFormat::kJsonl:
      break;
  }
  return ".jsonl";
}

OutputOptions output_of_seed(const OutputOptions& output, uint64_t seed) {
  OutputOptions own = output;
  for (std::string* place :
       {&own.job_dir, &own.export_dir, &own.checkpoint_dir, &own.summary_dir}) {
    if (!place->empty()) *place = (Uri::parse(*place) / cat("seed-", seed)).to_string();
  }
  return own;
}

}  // namespace berth
