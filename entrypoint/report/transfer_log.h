#pragma once

#include <string>

#include "storage/transfer_meter.h"

namespace berth {

// Logs the progress of a large transfer as one line. Thread-safe.
void log_transfer(const TransferProgress& progress);

// The line: "reading gs://b/o: 1.5 GiB of 4.0 GiB, 104 MiB/s, 25 s left".
std::string transfer_text(const TransferProgress& progress);

}  // namespace berth
