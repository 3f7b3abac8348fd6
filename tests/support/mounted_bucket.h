#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <thread>
#include <vector>

namespace berth {

// Runs `work` on a thread whose system calls fail as in a folder where gcsfuse mounts a bucket:
// there are no hard links, no locks, no reserved space, and no renameat2(2) with flags.
// `link_error` is what link(2) answers. Returns false, and runs nothing, where the kernel filters
// no system calls.
template <typename Work>
bool run_as_in_a_mounted_bucket(int link_error, const Work& work) {
  const auto load = [](size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
  };
  const auto refuse = [](int error) {
    return sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error));
  };
  std::vector<sock_filter> filter{load(offsetof(seccomp_data, nr))};
  const auto refuse_call = [&](uint32_t call, int error) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(refuse(error));
  };
#ifdef SYS_link
  refuse_call(SYS_link, link_error);
#endif
  refuse_call(SYS_linkat, link_error);
  refuse_call(SYS_flock, ENOLCK);
  refuse_call(SYS_fallocate, EOPNOTSUPP);
  filter.insert(filter.end(), {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
                               load(offsetof(seccomp_data, args[4])),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), refuse(EINVAL),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  bool is_filtered = false;
  std::thread([&] {
    is_filtered = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    if (is_filtered) work();
  }).join();
  return is_filtered;
}

}  // namespace berth
