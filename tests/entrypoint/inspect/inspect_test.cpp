#include "entrypoint/inspect/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/archived_storage.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/gzipped.h"
#include "tests/support/null_rows.h"
#include "tests/support/pickle_text.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/stored_zip_bytes.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::HasSubstr;

// A table of pandas with one column "c" of small integers.
std::string pickle(const std::string& numbers) {
  using namespace pickled;
  const auto rows = static_cast<int64_t>(numbers.size());
  return "\x80\x04" +
         column(array(tuple(number(1), number(rows)), dtype("i1", "|"), bytes(numbers))) + ".";
}

class InspectTest : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) {
    write_text(*storage_, Uri::parse(scratch_ / name), bytes);
    return scratch_ / name;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_archived_storage(make_local_storage());
};

TEST_F(InspectTest, LooksIntoAPickleInsideAnArchive) {
  const std::string table = pickle("\1\2\3");
  const std::string tar = TarBytes().file("df.pickle", table).end();
  for (const std::string& path :
       {put("a.tar", tar), put("b.tar.gz", gzipped(tar)), put("c.tgz", gzipped(tar)),
        put("d.zip", stored_zip({{.name = "df.pickle", .data = table}}))}) {
    const Inspection seen = inspect(*storage_, path);
    EXPECT_THAT(seen.text, HasSubstr("/df.pickle: pickle, 3 rows, 1 column")) << path;
    EXPECT_EQ(seen.json, R"({"format":"pickle","rows":3,"columns":["c"],"first":[[1],[2],[3]]})")
        << path;
  }
}

TEST_F(InspectTest, LooksIntoEachPartOfAFolder) {
  put("parts/part-0.pickle", pickle("\1\2"));
  put("parts/part-1.csv.gz", gzipped("c\n7\n"));
  put("parts/README.txt", "about it");
  put("parts/dataset_info.json", "{}");
  const Inspection seen = inspect(*storage_, scratch_ / "parts");
  EXPECT_EQ(seen.json, R"({"format":"pickle","rows":2,"columns":["c"],"first":[[1],[2]]})"
                       "\n"
                       R"({"format":"csv","rows":1,"columns":["c"],"first":[["7"]]})");
  EXPECT_THAT(seen.text, HasSubstr("part-1.csv.gz: csv, 1 row, 1 column"));
}

TEST_F(InspectTest, RowsThatTakeNoBytesAreCounted) {
  const std::string path = put("nulls.arrows", null_rows(uint64_t{1} << 62));
  const Inspection seen = inspect(*storage_, path);
  EXPECT_THAT(seen.text, HasSubstr("4,611,686,018,427,387,904 rows, 1 column\nonly the first 1,0"));
  EXPECT_THAT(seen.text, HasSubstr("rows were read\n  n  nothing, 1,0"));
  EXPECT_THAT(seen.json, HasSubstr(R"("rows":4611686018427387904,"columns":["n"])"));
  EXPECT_THAT(seen.json, HasSubstr(R"(,"rows_read":10)"));
  EXPECT_EQ(inspect(*storage_, put("few.arrows", null_rows(7))).json,
            R"({"format":"arrows","rows":7,"columns":["n"],"first":[[null],[null],[null],[null],)"
            R"([null]]})");
}

TEST_F(InspectTest, ZerosThatTakeNextToNoBytesAreCounted) {
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (9000000,), }";
  header.resize(117, ' ');
  const std::string npy = "\x93NUMPY" + std::string("\1\0v\0", 4) + header + "\n";
  const std::string path = put("zeros.npy.gz", gzipped(npy + std::string(9'000'000, '\0')));
  const Inspection seen = inspect(*storage_, path);
  EXPECT_THAT(seen.text, HasSubstr("npy, 9,000,000 rows, 1 column\nonly the first 1,"));
  EXPECT_THAT(seen.text, HasSubstr("integers, 1 value: 0 (1,"));
}

TEST_F(InspectTest, NamesThePartThatIsDamaged) {
  put("parts/part-0.csv", "c\n7\n");
  put("parts/part-1.pickle", pickle("\1\2").substr(0, 40));
  EXPECT_THAT([&] { inspect(*storage_, scratch_ / "parts"); },
              ThrowsCode(Code::kCorrupt, "part-1.pickle"));
}

}  // namespace
}  // namespace berth
