#include "entrypoint/gathering/connection.h"
#include "tests/fuzz/fuzz_target.h"

namespace berth {
namespace {

// As bytes of a stranger, and as bytes of a worker.
void read_messages(Bytes input, size_t most_bytes) {
  MessageReader reader(most_bytes);
  may_refuse([&] {
    reader.add(input);
    while (const auto message = reader.next()) {
      // What was understood is understood again.
      MessageReader again;
      again.add(as_bytes(encode(*message)));
      require(again.next().has_value());
    }
  });
}

void worker_message(Bytes input) {
  read_messages(input, MessageReader::kMostBytesAtFirst);
  read_messages(input, MessageReader::kMostBytes);
}

const FuzzTargets kWorkerTargets = {{"worker_message", worker_message}};

}  // namespace
}  // namespace berth
