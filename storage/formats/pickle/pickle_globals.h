#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// What a global of a pickle means to the reader. Several (module, name) pairs mean the
// same: pandas moved its classes from release to release.
enum class Global : uint8_t {
  // Python
  kObject,
  kReconstructor,
  kEncode,
  kBytes,
  kBytearray,
  kSlice,
  kPartial,
  kGetattr,
  kZoneInfo,
  kZoneInfoUnpickle,  // only by getattr(ZoneInfo, "_unpickle")
  // numpy
  kDtype,
  kNdarray,
  kReconstructArray,
  kFromBuffer,
  kScalar,
  // pandas
  kDataFrame,
  kSeries,
  kBlockManager,
  kSingleBlockManager,
  kNewBlock,
  kUnpickleBlock,
  kNewIndex,
  kIndex,
  kRangeIndex,
  kUnpickleArray,
  kCategorical,
  kCategoricalDtype,
  kStringArray,
  kMaskedArray,
  kArrowArray,
  kMissing,
  // pyarrow
  kArrowRestore,
  kArrowChunked,
  kArrowBuffer,
  kArrowType,
  // PyTorch, never in a table
  kOrderedDict,
  kRebuildTensor,
  kRebuildTensorV2,
  kRebuildParameter,
  kTorchStorage,     // the class; its name tells the element type
  kTorchPersistent,  // what makes a storage of a persistent id
  // A class or function whose values read as missing: dates, periods, intervals, their dtypes.
  kOther
};

struct GlobalEntry {
  std::string_view module, name;
  Global meaning;
};

// The entry of exactly this pair; nullopt: no part of a table. Nothing is imported or looked up
// anywhere else, and no prefix is trusted.
std::optional<GlobalEntry> find_table_global(std::string_view module, std::string_view name);

// "os.system", with whatever is not printable ASCII escaped.
std::string global_name(std::string_view module, std::string_view name);

}  // namespace berth
