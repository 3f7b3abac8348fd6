// Pickles that try to run code or to exhaust memory, time or the stack.
#include <gmock/gmock.h>

#include "tests/support/pickle_text.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using namespace pickled;

auto refused(const std::string& says) { return ThrowsCode(Code::kBadData, says); }
auto damaged(const std::string& says) { return ThrowsCode(Code::kCorrupt, says); }

std::string repeat(const std::string& opcodes, size_t times) {
  std::string all;
  all.reserve(opcodes.size() * times);
  for (size_t i = 0; i < times; ++i) all += opcodes;
  return all;
}

TEST(HostilePickle, CallingTheShellIsRefusedByName) {
  EXPECT_THAT([] { read(reduce(global("os", "system"), tuple(unicode("true")))); },
              refused("refers to os.system, which is not part of a table; nothing was executed"));
  EXPECT_THAT([] { read(reduce(global("posix", "system"), tuple(unicode("true")))); },
              refused("posix.system"));
}

TEST(HostilePickle, OtherContainersAreRefusedWithWhatToPickle) {
  const auto says = refused("nothing was executed; pickle a table of pandas, or a dict of lists");
  EXPECT_THAT([] { read(global("collections", "defaultdict")); }, says);
  EXPECT_THAT([] { read(global("pyarrow.lib", "list_")); }, says);
}

TEST(HostilePickle, NoPackagePrefixIsTrusted) {
  for (const auto& wrong :
       {std::pair("builtins", "eval"), std::pair("builtins", "exec"), std::pair("pandas", "eval"),
        std::pair("pandas.io.pickle", "read_pickle"), std::pair("numpy", "load"),
        std::pair("numpy.testing._private.utils", "runstring"),
        std::pair("pandas.core.frame", "DataFrame.eval"),
        std::pair("pandas.core", "frame.DataFrame"), std::pair("functools", "reduce"),
        std::pair("__builtin__", "getattr.__call__")}) {
    const char* const module = wrong.first;
    const char* const name = wrong.second;
    const std::string both = std::string(module) + "." + name;
    EXPECT_THAT([&] { read(global(module, name)); }, refused("refers to " + both));
    EXPECT_THAT([&] { read(unicode(module) + unicode(name) + "\x93"); },
                refused("refers to " + both));
  }
}

TEST(HostilePickle, NamesInMessagesAreEscaped) {
  EXPECT_THAT([] { read(unicode("a\nb") + unicode("\xFF") + "\x93"); },
              refused("refers to a\\x0ab.\\xff, which"));
}

TEST(HostilePickle, GetattrIsOnlyForTimeZones) {
  const std::string getattr = global("builtins", "getattr");
  EXPECT_THAT([&] { read(reduce(getattr, tuple(global("numpy", "ndarray"), unicode("dump")))); },
              refused("calls builtins.getattr"));
  EXPECT_THAT(
      [&] { read(reduce(getattr, tuple(global("zoneinfo", "ZoneInfo"), unicode("__init__")))); },
      refused("calls builtins.getattr"));
}

TEST(HostilePickle, PartialIsOnlyForNewBlockWithTheStateOfPandas) {
  const std::string partial = global("functools", "partial");
  const std::string new_block = global("pandas.core.internals.blocks", "new_block");
  EXPECT_THAT([&] { read(reduce(partial, tuple(global("numpy", "dtype")))); },
              refused("calls functools.partial"));
  EXPECT_THAT(
      [&] {
        read(build(reduce(partial, tuple(new_block)), tuple(global("numpy", "dtype"), ")}N")));
      },
      refused("calls functools.partial"));
  // pandas always gives the partial object a state, so one without a state is refused.
  EXPECT_THAT([&] { read(reduce(reduce(partial, tuple(new_block)), ")")); }, refused("calls"));
}

TEST(HostilePickle, BytesCannotBeMadeFromASize) {
  EXPECT_THAT([] { read(reduce(global("builtins", "bytearray"), tuple(number(1LL << 40)))); },
              refused("calls builtins.bytearray"));
  EXPECT_THAT([] { read(reduce(global("builtins", "bytes"), tuple(number(1LL << 40)))); },
              refused("calls builtins.bytes"));
}

TEST(HostilePickle, EncodeIsOnlyLatin1) {
  EXPECT_THAT(
      [] { read(reduce(global("_codecs", "encode"), tuple(unicode("a"), unicode("zip")))); },
      refused("calls _codecs.encode"));
}

TEST(HostilePickle, AClassIsNeverGivenState) {
  EXPECT_THAT([] { read(build(global("pandas.core.frame", "DataFrame"), dict())); },
              refused("gives state to pandas.core.frame.DataFrame itself"));
}

TEST(HostilePickle, OpcodesThatNoTableHasAreRefused) {
  for (const std::string opcodes :
       {"Pid\n", "NQ", "(ios\nsystem\n", "(cnumpy\ndtype\no", "\x82\1", "\x97", "\x98", "\xFF"}) {
    EXPECT_THAT([&] { read(opcodes); }, damaged("which a table's pickle never has")) << opcodes;
  }
}

TEST(HostilePickle, DeepNestingCostsNoStack) {
  constexpr size_t kDeep = 2'000'000;
  EXPECT_THAT([] { read("N" + repeat("\x85", kDeep)); },
              refused("holds a tuple of 1, not a table"));
  EXPECT_THAT([] { read(repeat("(", kDeep) + repeat("l", kDeep)); }, refused("holds a list of 1"));
  const std::string cell = "N" + repeat("\x85", kDeep);
  const auto reader =
      read(column(array(tuple(number(1), number(1)), dtype("O8", "|"), list(cell))));
  EXPECT_THAT([&] { read_rows(*reader); }, refused("lists nested deeper than 100 levels"));
}

TEST(HostilePickle, ListsThatHoldTheSameListTwiceAreBounded) {
  std::string cell = "]q\1";
  for (int depth = 2; depth < 100; ++depth) {
    cell = cell + "0](h" + static_cast<char>(depth - 1) + "h" + static_cast<char>(depth - 1) +
           "eq" + static_cast<char>(depth);
  }
  const auto reader =
      read(column(array(tuple(number(1), number(1)), dtype("O8", "|"), list(cell))));
  EXPECT_THAT([&] { read_rows(*reader); }, refused("a list of more than 64.0 MiB"));
}

TEST(HostilePickle, CyclesDoNotHang) {
  EXPECT_THAT([] { read("]q\1h\1a"); }, refused("holds a list of 1, not a table"));
}

TEST(HostilePickle, AListThatContainsItselfIsRefused) {
  const auto cell_of = [](const std::string& cell) {
    return read(column(array(tuple(number(1), number(1)), dtype("O8", "|"), list(cell))));
  };
  for (const std::string& cycle :
       {std::string("]q\1h\1a"), "}q\1" + unicode("key") + "h\1s",
        "}q\1" + unicode("key") + "](h\1es", "]q\1h\1\x85" + std::string("a"),
        std::string("]q\1](](h\1eea")}) {
    const auto reader = cell_of(cycle);
    EXPECT_THAT([&] { read_rows(*reader); }, refused("that contains itself"));
  }
  EXPECT_EQ(read_rows(*cell_of("]q\1]a")).at(0).at(0), Cell("[[]]"));
}

TEST(HostilePickle, ObjectsThatNothingUsesAreBounded) {
  EXPECT_THAT([] { read(repeat("]", 1'000'000)); },
              damaged("100000 objects on the stack without using them"));
  EXPECT_THAT([] { read("(" + repeat("N", 1'000'000) + "t"); },
              refused("holds a tuple of 1000000, not a table"));
  EXPECT_THAT([] { read("(" + repeat("]", 5'000'000)); },
              damaged("4000000 objects on the stack without using them"));
  EXPECT_THAT([] { read(repeat("(", 5'000'000)); }, damaged("nests more than 4000000 containers"));
}

// Counts what was read of it.
class LongSource final : public ByteSource {
 public:
  LongSource(std::string beginning, char rest, uint64_t size)
      : beginning_(std::move(beginning)), rest_(rest), size_(size) {}

  size_t read(std::span<std::byte> buffer) override {
    size_t count = 0;
    for (; count < buffer.size() && read_ < size_; ++count, ++read_) {
      buffer[count] = static_cast<std::byte>(read_ < beginning_.size() ? beginning_[read_] : rest_);
    }
    return count;
  }
  uint64_t count() const { return read_; }

 private:
  const std::string beginning_;
  const char rest_;
  const uint64_t size_;
  uint64_t read_ = 0;
};

TEST(HostilePickle, IsRefusedBeforeAllOfItIsRead) {
  constexpr uint64_t kSize = uint64_t{1} << 34;
  const std::string frame = "\x80\x04\x95" + little_endian(kSize, 8);
  for (const std::string& beginning : {std::string("\0", 1), std::string("\x80\x04]"), frame}) {
    for (const char rest : {'\0', ']', '\n'}) {
      LongSource source(beginning, rest, kSize);
      EXPECT_THAT([&] { read_pickle(source); }, damaged(""));
      EXPECT_LT(source.count(), uint64_t{2} << 20);
    }
  }
}

TEST(HostilePickle, ALongPickleIsReadWhole) {
  const std::string text(5 << 20, 'a');
  const std::string pickle = "\x80\x04" + dict(unicode("c"), list(unicode(text), "N")) + ".";
  LongSource source(pickle, 'x', pickle.size() + 7);
  const auto reader = read_pickle(source);
  EXPECT_EQ(read_rows(*reader).at(0).at(0), Cell(text));
  EXPECT_EQ(source.count(), pickle.size() + 7);
}

TEST(HostilePickle, MemoIndicesAreBoundedByTheFile) {
  EXPECT_THAT([] { read("Nr\xFF\xFF\xFF\xFF"); }, damaged("memo index 4294967295"));
  EXPECT_THAT([] { read("Np9223372036854775807\n"); }, damaged("memo index 9223372036854775807"));
  EXPECT_THAT([] { read("Np-1\n"); }, damaged("a malformed memo index"));
  EXPECT_THAT([] { read("j\xFF\xFF\xFF\xFF"); }, damaged("under which nothing was stored"));
}

TEST(HostilePickle, LengthsAreBoundedByTheFile) {
  const std::string huge = "\xFF\xFF\xFF\x7F";
  for (const std::string opcode : {"X", "B", "T", "\x8b"}) {
    EXPECT_THAT([&] { read(opcode + huge); }, damaged("ends early")) << opcode;
  }
  for (const std::string opcode : {"\x8d", "\x8e", "\x96"}) {
    EXPECT_THAT([&] { read(opcode + repeat("\xFF", 8)); }, damaged("ends early")) << opcode;
  }
  EXPECT_THAT([] { read("\x95" + repeat("\xFF", 8)); }, damaged("a frame of"));
  EXPECT_THAT([] { read("T\xFF\xFF\xFF\xFF"); }, damaged("a length of -1"));
  EXPECT_THAT([] { read("\x8b\xFF\xFF\xFF\xFF"); }, damaged("a length of -1"));
}

TEST(HostilePickle, TheStackNeverUnderflows) {
  for (const std::string opcode :
       {"0",    "1",    "2",    "a",    "e",    "s",    "u",    "t", "l", "d",
        "\x85", "\x86", "\x87", "\x90", "\x91", "\x93", "\x94", "R", "b", "\x81"}) {
    EXPECT_THAT([&] { read(opcode); }, damaged("")) << opcode;
    EXPECT_THAT([&] { read("N(" + opcode + opcode); }, testing::Throws<Error>()) << opcode;
  }
  EXPECT_THAT([] { read(""); }, damaged(""));
}

TEST(HostilePickle, RepeatedEncodingOfOneTextIsBounded) {
  const std::string encode = global("_codecs", "encode");
  const std::string text = unicode(std::string(1 << 20, 'a')) + "q\1" + unicode("latin1") + "q\2";
  EXPECT_THAT([&] { read(text + encode + "q\3" + repeat("h\3h\1h\2\x86R", 1000)); },
              refused("decodes to many times its size"));
}

TEST(HostilePickle, SharedTextMayNotFillARow) {
  // 1,000 columns that each hold the same mebibyte.
  constexpr int kColumns = 1000;
  const std::string text = unicode(std::string(1 << 20, 'a')) + "q\1" + "0";
  const std::string values = array(tuple(number(kColumns), number(1)), dtype("O8", "|"),
                                   "(" + repeat("h\1", kColumns) + "l");
  const auto reader =
      read(text + frame(range_index(0, kColumns, 1), block(values, slice(0, kColumns, 1))));
  EXPECT_THAT([&] { read_rows(*reader); }, refused("repeats its text to many times"));
}

TEST(HostilePickle, SharedTextMayNotFillTheRows) {
  constexpr int kRows = 20000;
  const std::string text = unicode(std::string(1 << 16, 'a')) + "q\1" + "0";
  const auto reader = read(text + column(array(tuple(number(1), number(kRows)), dtype("O8", "|"),
                                               "(" + repeat("h\1", kRows) + "l")));
  uint64_t rows = 0;
  EXPECT_THAT(
      [&] {
        for (Row row; reader->next(row);) ++rows;
      },
      refused("repeats its text to many times"));
  EXPECT_GT(rows, 100u);  // a text may be repeated, but not to 20,000 times the file's size
  EXPECT_LT(rows, 1000u);
}

TEST(HostilePickle, SharedCategoriesAreBounded) {
  constexpr int kColumns = 5000;
  std::string labels;
  for (int i = 0; i < 5000; ++i) labels += unicode(std::to_string(i));
  const std::string categories = "(" + labels + "l";
  const std::string categorical =
      build(global("pandas.core.arrays.categorical", "Categorical") + ")\x81",
            dict(unicode("_codes"), array(tuple(number(1)), dtype("i1", "|"), bytes("\1")),
                 unicode("_categories"), index_of(categories)));
  std::string blocks;
  for (int i = 0; i < kColumns; ++i) blocks += block("h\1", slice(i, i + 1, 1));
  EXPECT_THAT([&] { read(categorical + "q\1" + "0" + frame(range_index(0, kColumns, 1), blocks)); },
              refused("repeats its names or categories"));
}

TEST(HostilePickle, ShapesMayNotOverflowOrClaimMoreThanIsThere) {
  const std::string eight = bytes("12345678");
  const auto shaped = [&](const std::string& shape) {
    return column(array(shape, dtype("i8"), eight));
  };
  EXPECT_THAT([&] { read(shaped(tuple(number(1LL << 32), number(1LL << 32)))); },
              damaged("overflows"));
  EXPECT_THAT([&] { read(shaped(tuple(number(1), number(2)))); }, damaged("an array of 16 bytes"));
  EXPECT_THAT([&] { read(shaped(tuple(number(1), number(-1)))); }, damaged("not a number"));
  EXPECT_THAT(
      [&] {
        read(frame(range_index(0, 1LL << 40, 1),
                   block(array(tuple(number(1LL << 40), number(0)), dtype("i8"), bytes("")),
                         slice(0, 1LL << 40, 1))));
      },
      refused("more labels than the file has bytes"));
}

TEST(HostilePickle, RangesMayNotOverflow) {
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min(), kHigh = INT64_MAX;
  for (const auto& range : {range_index(kLow, kHigh, 1), range_index(kHigh, kLow, -1)}) {
    EXPECT_THAT([&] { read(frame(range, "")); }, refused("more labels"));
  }
  EXPECT_THAT([&] { read(frame(range_index(kLow, kHigh, kHigh), "")); },
              damaged("held by no block"));
  EXPECT_THAT([&] { read(frame(range_index(0, 1, 0), "")); }, damaged("step 0"));
}

TEST(HostilePickle, EveryColumnIsHeldOnce) {
  const std::string one = array(tuple(number(1), number(1)), dtype("i1", "|"), bytes("1"));
  EXPECT_THAT([&] { read(frame(range_index(0, 2, 1), block(one, slice(0, 1, 1)))); },
              damaged("column 1 is held by no block"));
  EXPECT_THAT(
      [&] {
        read(frame(range_index(0, 1, 1), block(one, slice(0, 1, 1)) + block(one, slice(0, 1, 1))));
      },
      damaged("column 0 is held twice"));
  EXPECT_THAT(
      [&] {
        read(frame(range_index(0, 1, 1),
                   block(one, array(tuple(number(1)), dtype("i8"), bytes(little_endian(7, 8))))));
      },
      damaged("placed on column 7 of 1"));
}

TEST(HostilePickle, CategoriesHaveNoCodeBelowMinusOneOrBeyondTheLast) {
  for (const char code : {'\xFE', '\2', '\x7F'}) {
    const auto reader = read(column(
        build(global("pandas.core.arrays.categorical", "Categorical") + ")\x81",
              dict(unicode("_codes"), array(tuple(number(1)), dtype("i1", "|"), bytes({&code, 1})),
                   unicode("_categories"), index_of(list(unicode("a"), unicode("b")))))));
    EXPECT_THAT([&] { read_rows(*reader); }, damaged("row 0: column \"c\": code "));
  }
}

TEST(HostilePickle, ASharedRowOfDictsIsBounded) {
  std::string pairs;
  for (int i = 0; i < 2000; ++i) pairs += unicode(std::to_string(i)) + "N";
  EXPECT_THAT([&] { read("(" + pairs + "dq\1" + "0(" + repeat("h\1", 100000) + "l"); },
              refused("repeats its rows"));
}

}  // namespace
}  // namespace berth
