#include "trainer/inputs/mode.h"

#include <array>
#include <cstddef>

namespace berth {
namespace {

constexpr std::array kModes = {
    ModeTraits{.mode = Mode::kTrain,
               .name = "train",
               .use = ModelUse::kTrains,
               .rows = kTrainRows,
               .computes = true,
               .writes = WritesTo::kBoth,
               .needs = kNeedsTrainData | kNeedsJobDir},
    ModeTraits{.mode = Mode::kTrainAndEval,
               .name = "train_and_eval",
               .use = ModelUse::kTrains,
               .rows = kTrainRows | kEvalRows,
               .computes = true,
               .writes = WritesTo::kBoth,
               .needs = kNeedsTrainData | kNeedsJobDir},
    ModeTraits{.mode = Mode::kEval,
               .name = "eval",
               .use = ModelUse::kRuns,
               .rows = kEvalRows,
               .computes = true,
               .needs = kNeedsEvalData | kNeedsModelOrJob},
    ModeTraits{.mode = Mode::kPredict,
               .name = "predict",
               .use = ModelUse::kRuns,
               .rows = kPredictRows,
               .computes = true,
               .writes = WritesTo::kJobDir,
               .needs = kNeedsPredictData | kNeedsModelOrJob},
    ModeTraits{.mode = Mode::kEmbed,
               .name = "embed",
               .use = ModelUse::kRuns,
               .rows = kPredictRows,
               .computes = true,
               .writes = WritesTo::kJobDir,
               .needs = kNeedsPredictData | kNeedsModelOrJob,
               .makes_vectors = true},
    ModeTraits{.mode = Mode::kMine,
               .name = "mine",
               .use = ModelUse::kRuns,
               .rows = kPredictRows,
               .computes = true,
               .writes = WritesTo::kJobDir,
               .needs = kNeedsPredictData | kNeedsModelOrJob,
               .makes_vectors = true},
    ModeTraits{.mode = Mode::kExportOnly,
               .name = "export_only",
               .use = ModelUse::kExports,
               .writes = WritesTo::kExportDir,
               .needs = kNeedsExportDir | kNeedsModelOrJob},
    ModeTraits{.mode = Mode::kPrepare,
               .name = "prepare",
               .rows = kTrainRows | kEvalRows | kPredictRows,
               .writes = WritesTo::kExportDir,
               .needs = kNeedsTrainData | kNeedsTokenizer | kNeedsExportDir},
    ModeTraits{.mode = Mode::kTokenize,
               .name = "tokenize",
               .needs = kNeedsModel | kNeedsInput,
               .input = "--input (or --text)"},
    ModeTraits{.mode = Mode::kInspect,
               .name = "inspect",
               .needs = kNeedsInput,
               .input = "the file to look into",
               .takes_inputs = true},
    ModeTraits{.mode = Mode::kConvert,
               .name = "convert",
               .writes = WritesTo::kExportDir,
               .needs = kNeedsModel | kNeedsExportDir},
    ModeTraits{.mode = Mode::kTrainTokenizer,
               .name = "train_tokenizer",
               .writes = WritesTo::kEither,
               .needs = kNeedsTrainData | kNeedsPlace},
    ModeTraits{
        .mode = Mode::kHeartbeat, .name = "heartbeat", .needs = kNeedsJobDir, .is_probe = true},
    ModeTraits{.mode = Mode::kBench, .name = "bench", .computes = true},
    ModeTraits{.mode = Mode::kFetch,
               .name = "fetch",
               .writes = WritesTo::kExportDir,
               .needs = kNeedsInput | kNeedsExportDir,
               .input = "what to fetch",
               .takes_inputs = true},
    ModeTraits{.mode = Mode::kReport,
               .name = "report",
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
