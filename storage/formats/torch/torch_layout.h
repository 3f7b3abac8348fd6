#pragma once

#include "storage/formats/pickle/pickle_machine.h"
#include "storage/formats/torch/torch_dialect.h"

namespace berth {

// What torch.save wrote: the object, and the data of every storage that it refers to.
struct TorchContents {
  LoadedPickle object;
  TorchStorages storages;  // their data borrow the file
};

// Both throw kCorrupt, naming the byte, entry or storage, on damage; kBadData on files that berth
// does not read (big-endian, compressed) and pickles that are more than tensors and plain values.

// PyTorch 1.6 and newer, a zip file:
//
//   <stem>/data.pkl | <stem>/data/<key>, one a storage | <stem>/version | [<stem>/byteorder] | ...
TorchContents read_torch_zip(Bytes file);

// Before PyTorch 1.6, pickles end to end:
//
//   magic | protocol 1001 | {"little_endian", ...} | object | [keys] | { i64 elements | data } ...
//
// with one storage a key, in the order of the keys.
TorchContents read_torch_legacy(Bytes file);

}  // namespace berth
