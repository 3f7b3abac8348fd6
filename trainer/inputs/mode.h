#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace berth {

enum class Mode {
  kTrain,
  kTrainAndEval,
  kEval,
  kPredict,
  kEmbed,
  kMine,
  kExportOnly,
  kPrepare,
  kTokenize,
  kInspect,
  kConvert,
  kTrainTokenizer,
  kHeartbeat,
  kBench,
  kFetch,
  kReport
};

// A set of modes, as bits.
using ModeSet = uint32_t;
constexpr ModeSet set_of(std::initializer_list<Mode> modes) {
  ModeSet set = 0;
  for (const Mode mode : modes) set |= ModeSet{1} << static_cast<unsigned>(mode);
  return set;
}

// The sets that roles of flags name: the modes that use a flag.
inline constexpr ModeSet kInTraining = set_of({Mode::kTrain, Mode::kTrainAndEval});
inline constexpr ModeSet kInTrainAndEval = set_of({Mode::kTrainAndEval});
inline constexpr ModeSet kInEval = set_of({Mode::kEval});
inline constexpr ModeSet kInPredict = set_of({Mode::kPredict});
inline constexpr ModeSet kInEmbed = set_of({Mode::kEmbed});
inline constexpr ModeSet kInMine = set_of({Mode::kMine});
inline constexpr ModeSet kInExport = set_of({Mode::kExportOnly});
inline constexpr ModeSet kInInference = kInEval | kInPredict | kInEmbed | kInMine;
inline constexpr ModeSet kInScoring = kInTraining | kInEval;        // modes that compute a loss
inline constexpr ModeSet kEverywhere = kInTraining | kInInference;  // modes with a network and rows
inline constexpr ModeSet kInPrepare = set_of({Mode::kPrepare});
inline constexpr ModeSet kInTokenize = set_of({Mode::kTokenize});
inline constexpr ModeSet kInInspect = set_of({Mode::kInspect});
inline constexpr ModeSet kInConvert = set_of({Mode::kConvert});
inline constexpr ModeSet kInTrainTokenizer = set_of({Mode::kTrainTokenizer});
inline constexpr ModeSet kInHeartbeat = set_of({Mode::kHeartbeat});
inline constexpr ModeSet kInBench = set_of({Mode::kBench});
inline constexpr ModeSet kInFetch = set_of({Mode::kFetch});
inline constexpr ModeSet kInReport = set_of({Mode::kReport});
inline constexpr ModeSet kInReading = kEverywhere | kInPrepare;  // modes that read labelled rows
inline constexpr ModeSet kInEachMode = ~ModeSet{0};

// What a mode does with a model.
enum class ModelUse {
  kNone,
  kTrains,   // It trains one in --job-dir.
  kRuns,     // It runs the finished model of --job-dir, or --model.
  kExports,  // It writes a checkpoint of --job-dir, or --model, as a finished model.
};

// Where a mode writes. kEither: to --export-dir, or to --job-dir where no --export-dir is given.
enum class WritesTo { kNothing, kJobDir, kExportDir, kBoth, kEither };

// Tables of labelled rows, as bits.
inline constexpr unsigned kTrainRows = 1, kEvalRows = 2, kPredictRows = 4;

// What a mode cannot do without, as bits. An error names the first one that is missing.
inline constexpr unsigned kNeedsTrainData = 1, kNeedsEvalData = 2, kNeedsPredictData = 4,
                          kNeedsModel = 8, kNeedsTokenizer = 16, kNeedsJobDir = 32,
                          kNeedsInput = 64, kNeedsExportDir = 128, kNeedsPlace = 256,
                          kNeedsModelOrJob = 512;

// One mode.
struct ModeTraits {
  Mode mode;
  std::string_view name;  // for --mode
  std::string_view
      purpose;  // the rest of a sentence that begins with the name, without a full stop
  std::string_view example;  // a whole command, for help and errors
  ModelUse use = ModelUse::kNone;
  unsigned rows = 0;      // the tables that it reads
  bool computes = false;  // whether it runs a network
  WritesTo writes = WritesTo::kNothing;
  unsigned needs = 0;
  // What --input names, for the error where it is missing. Arguments that belong to no flag are
  // inputs, too, where `takes_inputs` says so.
  std::string_view input{};
  bool takes_inputs = false;
  bool makes_vectors = false;  // embeddings are its result, and others compare them with theirs
  // Whether it only looks whether a job is alive, so it leaves no last words of its own.
  bool is_liveness_check = false;

  bool trains() const { return use == ModelUse::kTrains; }
  bool runs_finished_model() const { return use == ModelUse::kRuns; }
  bool reads(unsigned tables) const { return (rows & tables) == tables; }
  bool evaluates_training() const { return trains() && reads(kEvalRows); }
  bool scores() const { return runs_finished_model() && reads(kEvalRows); }
  bool predicts() const { return runs_finished_model() && reads(kPredictRows); }
  bool writes_job_dir(bool has_export_dir) const {
    return writes == WritesTo::kJobDir || writes == WritesTo::kBoth ||
           (writes == WritesTo::kEither && !has_export_dir);
  }
  bool writes_export_dir() const {
    return writes != WritesTo::kNothing && writes != WritesTo::kJobDir;
  }
  // Whether it writes the rows that training would read.
  bool prepares_rows() const { return !trains() && reads(kTrainRows); }
  bool needs_any(unsigned what) const { return (needs & what) != 0; }
};

// THE table of modes, in the order of the enumeration. What the program does in a mode follows from
// its row; entrypoint/run.cpp says which function runs it.
std::span<const ModeTraits> mode_table();
const ModeTraits& traits(Mode mode);

}  // namespace berth
