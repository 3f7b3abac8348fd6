// Reads damaged and hostile files of torch.save. Each must give an Error or clean tensors, and
// never a crash, a hang or a huge allocation.
#include <gtest/gtest.h>

#include <random>

#include "storage/formats/torch_file.h"
#include "tests/support/every_damage.h"
#include "tests/support/pickle_files.h"
#include "tests/support/stored_zip_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using pickled::bytes;
using pickled::dict;
using pickled::global;
using pickled::list;
using pickled::little_endian;
using pickled::number;
using pickled::reduce;
using pickled::tuple;
using pickled::unicode;

void read_torch(Bytes file) {
  const TorchFileReader reader(file);
  for (const NamedTensor& tensor : reader.tensors()) {
    ASSERT_EQ(tensor.data.size(), static_cast<uint64_t>(tensor.elements()) * size_of(tensor.dtype));
  }
}

class TorchDamage : public testing::TestWithParam<const char*> {
 protected:
  const std::string file_ = file_content(BERTH_TESTDATA "/torch/" + std::string(GetParam()));
};

TEST_P(TorchDamage, EveryPrefixIsRefused) {
  EXPECT_THAT(accepted_prefixes(as_bytes(file_), read_torch), testing::IsEmpty());
}

TEST_P(TorchDamage, AThousandFlippedBitsAreRefusedOrHarmless) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    std::string flipped = file_;
    flipped[random() % file_.size()] ^= static_cast<char>(1 << random() % 8);
    accepts(read_torch, as_bytes(flipped));
  }
}

INSTANTIATE_TEST_SUITE_P(, TorchDamage,
                         testing::Values("zip.bin", "zip_torch2.bin", "legacy.bin", "nested.bin"),
                         [](const auto& name) {
                           const std::string file = name.param;
                           return file.substr(0, file.find('.'));
                         });

TEST(TorchChecksum, AFlippedBitOfATensorIsRefused) {
  std::string file = file_content(BERTH_TESTDATA "/torch/module.bin");
  const size_t at = file.find(std::string("\0\0\x80\x3F", 4));  // 1.0
  ASSERT_NE(at, std::string::npos);
  file[at] ^= 1;
  EXPECT_THAT([&] { read_torch(as_bytes(file)); }, ThrowsCode(Code::kCorrupt, "CRC-32"));
}

// The opcodes of a storage. The functions below make those of tensors that use it.
std::string storage(const std::string& elements, const std::string& type = "FloatStorage",
                    const std::string& key = "0") {
  return tuple(unicode("storage"), global("torch", type), unicode(key), unicode("cpu"), elements) +
         "Q";
}
std::string tensor(const std::string& of, const std::string& offset, const std::string& shape,
                   const std::string& stride) {
  return reduce(global("torch._utils", "_rebuild_tensor_v2"),
                tuple(of, offset, shape, stride, "\x89", dict()));
}
std::string ordinary() {
  return tensor(storage(number(4)), number(0), tuple(number(2), number(2)),
                tuple(number(2), number(1)));
}
// A zip file that holds this object and one storage of four floats.
std::string zip_of(const std::string& opcodes, std::vector<ZipEntry> more = {}) {
  more.push_back({"m/data.pkl", "\x80\x02" + opcodes + "."});
  more.push_back({"m/data/0", std::string(16, '\1')});
  return stored_zip(more);
}
void read_object(const std::string& opcodes) { read_torch(as_bytes(zip_of(opcodes))); }
void read_tensor(const std::string& opcodes) { read_object(dict(unicode("w"), opcodes)); }

TEST(HostileTorch, AnOrdinaryFileIsRead) { EXPECT_NO_THROW(read_tensor(ordinary())); }

TEST(HostileTorch, TheStateDictMayStandInsideOthers) {
  for (const char* name : {"state_dict", "model_state_dict", "model", "module"}) {
    EXPECT_NO_THROW(read_object(dict(unicode(name), dict(unicode("w"), ordinary())))) << name;
  }
  EXPECT_THAT([] { read_object(dict(unicode("other"), dict(unicode("w"), ordinary()))); },
              ThrowsCode(Code::kBadData, ""));
}

TEST(HostileTorch, Python2MakesAnOrderedDictOfPairs) {
  EXPECT_NO_THROW(read_object(
      reduce(global("collections", "OrderedDict"), tuple(list(list(unicode("w"), ordinary()))))));
}

TEST(HostileTorch, OnlyTheGlobalsOfTensorsAreKnown) {
  for (const auto& wrong : std::vector<std::pair<std::string, std::string>>{
           {"os", "system"},
           {"torch", "load"},
           {"torch.storage", "_load_from_bytes"},
           {"torch._utils", "_rebuild_qtensor"},
           {"torch._utils", "_rebuild_tensor_v2.__globals__"},
           {"builtins", "getattr"},
           {"numpy.core.multiarray", "_reconstruct"},
           {"pandas.core.frame", "DataFrame"},
           {"collections", "defaultdict"}}) {
    EXPECT_THAT([&] { read_tensor(global(wrong.first, wrong.second)); },
                ThrowsCode(Code::kBadData, "refers to " + wrong.first + "." + wrong.second));
  }
}

TEST(HostileTorch, KnownGlobalsAreNotCalledOtherwise) {
  for (const std::string& opcodes :
       {reduce(global("torch", "FloatStorage"), tuple(number(1))),
        global("torch", "FloatStorage") + ")\x81", global("collections", "OrderedDict") + ")\x81",
        reduce(ordinary(), tuple()), pickled::build(ordinary(), dict()),
        pickled::build(global("collections", "OrderedDict"), dict())}) {
    EXPECT_THAT([&] { read_tensor(opcodes); }, ThrowsCode(Code::kBadData, "nothing was executed"));
  }
}

TEST(HostileTorch, APersistentIdIsAStorageOrNothing) {
  const std::string float_class = global("torch", "FloatStorage");
  for (const std::string& id :
       {std::string("N"), unicode("0"), tuple(unicode("storage")),
        tuple(unicode("module"), float_class, unicode("0"), unicode("cpu"), number(4)),
        tuple(unicode("storage"), unicode("FloatStorage"), unicode("0"), unicode("cpu"), number(4)),
        tuple(unicode("storage"), float_class, number(0), unicode("cpu"), number(4)),
        tuple(unicode("storage"), float_class, unicode("0"), unicode("cpu"), number(4),
              tuple(unicode("1"), number(0), number(2)))}) {
    EXPECT_THAT([&] { read_tensor(id + "Q"); }, ThrowsCode(Code::kBadData)) << id;
  }
  EXPECT_THAT([] { read_tensor("Pid\n"); },
              ThrowsCode(Code::kCorrupt, "which a state dict's pickle never has"));
}

TEST(HostileTorch, TheSizeOfAStorageIsThatOfItsFile) {
  for (const char* elements : {"3", "5", "-1", "4611686018427387904", "9223372036854775807"}) {
    const std::string count = "I" + std::string(elements) + "\n";
    EXPECT_THAT([&] { read_tensor(tensor(storage(count), number(0), tuple(), tuple())); },
                ThrowsCode(Code::kCorrupt, "storage \"0\""))
        << elements;
  }
  EXPECT_THAT([] { read_object(list(storage(number(4)), storage(number(8), "HalfStorage"))); },
              ThrowsCode(Code::kCorrupt, "two types or sizes"));
  EXPECT_THAT([] { read_object(list(storage(number(4), "FloatStorage", "../data/0"))); },
              ThrowsCode(Code::kCorrupt, "is not in the file"));
}

TEST(HostileTorch, ATensorStaysWithinItsStorage) {
  struct {
    std::string offset, shape, stride;
  } const views[] = {
      {number(1), tuple(number(4)), tuple(number(1))},
      {number(4), tuple(), tuple()},
      {number(-1), tuple(number(1)), tuple(number(1))},
      {number(0), tuple(number(2)), tuple(number(4))},
      {number(0), tuple(number(2)), tuple(number(-1))},
      {number(0), tuple(number(2)), tuple(number(INT64_MAX))},
      {number(0), tuple(number(3), number(3)), tuple(number(INT64_MAX), number(INT64_MAX))},
      {number(0), tuple(number(2)), tuple(number(1), number(1))},
      {number(INT64_MAX), tuple(number(1)), tuple(number(1))},
      {number(0), tuple(number(INT64_MAX), number(INT64_MAX)), tuple(number(0), number(0))},
      {unicode("0"), tuple(number(1)), tuple(number(1))},
      {number(0), number(1), number(1)},
  };
  for (const auto& view : views) {
    EXPECT_THAT(
        [&] { read_tensor(tensor(storage(number(4)), view.offset, view.shape, view.stride)); },
        ThrowsCode(Code::kCorrupt, "tensor \"w\""))
        << view.offset << view.shape << view.stride;
  }
}

TEST(HostileTorch, TheStrideOfADimensionOfOneIsIgnored) {
  EXPECT_NO_THROW(
      read_tensor(tensor(storage(number(4)), number(0), tuple(number(2), number(1), number(2)),
                         tuple(number(1), number(INT64_MAX), number(2)))));
}

TEST(HostileTorch, AnExpandedTensorMayNotFillTheMemory) {
  for (const int64_t rows : {int64_t{1} << 19, int64_t{1} << 40, int64_t{1} << 60}) {
    EXPECT_THAT(
        [&] {
          read_tensor(tensor(storage(number(4)), number(0), tuple(number(rows)), tuple(number(0))));
        },
        ThrowsCode(Code::kBadData, "tensor \"w\": repeats its storage"));
  }
}

TEST(HostileTorch, AllExpandedTensorsTogetherAreLimited) {
  std::string items;
  for (int i = 0; i < 5; ++i) {
    items += unicode(std::to_string(i)) +
             tensor(storage(number(4)), number(0), tuple(number(60'000)), tuple(number(0)));
  }
  EXPECT_THAT([&] { read_object(dict(items)); }, ThrowsCode(Code::kBadData, "repeats its storage"));
}

TEST(HostileTorch, AnythingButAStateDictIsNamed) {
  EXPECT_THAT([] { read_object(ordinary()); },
              ThrowsCode(Code::kBadData, "holds a torch._utils._rebuild_tensor_v2"));
  EXPECT_THAT([] { read_object(list()); }, ThrowsCode(Code::kBadData, "holds a list of 0"));
  EXPECT_THAT([] { read_object(dict()); }, ThrowsCode(Code::kBadData, "holds no tensors"));
  EXPECT_THAT([] { read_object(dict(number(1), ordinary())); },
              ThrowsCode(Code::kBadData, "names a tensor by an int"));
  EXPECT_THAT([] { read_object(dict(unicode("w"), ordinary(), unicode("w"), ordinary())); },
              ThrowsCode(Code::kCorrupt, "\"w\": appears twice"));
}

TEST(HostileTorch, ADictThatHoldsItselfEnds) {
  EXPECT_THAT([] { read_object("}q\1" + unicode("model") + "h\1s"); },
              ThrowsCode(Code::kBadData, "holds a dict of 1"));
}

TEST(HostileTorch, ALargePickleIsRefusedInLittleMemory) {
  EXPECT_THAT([] { read_object(std::string(size_t{9} << 20, 'N')); },
              ThrowsCode(Code::kCorrupt, "100000 objects on the stack"));
}

TEST(HostileTorch, BigEndianFilesAreRefused) {
  const std::string file = zip_of(dict(unicode("w"), ordinary()), {{"m/byteorder", "big"}});
  EXPECT_THAT([&] { read_torch(as_bytes(file)); },
              ThrowsCode(Code::kBadData, "byte order \"big\""));
}

TEST(HostileTorch, CompressedEntriesAreRefused) {
  const std::string file =
      zip_of(dict(unicode("w"), ordinary()), {{.name = "m/b", .data = "x", .method = 8}});
  EXPECT_THAT([&] { read_torch(as_bytes(file)); },
              ThrowsCode(Code::kBadData, "\"m/b\": is compressed"));
}

TEST(HostileTorch, AZipFileOfSomethingElseIsNamed) {
  EXPECT_THAT(
      [] {
        read_torch(as_bytes(stored_zip({{"word/document.xml", "<w/>"}})));
      },
      ThrowsCode(Code::kBadData, "it has no data.pkl"));
  EXPECT_THAT(
      [] {
        read_torch(as_bytes(stored_zip({{"a/data.pkl", "N."}, {"b/data.pkl", "N."}})));
      },
      ThrowsCode(Code::kCorrupt, "b/data.pkl"));
}

// A file in the older format: magic number, protocol version, machine, object, storage keys and
// data.
std::string legacy_of(const std::string& opcodes, const std::string& keys,
                      const std::string& data) {
  const std::string magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  const std::string machine = "\x80\x02" + dict(unicode("little_endian"), "\x88") + ".";
  return magic + "\x80\x02M\xe9\x03." + machine + "\x80\x02" + opcodes + ".\x80\x02" + keys + "." +
         data;
}

TEST(HostileLegacyTorch, TheStoragesAreThoseOfTheTensors) {
  const std::string object = dict(unicode("w"), ordinary());
  const std::string data = little_endian(4, 8) + std::string(16, '\1');
  const auto read_legacy = [&](const std::string& keys, const std::string& rest) {
    read_torch(as_bytes(legacy_of(object, keys, rest)));
  };
  const auto zero = list(unicode("0"));
  EXPECT_NO_THROW(read_legacy(zero, data));
  EXPECT_THAT([&] { read_legacy(list(), data); }, ThrowsCode(Code::kCorrupt, "lists 0 storages"));
  EXPECT_THAT([&] { read_legacy(list(unicode("1")), data); },
              ThrowsCode(Code::kCorrupt, "that no tensor refers to"));
  EXPECT_THAT([&] { read_legacy(zero, data + "x"); },
              ThrowsCode(Code::kCorrupt, "1 bytes after the last storage"));
  EXPECT_THAT([&] { read_legacy(zero, little_endian(UINT64_MAX, 8)); },
              ThrowsCode(Code::kCorrupt, "elements, not 4"));
  EXPECT_THAT([&] { read_legacy("N", data); }, ThrowsCode(Code::kCorrupt, "no list"));
}

}  // namespace
}  // namespace berth
