#pragma once

#include "storage/formats/pickle/pickle_machine.h"
#include "storage/formats/torch/torch_dialect.h"

namespace berth {

// The contents of a torch.save file: the object, and the data of every storage that it refers to.
struct TorchContents {
  LoadedPickle object;
  TorchStorages storages;  // their data are borrowed from the file
};

// Both functions throw kCorrupt, naming the byte, entry or storage, on damage. They throw kBadData
// on files that are not supported (big-endian, compressed), and on pickles with anything but
// tensors and plain values.

// PyTorch 1.6 and later write a zip file:
//
//   <stem>/data.pkl | <stem>/data/<key>, one per storage | <stem>/version
//   | [<stem>/byteorder] | ...
TorchContents read_torch_zip(Bytes file);

// Earlier versions write pickles one after the other:
//
//   magic | protocol 1001 | {"little_endian", ...} | object | [keys] | { i64 elements | data } ...
//
// There is one storage per key, in the order of the keys.
TorchContents read_torch_legacy(Bytes file);

}  // namespace berth
