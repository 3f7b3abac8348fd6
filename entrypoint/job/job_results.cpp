#include "entrypoint/job/job_results.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>

#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

bool is_stored(Storage& storage, const Uri& file) {
  try {
    return storage.stat(file).has_value();
  } catch (const Error&) {  // the job has finished, whatever storage does now
    return false;
  }
}

// Whether `directory` is removed together with the container that runs this process: it lies on the
// container's own file system, and on no volume.
bool goes_with_container(const CommandLine& command_line, const Uri& directory) {
  if (!command_line.program.empty() || !directory.is_local()) return false;
  struct stat root {
  }, own{};
  return ::stat("/", &root) == 0 && ::stat(directory.path().c_str(), &own) == 0 &&
         root.st_dev == own.st_dev;
}

// A command line of this program, flag by flag.
class NextCommand {
 public:
  explicit NextCommand(const std::string& program)
      : text_(program.empty() ? "" : shell_quoted(program, /*expands=*/false)) {}

  NextCommand& add(std::string_view flag, const std::string& value) {
    if (!text_.empty()) text_ += ' ';
    text_ += typed_flag(*look_up_flag(flag).flag, value, /*expands=*/false);
    return *this;
  }

  // The flags that say how to reach the storage of `line`'s job.
  NextCommand& add_storage(const CommandLine& line) {
    for (const Flag& flag : storage_flags()) {
      if (line.gives(flag.name)) add(flag.name, flag.value.get(line));
    }
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A name for a file of new rows. Sentences in words and questions have no usual form as a CSV file.
const char* new_file(Task task) {
  switch (traits(task).inputs) {
    case InputKind::kWords:
      return "new.conll";
    case InputKind::kQuestion:
      return "new.json";
    default:
      return "new.csv";
  }
}

// Where a job that goes on with the model of `job_dir` may write.
std::string later_job(std::string job_dir) {
  while (job_dir.size() > 1 && job_dir.ends_with('/')) job_dir.pop_back();
  const std::string_view name = last_part(job_dir);
  return name.empty() || name == "." || name == ".." ? "fine-tuned" : job_dir + "-fine-tuned";
}

// A string literal of Python. JSON escapes what Python does, and in the same way.
std::string python_literal(const std::string& text) { return to_text(Json(text)); }

}  // namespace

JobResults training_results(const CommandLine& command_line, Storage& storage,
                            const JobDirectory& directory, Task task) {
  JobResults results{.model = directory.model().to_string()};
  if (is_stored(storage, directory.report())) results.report = directory.report().to_string();
  if (goes_with_container(command_line, directory.root())) {
    log_info(
        "the results are inside this container: copy them with docker cp before it is removed, or "
        "mount a folder and name it with --job-dir");
    return results;
  }
  const std::string& job_dir = command_line.settings.output.job_dir;
  NextCommand next(command_line.program);
  if (makes_embeddings(task)) {
    results.next_purpose = "turn the texts of a new file into vectors";
    next.add("mode", "embed").add("predict-data-file", new_file(task)).add("job-dir", job_dir);
  } else if (results_of(task).lines != nullptr) {
    results.next_purpose = "predict the rows of a new file (labels are not needed)";
    next.add("mode", "predict").add("predict-data-file", new_file(task)).add("job-dir", job_dir);
  } else {
    results.next_purpose = "fine-tune it on texts with labels";
    next.add("model", results.model)
        .add("train-data-file", "labelled.csv")
        .add("job-dir", later_job(job_dir));
  }
  results.next = next.add_storage(command_line).text();
  if (command_line.program.empty()) {
    results.next_purpose += ", run the same container with these arguments";
  }
  return results;
}

JobResults prediction_results(const Uri& file) {
  const std::string place = file.to_string();
  return {.predictions = place,
          .read = cat("pandas.read_csv(", python_literal(place),
                      ", sep=\"\\t\", keep_default_na=False, na_values=[\"\"])")};
}

JobResults embedding_folder_results(const Uri& folder, EmbeddingsFormat format) {
  const std::string place = folder.to_string();
  const std::string files = cat("sorted(glob.glob(", python_literal(place + "/part-*"), "))");
  JobResults results{.embeddings = place};
  switch (format) {
    case EmbeddingsFormat::kNpy:
      results.read = cat("numpy.concatenate([numpy.load(file) for file in ", files, "])");
      break;
    case EmbeddingsFormat::kParquet:
      results.read = cat("pandas.read_parquet(", python_literal(place), ")");
      break;
    case EmbeddingsFormat::kJsonl:
      results.read =
          cat("pandas.concat(pandas.read_json(file, lines=True) for file in ", files, ")");
      break;
  }
  return results;
}

JobResults embedding_results(const Uri& file, EmbeddingsFormat format) {
  const std::string place = file.to_string(), literal = python_literal(place);
  JobResults results{.embeddings = place};
  switch (format) {
    case EmbeddingsFormat::kNpy:
      results.read = cat("numpy.load(", literal, ")");
      break;
    case EmbeddingsFormat::kParquet:
      results.read = cat("pandas.read_parquet(", literal, ")");
      break;
    case EmbeddingsFormat::kJsonl:
      results.read = cat("pandas.read_json(", literal, ", lines=True)");
      break;
  }
  return results;
}

}  // namespace berth
