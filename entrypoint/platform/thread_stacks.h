#pragma once

namespace berth {

// Writes the call stack of every thread of this process to the file descriptor: for each its number
// and name, and one line for each function, as "berth(+0x1234)". addr2line(1) turns such an address
// into a line of the sources. A thread that does not answer within half a second, because it sleeps
// inside the kernel, is named without a stack. One call at a time.
void write_thread_stacks(int file_descriptor);

}  // namespace berth
