#include "entrypoint/training/shared_tokens.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/tokenizer_checksum.h"

namespace berth {
namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& teacher_name) {
  throw Error(Code::kUsage, problem, teacher_name,
              "to learn hidden states, use the teacher's vocabulary (--vocab-file) and its case "
              "(--do-lower-case); --distillation-target embedding needs neither");
}

// The first id whose tokens differ; the smaller size where one vocabulary begins the other.
int32_t first_difference(const Tokenizer& a, const Tokenizer& b) {
  const int32_t size = std::min(a.vocab_size(), b.vocab_size());
  for (int32_t id = 0; id < size; ++id) {
    if (a.token(id) != b.token(id)) return id;
  }
  return size;
}

}  // namespace

void require_same_tokenizer(const Tokenizer& student, const Tokenizer& teacher,
                            const std::string& teacher_name) {
  if (tokenizer_checksum(student) == tokenizer_checksum(teacher)) return;
  const int32_t id = first_difference(student, teacher);
  if (id < student.vocab_size() && id < teacher.vocab_size()) {
    refuse(cat("the teacher's vocabulary is not the student's: token ", id, " is ",
               quoted(teacher.token(id)), ", and the student's is ", quoted(student.token(id))),
           teacher_name);
  }
  if (student.vocab_size() != teacher.vocab_size()) {
    refuse(cat("the teacher's vocabulary is not the student's: it has ", teacher.vocab_size(),
               " tokens, and the student's has ", student.vocab_size()),
           teacher_name);
  }
  refuse("the teacher's tokenizer makes other tokens of the same text than the student's",
         teacher_name);
}

void require_same_tokens(Dataset& student, Dataset& teacher, const std::string& teacher_name) {
  for (int64_t i = 0; i < std::max(student.size(), teacher.size()); ++i) {
    const bool is_same = i < student.size() && i < teacher.size() &&
                         student.features(i).input_ids == teacher.features(i).input_ids;
    if (is_same) continue;
    const Dataset& with_row = i < student.size() ? student : teacher;
    refuse(cat("the teacher's tokenizer makes other tokens of row ", with_row.source_row(i),
               " than the student's"),
           teacher_name);
  }
}

}  // namespace berth
