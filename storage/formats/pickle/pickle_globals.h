#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// What a global means to the reader. Several (module, name) pairs may mean the same, because pandas
// moved its classes between releases.
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
  kZoneInfoUnpickle,  // result of getattr(ZoneInfo, "_unpickle")
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
  kNaT,  // the function that makes pandas' missing time
  // pyarrow
  kArrowRestore,
  kArrowChunked,
  kArrowBuffer,
  kArrowType,
  // PyTorch; never in a table
  kOrderedDict,
  kRebuildTensor,
  kRebuildTensorV2,
  kRebuildParameter,
  kTorchStorage,     // the class, whose name gives the element type
  kTorchPersistent,  // makes a storage from a persistent id
  // Classes and functions whose values read as missing: dates, periods, intervals, and their dtypes
  kOther
};

struct GlobalEntry {
  std::string_view module, name;
  Global meaning;
};

// Returns the entry of exactly this pair, or nullopt if tables do not use it. Names are only
// compared with a fixed list: nothing is imported, and no prefix is trusted.
std::optional<GlobalEntry> find_table_global(std::string_view module, std::string_view name);

// Returns "os.system" for ("os", "system"), with everything but printable ASCII escaped.
std::string global_name(std::string_view module, std::string_view name);

}  // namespace berth
