#include "trainer/inputs/mode.h"

#include <array>
#include <cstddef>

namespace berth {
namespace {

constexpr std::array kModes = {
    ModeTraits{.mode = Mode::kTrain,
               .name = "train",
               .purpose = "trains on all rows and exports the model. It does not evaluate",
               .example = "berth train --train-data-file train.csv --job-dir runs/a",
               .use = ModelUse::kTrains,
               .rows = kTrainRows,
               .computes = true,
               .writes = WritesTo::kBoth,
               .needs = kNeedsTrainData | kNeedsJobDir},
    ModeTraits{.mode = Mode::kTrainAndEval,
               .name = "train_and_eval",
               .purpose = "trains, evaluates on --eval-data-file or on rows that it holds out, and "
                          "exports the model. It is the default",
               .example = "berth --train-data-file train.csv --job-dir runs/a",
               .use = ModelUse::kTrains,
               .rows = kTrainRows | kEvalRows,
               .computes = true,
               .writes = WritesTo::kBoth,
               .needs = kNeedsTrainData | kNeedsJobDir},
    ModeTraits{.mode = Mode::kEval,
               .name = "eval",
               .purpose = "scores the finished model of --job-dir, or --model, on labelled rows",
               .example = "berth eval --eval-data-file test.csv --job-dir runs/a",
               .use = ModelUse::kRuns,
               .rows = kEvalRows,
               .computes = true,
               .needs = kNeedsEvalData | kNeedsModelOrJob},
    ModeTraits{.mode = Mode::kPredict,
               .name = "predict",
               .purpose = "labels rows by the finished model of --job-dir, or --model",
               .example = "berth predict --predict-data-file new.csv --job-dir runs/a",
               .use = ModelUse::kRuns,
               .rows = kPredictRows,
               .computes = true,
               .writes = WritesTo::kJobDir,
               .needs = kNeedsPredictData | kNeedsModelOrJob},
    ModeTraits{
        .mode = Mode::kEmbed,
        .name = "embed",
        .purpose = "writes a vector for each text",
        .example = "berth embed --predict-data-file texts.csv --model MODEL --job-dir runs/vectors",
        .use = ModelUse::kRuns,
        .rows = kPredictRows,
        .computes = true,
        .writes = WritesTo::kJobDir,
        .needs = kNeedsPredictData | kNeedsModelOrJob,
        .makes_vectors = true},
    ModeTraits{
        .mode = Mode::kMine,
        .name = "mine",
        .purpose = "finds hard negatives for pairs of texts",
        .example = "berth mine --predict-data-file pairs.csv --model MODEL --job-dir runs/mined",
        .use = ModelUse::kRuns,
        .rows = kPredictRows,
        .computes = true,
        .writes = WritesTo::kJobDir,
        .needs = kNeedsPredictData | kNeedsModelOrJob,
        .makes_vectors = true},
    ModeTraits{.mode = Mode::kExportOnly,
               .name = "export_only",
               .purpose = "writes the best checkpoint of --job-dir, or --model, to --export-dir",
               .example = "berth export_only --job-dir runs/a --export-dir served",
               .use = ModelUse::kExports,
               .writes = WritesTo::kExportDir,
               .needs = kNeedsExportDir | kNeedsModelOrJob},
    ModeTraits{
        .mode = Mode::kPrepare,
        .name = "prepare",
        .purpose = "writes the rows that training would read as TFRecords. With --task mlm it "
                   "cleans text for pre-training",
        .example = "berth prepare --train-data-file train.csv --model MODEL --export-dir records",
        .rows = kTrainRows | kEvalRows | kPredictRows,
        .writes = WritesTo::kExportDir,
        .needs = kNeedsTrainData | kNeedsTokenizer | kNeedsExportDir},
    ModeTraits{.mode = Mode::kTokenize,
               .name = "tokenize",
               .purpose = "prints the tokens, ids and offsets of texts",
               .example = "berth tokenize --model MODEL --text tokenization",
               .needs = kNeedsModel | kNeedsInput,
               .input = "--input (or --text)"},
    ModeTraits{.mode = Mode::kInspect,
               .name = "inspect",
               .purpose = "describes models, checkpoints, data files and event files",
               .example = "berth inspect train.csv",
               .needs = kNeedsInput,
               .input = "the file to look into",
               .takes_inputs = true},
    ModeTraits{
        .mode = Mode::kConvert,
        .name = "convert",
        .purpose =
            "writes --model to --export-dir as safetensors, as a TensorFlow checkpoint or as ONNX",
        .example = "berth convert --model MODEL --export-dir converted",
        .writes = WritesTo::kExportDir,
        .needs = kNeedsModel | kNeedsExportDir},
    ModeTraits{
        .mode = Mode::kTrainTokenizer,
        .name = "train_tokenizer",
        .purpose = "learns a vocabulary from texts",
        .example = "berth train_tokenizer --train-data-file texts.txt --export-dir tokenizer",
        .writes = WritesTo::kEither,
        .needs = kNeedsTrainData | kNeedsPlace},
    ModeTraits{.mode = Mode::kHeartbeat,
               .name = "heartbeat",
               .purpose = "says whether the training of --job-dir is alive, as a liveness probe of "
                          "Kubernetes asks",
               .example = "berth heartbeat --job-dir runs/a",
               .needs = kNeedsJobDir,
               .is_liveness_check = true},
    ModeTraits{.mode = Mode::kBench,
               .name = "bench",
               .purpose = "prints how fast this machine trains and predicts with BERT-base and "
                          "BERT-large, in about two minutes",
               .example = "berth bench",
               .computes = true},
    ModeTraits{.mode = Mode::kFetch,
               .name = "fetch",
               .purpose = "copies files, folders and archives from where berth can read to "
                          "--export-dir, and unpacks the archives",
               .example = "berth fetch gs://bucket/a.csv --export-dir data",
               .writes = WritesTo::kExportDir,
               .needs = kNeedsInput | kNeedsExportDir,
               .input = "what to fetch",
               .takes_inputs = true},
    ModeTraits{.mode = Mode::kReport,
               .name = "report",
               .purpose = "compares the jobs in several directories on one page",
               .example = "berth report runs/a runs/b",
               .needs = kNeedsInput,
               .input = "the job directory to compare",
               .takes_inputs = true}};

constexpr bool is_in_order() {
  for (size_t i = 0; i < kModes.size(); ++i) {
    if (kModes[i].mode != static_cast<Mode>(i)) return false;
  }
  return kModes.size() == static_cast<size_t>(Mode::kReport) + 1;
}
static_assert(is_in_order());

}  // namespace

std::span<const ModeTraits> mode_table() { return kModes; }

const ModeTraits& traits(Mode mode) { return kModes[static_cast<size_t>(mode)]; }

}  // namespace berth
