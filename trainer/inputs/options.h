#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/dtype.h"
#include "storage/formats/text_form.h"
#include "trainer/data/label_form.h"
#include "trainer/data/source_order.h"
#include "trainer/inputs/mode.h"
#include "trainer/inputs/schedule.h"
#include "trainer/model/functions.h"
#include "trainer/model/lora.h"
#include "trainer/model/similarity.h"
#include "trainer/model/update.h"

namespace berth {

enum class Init { kPretrained, kRandom };

// The device of a job. kAuto takes a TPU if there is one, then a GPU, then the CPU's own kernels.
// kXlaCpu runs the programs that TPUs and GPUs run on the CPU, for comparison.
enum class DeviceKind { kAuto, kCpu, kTpu, kGpu, kXlaCpu };

// The limits of --max-seq-length.
inline constexpr int64_t kShortestSequence = 4, kLongestSequence = 1'000'000;

// Where rows come from and how they are read. Files are URIs. An empty text means "not given".
struct DataOptions {
  std::string task{};      // a task or a GLUE task; empty: inferred from the data
  std::string data_dir{};  // the folder of a GLUE task's files
  std::string train_data_file{}, eval_data_file{}, predict_data_file{};
  // Sources beside train_data_file, each on a line, as train_sources.h says.
  std::string train_sources{};
  std::string eval_retrieval{};        // a retrieval set; see load_retrieval_set()
  std::string eval_retrieval_split{};  // of its judgements; empty: the usual one of the mode
  std::string input_meta_data_path{};  // the JSON beside run_classifier.py's TFRecords
  std::string text_column{}, text_pair_column{}, label_column{};  // empty: found by their names
  std::string weight_column{};
  std::string sentence_column{};  // of rows of one word; see LoadRules
  LabelForm labels{};             // how sets of labels are written
  double max_similarity = 1;      // the label of texts that mean the same, for Task::kSimilarity
  int64_t max_negatives = 0;      // the most negatives of a row that are read; 0: all
  std::string label_names{};      // joined by commas; empty: from the data or the model
  TextForm text_form{};           // of files of text
  double validation_split = 0.1;  // fraction of the training rows, without an evaluation file
  double data_fraction = 1.0;     // fraction of the training rows that is used
  int64_t max_train_samples = 0;  // the most of these rows; 0: no limit
  int64_t max_eval_samples = 0;   // the most rows to evaluate on, the first ones; 0: no limit
  int64_t skip_bad_rows = 0;      // rows of each data set that may be left out
  int32_t max_seq_length = 128;   // in tokens, with special tokens
  // For masked language models; see MaskingOptions.
  double mlm_probability = 0.15;
  bool whole_word_masking = false;
  bool line_by_line = false;              // else rows are joined and cut into full sequences
  bool attends_across_documents = false;  // where they are joined
  int64_t sequences_per_block = 1;        // the most of them, as the rows turned out
  int64_t most_masked = 0;                // in a sequence that is masked already; 0: none is
  // Whether an earlier version began the job. It read a line without spaces as one word.
  bool words_end_at_spaces = false;
  bool reads_in_order = false;   // likewise: blocks of a table on disk are neighbours (kRunsRule)
  bool holds_out_blank = false;  // likewise: rows without a text are held out first (kBlankRule)
  // For question answering.
  std::optional<int64_t> doc_stride{}, doc_step{};  // see FeatureOptions
  int32_t n_best_size = 20;
  int32_t max_answer_length = 30;  // tokens
  bool has_unanswerable = false;
  double null_score_diff_threshold = 0;
  // Above which probability a label of a set is predicted: a number, or one of the two below.
  // Empty: the model's own, which is 0.5 for a model that was not trained with this option.
  std::string label_threshold{};
};

// The values of DataOptions::label_threshold that choose thresholds by an evaluation: one for all
// labels, and one for each.
inline constexpr std::string_view kBestThreshold = "auto", kBestThresholds = "per_label";

struct ModelOptions {
  std::string model{};         // directory or archive; empty: the bundled default
  std::string model_config{};  // config.json elsewhere; empty: the model's
  std::string vocab_file{};    // vocab.txt elsewhere; empty: the model's
  Init init = Init::kPretrained;
  std::optional<bool> do_lower_case{};  // empty: the tokenizer's own
  // A head for another number of outputs than the file's starts at random.
  bool ignores_mismatched_sizes = false;
};

// The output of a teacher that an encoder learns from texts without labels.
enum class DistillationTarget {
  kEmbedding,     // the mean of the last hidden states of a text's tokens
  kHiddenStates,  // the last hidden state of each token
};

// Learning from another model, the teacher.
struct DistillationOptions {
  std::string teacher{};  // directory or archive, as ModelOptions::model; empty: there is none
  DistillationTarget target = DistillationTarget::kEmbedding;
  DistillationLoss loss{};
};

// Fine-tunings of the encoder on small labelled tasks while it is pre-trained; see Probes.
struct ProbeOptions {
  std::string files{};     // [NAME:][TASK=]FILE, separated by commas; empty: there are none
  int64_t steps = 0;       // updates from one probe to the next; 0: as often as evaluations
  int64_t samples = 1000;  // the most rows that a probe trains on, and about the most it scores
};

// Pre-training by replaced-token detection.
struct ElectraOptions {
  std::string generator{};  // as ModelOptions::model; empty: a new one, or the finished model's own
  double generator_hidden_fraction = 0.25;  // of a new one; see scaled_generator()
  double discriminator_weight = 50;         // see LossOptions
};

// The formats that --mode embed writes.
enum class EmbeddingsFormat { kNpy, kParquet, kJsonl };

// The type of the numbers that it writes; trainer/loop/vector_code.h says what they mean.
enum class EmbeddingsType { kFloat32, kInt8, kUint8, kBinary, kUbinary };

// The values of EmbeddingOptions::guide that are no model: nobody says which texts of a batch are
// false negatives, or the model that learns.
inline constexpr std::string_view kNoGuide = "none", kOwnGuide = "self";

// Which texts of the same kind a loss with a guide compares with each other as well.
enum class GuideContrasts { kNone, kAnchors, kPositives, kBoth };

// How texts become vectors. An empty value means the setting in the model's folder.
struct EmbeddingOptions {
  std::optional<Pooling> pooling{};
  std::optional<bool> normalizes{};
  std::optional<SimilarityLoss> loss{};  // empty: by whether rows have labels
  // Settings of the loss; empty: its own default. See SimilarityObjective.
  std::optional<double> scale{}, margin{}, teacher_scale{};
  std::optional<EmbeddingDistance> distance{};
  std::string guide{kNoGuide};  // one of the two, or a model, as ModelOptions::model
  GuideContrasts guide_contrasts = GuideContrasts::kBoth;
  std::optional<double> guide_margin{}, guide_relative_margin{};  // see FalseNegativeRule
  bool has_guide() const { return guide != kNoGuide; }
  bool has_other_guide() const { return has_guide() && guide != kOwnGuide; }
  std::string matryoshka_dims{}, matryoshka_weights{};  // joined by commas; empty: there are none
  // What stands before the first text of a row that is compared, and before each other text.
  std::string query_prompt{}, passage_prompt{};
  // For --mode embed: what stands before each text, or the name of such a prompt in the folder.
  std::string prompt{}, prompt_name{};
  // What stands before each text where no flag says so: the folder's default prompt. Not from a
  // flag (take_default_prompt).
  std::string default_prompt{};
  // The first numbers of embeddings that are written or compared. Not in training.
  std::optional<int64_t> truncate_dim{};
  EmbeddingsFormat format = EmbeddingsFormat::kNpy;
  EmbeddingsType type = EmbeddingsType::kFloat32;
  int64_t file_rows = 0;  // the rows of each file; 0: all rows are in one file
};

// How cross-encoders learn. See RerankingObjective.
struct RerankingOptions {
  std::optional<RerankingLoss> loss{};  // empty: the usual one
  double positive_weight = 1;
};

// Which hard negatives --mode mine finds. See MiningRules.
struct MiningOptions {
  std::string corpus{};  // a table of passages; empty: the positives of the pairs
  std::string range{};   // FIRST-LAST, or LAST; empty: from the first one on
  int64_t negatives = 3;
  std::optional<double> margin{}, relative_margin{}, max_score{}, min_score{};
  bool samples = false;
  std::string reranker{};  // a cross-encoder, as ModelOptions::model; empty: there is none
};

struct OptimizationOptions {
  std::optional<double> learning_rate{};  // the peak; empty: default_learning_rate() (schedule.h)
  ScheduleType lr_scheduler_type = ScheduleType::kLinear;
  double lr_power = 1;  // of the polynomial schedule
  double lr_end = 0;    // the rate at which decreasing schedules end
  double warmup_ratio = 0.1;
  std::optional<int64_t> warmup_steps{};  // replaces the ratio
  OptimizerType optimizer = OptimizerType::kAdamW;
  double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-8;
  double weight_decay = 0.01;
  double max_grad_norm = 1.0;         // 0: no clipping
  double layerwise_lr_decay = 1;      // the rate of a layer divided by the rate of the layer above
  bool freeze_embeddings = false;     // whether they keep their values
  int64_t freeze_encoder_layers = 0;  // lowest layers that keep their values, as the embeddings do
  double label_smoothing = 0;
  double focal_gamma = 0;       // of a focal loss; 0: the plain loss
  std::string class_weights{};  // "balanced", or a number for each label; empty: all 1
  LoraOptions lora{.rank = 0, .alpha = 8, .dropout = 0};  // PEFT's default alpha
};

// The rank of this process among the processes that train one model together. Their number may
// change when a job is resumed: it decides only which process trains which part of an update.
struct RankPlace {
  int64_t rank = 0, size = 1;
  // Whether a process trains a part of each update. If not, all of them give whole updates to
  // engines that compute them together, which divide them among their devices.
  bool cuts_updates = true;

  bool leads() const { return rank == 0; }
  // The number of parts of an update, and the part that this process trains.
  int64_t parts() const { return cuts_updates ? size : 1; }
  int64_t part() const { return cuts_updates ? rank : 0; }
};

// Where the job of a seed writes its large files, as URIs.
struct SeedPlaces {
  std::string checkpoints{}, model{};
};

// Which rows an update takes.
enum class BatchSampler {
  kRandom,        // the next ones of the shuffled rows
  kNoDuplicates,  // the next ones that share no text with each other; see DistinctTexts
};

struct TrainingOptions {
  double epochs = 3;
  int64_t max_steps = 0;                    // 0: epochs decide
  int64_t batch_size = 8;                   // examples of an update, in all its micro-batches
  int64_t token_budget = 0;                 // the most tokens of an update; 0: no limit
  int64_t eval_batch_size = 0;              // 0: the size of a micro-batch
  int64_t gradient_accumulation_steps = 1;  // micro-batches of an update
  // The rows of a micro-batch whose texts are embedded at a time, where texts are compared. 0: all;
  // empty: chosen by the memory (fitting_mini_batch()).
  std::optional<int64_t> embedding_mini_batch_size{};
  bool recompute = false;       // whether backward recomputes the activations of layers
  bool drop_remainder = false;  // whether to leave out a smaller last update of an epoch
  BatchSampler sampler = BatchSampler::kRandom;
  SourceMix source_mix = SourceMix::kProportional;  // where DataOptions::train_sources names some
  uint64_t seed = 42;
  int64_t seeds = 1;         // number of runs, with this seed and the following ones
  int64_t save_steps = 500;  // 0: only at the end
  // The longest time between two saves. 0: any; empty: chosen by what a save costs (SavePace).
  std::optional<double> save_minutes{};
  double save_patience_s = 30;   // how long a save waits for an earlier one
  int64_t save_total_limit = 2;  // 0: keep all
  // Whether older checkpoints are removed if the disk is full. It is false if the user wants to
  // keep all.
  bool gives_up_checkpoints = true;
  int64_t grace_s = 0;         // between a signal to stop and the end by force; 0: not known
  int64_t step_timeout_s = 0;  // of an update or a part of an evaluation; 0: there is none
  int64_t logging_steps = 50;
  int64_t eval_steps = 0;  // 0: num_eval_per_epoch decides
  int64_t num_eval_per_epoch = 1;
  std::string metric_for_best_model{};  // empty: the task's main metric
  int64_t early_stopping_patience = 0;  // in evaluations; 0: trains to the plan's end
  double early_stopping_threshold = 0;  // by how much an evaluation must be better than the best
  bool load_best_model_at_end = false;
  // Whether the job writes checkpoints and its model. A run inside a job that only produces scores
  // does not.
  bool keeps_weights = true;
  OptimizationOptions optimization{};
  RankPlace place{};
  DType reduce_dtype = DType::kBF16;  // the type in which gradients travel between ranks
  bool shard_optimizer = false;       // whether each rank stores only the moments of its share
  std::vector<SeedPlaces> earlier_seeds{};  // with --seeds: seeds that are finished
  int64_t later_seeds = 0;                  // and how many come after this one

  // The examples of a micro-batch. With several ranks it is an estimate, because they share the
  // tokens equally.
  int64_t examples_per_micro_batch() const { return examples_per_part(place.parts()); }
  // The examples of a micro-batch that several ranks compute together.
  int64_t examples_per_shared_micro_batch() const { return examples_per_part(1); }
  int64_t examples_per_evaluation_batch() const {
    return eval_batch_size > 0 ? eval_batch_size : examples_per_micro_batch();
  }

 private:
  int64_t examples_per_part(int64_t ranks) const {
    const int64_t parts = gradient_accumulation_steps * ranks;
    return (batch_size + parts - 1) / parts;
  }
};

enum class ExportFormat { kSafetensors, kTensorflow, kOnnx };

// The places that a job writes to, as URIs. The last three default to parts of job_dir.
struct OutputOptions {
  std::string job_dir{}, export_dir{}, checkpoint_dir{}, summary_dir{};
  ExportFormat export_format = ExportFormat::kSafetensors;
  std::optional<DType> export_dtype{};  // by default float32, or the type of a converted source
  bool export_adapter = false;          // LoRA's adapter, beside the merged model
  std::string hypertune_metric{};  // for the tuning service; empty: its own or the best model's
  bool reuse_job_dir = true;       // false: refuse a job_dir that was used before
  bool report = true;              // whether the job writes its page for people
};

// All settings of a job.
struct Settings {
  Mode mode = Mode::kTrainAndEval;
  DataOptions data;
  ModelOptions model;
  DistillationOptions distillation{};
  ElectraOptions electra{};
  EmbeddingOptions embedding{};
  RerankingOptions reranking{};
  MiningOptions mining{};
  TrainingOptions training;
  ProbeOptions probes{};
  OutputOptions output;
  DeviceKind device = DeviceKind::kAuto;
  Precision precision = Precision::kAuto;
  int64_t threads = 0;  // 0: as many as affinity and cgroup allow
};

}  // namespace berth
