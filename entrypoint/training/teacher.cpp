#include "entrypoint/training/teacher.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>

#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/training_memory.h"
#include "entrypoint/memory/memory_budget.h"
#include "entrypoint/report/progress_lines.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/text/tokenizer.h"

namespace berth {
namespace {

constexpr int64_t kTextsAtOnce = 64;

// The settings by which the teacher's model is read and its batches are cut.
Settings settings_of_teacher(const Settings& job, const std::string& path) {
  Settings settings = job;
  settings.model = {.model = path};
  settings.training.eval_batch_size = kTextsAtOnce;
  return settings;
}

// The longest texts that both the student and the teacher can take.
Settings with_positions(Settings settings, const ModelConfig& config) {
  const auto most = static_cast<int32_t>(config.max_sequence_length());
  settings.data.max_seq_length = std::min(settings.data.max_seq_length, most);
  return settings;
}

// The task of a teacher whose student has `task`. read_inputs() refuses a task without a teacher.
Task task_of_teacher(Task task) {
  if (task == Task::kEmbeddingDistillation) return Task::kTextEmbedding;
  if (task == Task::kHiddenStateDistillation) return Task::kHiddenStates;
  return task;
}

ModelDescription describe(ModelFolder& folder, const Settings& settings, Task task) {
  DataOptions any_length = settings.data;
  any_length.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, any_length);
  model.config.task = task_of_teacher(task);
  if (!traits(task).has_classes) model.config.labels = output_labels(task);
  return model;
}

// A model that embeds texts, as its folder says. Sets their length in `settings`.
ModelDescription describe_encoder(ModelFolder& folder, Settings& settings) {
  settings.embedding = {};  // the texts have their prompts already
  DataOptions any_length = settings.data;
  any_length.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, any_length);
  model.config.task = Task::kTextEmbedding;
  const SentenceFiles files = read_sentence_files(folder);
  settle_embedding(files, settings.embedding, model.config);
  use_sentence_files(folder, settings.model, files, model);
  int32_t& length = settings.data.max_seq_length;
  length = static_cast<int32_t>(std::min<int64_t>(length, files.max_seq_length.value_or(length)));
  return model;
}

// The precision that all workers' CPUs can compute, because their outputs are one set of targets.
Precision precision_of_teacher(const Job& job) {
  const Precision precision = host_precision(job);
  const bool lacks_bf16 = precision == Precision::kAuto && job.without_bf16.host.has_value();
  return lacks_bf16 ? Precision::kFp32 : precision;
}

// For each label of the student, its index among the teacher's labels.
std::vector<size_t> order_of(const std::vector<std::string>& labels, const ModelConfig& teacher,
                             const std::string& name) {
  if (!traits(teacher.task).has_classes) return std::vector<size_t>(labels.size(), 0);
  const std::vector<std::string> own = evaluation_labels(teacher);
  if (!in_order_of(own, labels)) {
    const std::string names = joined(own, ", ", Quoted());
    throw Error(
        Code::kUsage,
        names.empty()
            ? "the teacher has no labels"
            : "the teacher's labels differ from the rows' labels; the teacher has: " + names,
        name, "give a teacher that was fine-tuned for the same labels");
  }
  std::vector<size_t> order;
  for (const std::string& label : labels) {
    const auto same = [&](const std::string& other) {
      return lower_ascii(other) == lower_ascii(label);
    };
    order.push_back(static_cast<size_t>(std::ranges::find_if(own, same) - own.begin()));
  }
  return order;
}

std::vector<float> of_length_one(std::span<const float> vector) {
  const double squares =
      std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0, std::plus<>(),
                         [](float a, float b) { return double{a} * double{b}; });
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> scaled;
  for (const float value : vector) scaled.push_back(static_cast<float>(scale * double{value}));
  return scaled;
}

// Logs the teacher's progress, if that is due.
void log_progress(const std::string& name, LogPace& pace, int64_t done, int64_t texts) {
  if (!pace.is_due()) return;
  const auto rate = static_cast<int64_t>(pace.rate(static_cast<double>(done)));
  log_info(cat(name, ": ", done, " of ", counted(texts, "text"), ", ", rate, " a second"));
}

}  // namespace

Teacher::Teacher(const Job& job, const Settings& settings, Task task,
                 const std::vector<std::string>& labels, const Tokenizer& tokenizer)
    : job_(job),
      name_("teacher"),
      embeds_texts_(false),
      settings_(settings_of_teacher(settings, settings.distillation.teacher)),
      folder_(job.storage, settings_.model),
      model_(describe(folder_, settings_, task)),
      order_(order_of(labels, model_.config, folder_.name())) {
  if (is_of_tokens()) require_student(settings, tokenizer);
  if (!job.leads()) return;
  if (const auto file = folder_.parameters()) file->verify();  // the job's record has its checksum
}

Teacher::Teacher(const Job& job, const Settings& settings, const std::string& path,
                 std::string name)
    : job_(job),
      name_(std::move(name)),
      embeds_texts_(true),
      settings_(settings_of_teacher(settings, path)),
      folder_(job.storage, settings_.model),
      model_(describe_encoder(folder_, settings_)) {
  if (!job.leads()) return;
  if (const auto file = folder_.parameters()) file->verify();
}

std::string Teacher::description() const {
  return cat(to_config_json(model_.config), " ", tokenizer_checksum(*model_.tokenizer));
}

// Throws kUsage where the student cannot learn the teacher's hidden states.
void Teacher::require_student(const Settings& settings, const Tokenizer& tokenizer) const {
  require_same_tokenizer(tokenizer, *model_.tokenizer, folder_.name());
  const int64_t positions = model_.config.max_sequence_length();
  if (settings.data.max_seq_length <= positions) return;
  throw Error(Code::kUsage,
              cat("--max-seq-length ", settings.data.max_seq_length, " exceeds the teacher's ",
                  positions, " positions"),
              folder_.name(), "lower it, or give --distillation-target embedding");
}

bool Teacher::is_of_tokens() const {
  return traits(model_.config.task).labels == LabelKind::kVectorPerToken;
}

bool Teacher::makes_vectors() const { return are_vectors(traits(model_.config.task).labels); }

DType Teacher::dtype() const {
  return makes_vectors() && !embeds_texts_ ? DType::kBF16 : DType::kF32;
}

size_t Teacher::memory_bytes(size_t vectors) const {
  return vectors * static_cast<size_t>(num_outputs()) * size_of(dtype());
}

std::vector<float> Teacher::target_of(std::span<const float> logits) const {
  const bool is_done = is_of_tokens() || (embeds_texts_ && !model_.config.normalizes_embeddings);
  if (is_done) return {logits.begin(), logits.end()};
  if (makes_vectors()) return of_length_one(logits);
  std::vector<float> ordered;
  for (const size_t place : order_) ordered.push_back(logits[place]);
  return ordered;
}

std::unique_ptr<Engine> Teacher::make_engine(Device& device, int64_t most_examples) {
  const Settings settings = with_positions(settings_, model_.config);
  std::unique_ptr<Engine> engine =
      device.make_engine(inference_engine(settings, model_.config, most_examples));
  ParameterTensors& values = engine->tensors(StateTensors::kValues);
  if (job_.leads()) {
    fill_parameters(folder_, settings.model, model_.config, /*seed=*/0, compute_threads(settings),
                    values, HeadNeed::kRequired);
  }
  if (job_.ranks != nullptr) share_tensors(*job_.ranks, values);
  engine->tensors_written();
  return engine;
}

size_t Teacher::restore(SavedTargets& saved) const {
  if (job_.ranks == nullptr) return saved.restore();
  Communicator& ranks = *job_.ranks;
  const double own = job_.leads() ? static_cast<double>(saved.restore()) : 0;
  const auto done = static_cast<size_t>(gather_values(ranks, {&own, 1})[0][0]);
  for (size_t part = 0; part < done; ++part) {
    const std::vector<std::byte> sent = job_.leads() ? saved.bytes(part) : std::vector<std::byte>();
    const std::vector<std::byte> bytes = broadcast_bytes(ranks, sent);
    if (!job_.leads()) saved.set_bytes(part, bytes);
  }
  return done;
}

void Teacher::fill(const LoadedTable& loaded, const LabelledData* student, SavedTargets& saved) {
  const size_t done = restore(saved);
  if (done > 0 && job_.leads()) {
    const size_t rows = static_cast<size_t>(saved.rows_of(done - 1).end() - saved.rows().begin());
    log_info(cat(name_, ": the outputs of ", rows, " of ", counted(saved.rows().size(), "text"),
                 " are taken from an earlier run"));
  }
  if (done < saved.parts()) run(loaded, student, done, saved);
}

void Teacher::run(const LoadedTable& loaded, const LabelledData* student, size_t first,
                  SavedTargets& saved) {
  const Settings settings = with_positions(settings_, model_.config);
  const LabelledData examples(loaded, model_.config.task, /*labels=*/{}, /*wants_labels=*/false,
                              settings, *model_.tokenizer);
  const std::unique_ptr<Device> device = make_host_device(job_, precision_of_teacher(job_));
  // A text may have several windows.
  const auto left = static_cast<int64_t>(saved.rows().end() - saved.rows_of(first).begin());
  const int64_t most_examples = is_of_tokens() ? kTextsAtOnce : std::min(kTextsAtOnce, left);
  require_inference_memory(
      settings, model_.config,
      {.program = program_bytes(), .tables = 0, .most_examples = most_examples}, *device);
  const std::unique_ptr<Engine> engine = make_engine(*device, most_examples);
  LogPace pace;
  int64_t before = 0;
  for (size_t part = first; part < saved.parts(); ++part) {
    const std::span<const uint32_t> span = saved.rows_of(part);
    const std::vector<uint32_t> rows(span.begin(), span.end());
    Dataset data = examples.rows(rows);
    if (is_of_tokens()) {
      Dataset students = student->rows(rows);
      require_same_tokens(students, data, folder_.name());
    }
    const auto take = [&](int64_t index, std::span<const float> logits) {
      saved.targets().set(data.row(index), target_of(logits),
                          is_of_tokens() ? data.first_vector(index) : 0);
      if (job_.leads()) log_progress(name_, pace, before + data.row_index(index) + 1, left);
    };
    const std::optional<double> finished =
        run_forward(*engine, data, settings.training.eval_batch_size, job_.stop, take, job_.ranks);
    if (!finished) throw_stopped();
    before += data.rows();
    if (job_.leads()) saved.save(part);
  }
}

namespace {

size_t size_of_rows(std::span<const uint32_t> rows, const RowTargets& targets) {
  size_t size_bytes = 0;
  for (const uint32_t row : rows) size_bytes += targets.row_bytes(row);
  return size_bytes;
}

std::vector<size_t> ends_of_parts(std::span<const uint32_t> rows, const RowTargets& targets,
                                  size_t most_bytes) {
  std::vector<size_t> ends;
  size_t begin = 0, size_bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    size_bytes += targets.row_bytes(rows[i]);
    const bool is_full = i + 1 - begin == SavedTargets::kRowsOfFile || size_bytes >= most_bytes;
    if (!is_full && i + 1 < rows.size()) continue;
    ends.push_back(begin = i + 1);
    size_bytes = 0;
  }
  return ends;
}

}  // namespace

SavedTargets::SavedTargets(Storage& storage, Uri directory, std::string name, std::string identity,
                           std::vector<uint32_t> rows, RowTargets& targets, size_t bytes_of_file)
    : files_(storage, std::move(directory), {"outputs", "the teacher's outputs", "made again"},
             std::move(identity)),
      name_(std::move(name)),
      rows_(std::move(rows)),
      targets_(targets),
      ends_(ends_of_parts(rows_, targets_, bytes_of_file)) {}

std::span<const uint32_t> SavedTargets::rows_of(size_t part) const {
  const size_t begin = part == 0 ? 0 : ends_[part - 1];
  return rows().subspan(begin, ends_[part] - begin);
}

std::string SavedTargets::file_name(size_t part) const { return name_ + formatted("-%05zu", part); }

bool SavedTargets::restore_file(size_t part) {
  return files_.load(file_name(part), [&](const NamedTensor& tensor) {
    const bool fits = tensor.dtype == targets_.dtype() &&
                      tensor.data.size() == size_of_rows(rows_of(part), targets_);
    if (fits) set_bytes(part, tensor.data);
    return fits;
  });
}

size_t SavedTargets::restore() {
  size_t done = 0;
  while (done < parts() && restore_file(done)) ++done;
  return done;
}

std::vector<std::byte> SavedTargets::bytes(size_t part) const {
  std::vector<std::byte> all;
  all.reserve(size_of_rows(rows_of(part), targets_));
  for (const uint32_t row : rows_of(part)) {
    const Bytes bytes = targets_.bytes(row);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

void SavedTargets::set_bytes(size_t part, Bytes bytes) {
  if (bytes.size() != size_of_rows(rows_of(part), targets_)) {
    throw Error(Code::kCorrupt, "the teacher's outputs have another size",
                files_.file(file_name(part)).to_string());
  }
  for (const uint32_t row : rows_of(part)) {
    targets_.set_bytes(row, bytes.first(targets_.row_bytes(row)));
    bytes = bytes.subspan(targets_.row_bytes(row));
  }
}

void SavedTargets::save(size_t part) const {
  const std::vector<std::byte> bytes = this->bytes(part);
  const size_t vector_bytes = targets_.width() * size_of(targets_.dtype());
  files_.save(
      file_name(part), targets_.dtype(),
      {static_cast<int64_t>(bytes.size() / vector_bytes), static_cast<int64_t>(targets_.width())},
      bytes);
}

namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& teacher_name) {
  throw Error(Code::kUsage, problem, teacher_name,
              "to learn hidden states, use the teacher's vocabulary (--vocab-file) and its case "
              "(--do-lower-case); --distillation-target embedding needs neither");
}

// The first id whose tokens differ; the smaller size where one vocabulary begins the other.
int32_t first_difference(const Tokenizer& a, const Tokenizer& b) {
  const int32_t size = std::min(a.vocab_size(), b.vocab_size());
  for (int32_t id = 0; id < size; ++id) {
    if (a.token(id) != b.token(id)) return id;
  }
  return size;
}

}  // namespace

void require_same_tokenizer(const Tokenizer& student, const Tokenizer& teacher,
                            const std::string& teacher_name) {
  if (tokenizer_checksum(student) == tokenizer_checksum(teacher)) return;
  const int32_t id = first_difference(student, teacher);
  if (id < student.vocab_size() && id < teacher.vocab_size()) {
    refuse(cat("the teacher's vocabulary is not the student's: token ", id, " is ",
               quoted(teacher.token(id)), ", and the student's is ", quoted(student.token(id))),
           teacher_name);
  }
  if (student.vocab_size() != teacher.vocab_size()) {
    refuse(cat("the teacher's vocabulary is not the student's: it has ", teacher.vocab_size(),
               " tokens, and the student's has ", student.vocab_size()),
           teacher_name);
  }
  refuse("the teacher's tokenizer makes other tokens of the same text than the student's",
         teacher_name);
}

void require_same_tokens(Dataset& student, Dataset& teacher, const std::string& teacher_name) {
  for (int64_t i = 0; i < std::max(student.size(), teacher.size()); ++i) {
    const bool is_same = i < student.size() && i < teacher.size() &&
                         student.features(i).input_ids == teacher.features(i).input_ids;
    if (is_same) continue;
    const Dataset& with_row = i < student.size() ? student : teacher;
    refuse(cat("the teacher's tokenizer makes other tokens of row ", with_row.source_row(i),
               " than the student's"),
           teacher_name);
  }
}

namespace {

// Two hashes and the size of a text. Texts with equal keys count as equal.
struct TextKey {
  uint64_t hash, crc_and_size;
  explicit TextKey(std::string_view text)
      : hash(std::hash<std::string_view>()(text)),
        crc_and_size(crc32c(as_bytes(text)) | uint64_t{text.size()} << 32) {}
  bool operator==(const TextKey&) const = default;
};
struct KeyHash {
  size_t operator()(const TextKey& key) const { return key.hash; }
};

}  // namespace

RowTexts::RowTexts(const LoadedTable& loaded, std::span<const uint32_t> rows,
                   const SearchPrompts& prompts) {
  texts_.task = Task::kTextEmbedding;
  texts_.name = loaded.name;
  texts_.table = std::make_unique<ExampleTable>();
  texts_.table->name = loaded.name;
  std::unordered_map<TextKey, uint32_t, KeyHash> numbers;
  for (const uint32_t row : rows) {
    const Example example = loaded.table->read(row);
    if (group_ == 0) {
      group_ = example.texts.size();
      places_.resize(loaded.table->rows() * group_, TextVectors::kNone);
    }
    assert(example.texts.size() == group_);
    for (size_t text = 0; text < group_; ++text) {
      Example one{.texts = {(text == 0 ? prompts.query : prompts.passage) + example.texts[text]}};
      const auto next = static_cast<uint32_t>(texts_.table->rows());
      const auto [found, is_new] = numbers.try_emplace(TextKey(one.texts[0]), next);
      places_[row * group_ + text] = found->second;
      if (!is_new) continue;
      texts_.table->append(one);
      texts_.table->set_source_row(loaded.table->source_row(row));
    }
  }
  texts_.table->finish();
}

}  // namespace berth
