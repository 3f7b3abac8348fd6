"""Takes from this process, and from those that it starts, the system calls that gcsfuse lacks where it mounts a bucket.

Hard links, locks, reserved space, and renameat2(2) with flags then fail, in all folders.
"""

import ctypes
import errno
import os
import struct

# The numbers of link, linkat, flock, fallocate and renameat2. The last one comes last.
CALLS = {"x86_64": (86, 265, 73, 285, 316), "aarch64": (None, 37, 32, 47, 276)}
ERRORS = (errno.ENOSYS, errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF
ALLOW, FAIL = 0x7FFF0000, 0x00050000  # SECCOMP_RET_...
NUMBER, FLAGS = 0, 48  # places in seccomp_data: the call's number and its fifth argument
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2  # of prctl(2)


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def enter():
    """Is for preexec_fn of subprocess."""
    lines = [(LOAD, 0, 0, NUMBER)]
    *others, last = zip(CALLS[os.uname().machine], ERRORS)
    for call, error in others:
        if call is not None:
            lines += [(IF_EQUAL, 0, 1, call), (RETURN, 0, 0, FAIL | error)]
    lines += [(IF_EQUAL, 0, 3, last[0]), (LOAD, 0, 0, FLAGS), (IF_EQUAL, 1, 0, 0), (RETURN, 0, 0, FAIL | last[1]), (RETURN, 0, 0, ALLOW)]
    program = Program(len(lines), b"".join(struct.pack("HBBI", *line) for line in lines))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 or prctl(SET_SECCOMP, FILTER, ctypes.byref(program)) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
