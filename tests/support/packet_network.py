"""Network namespaces that only a relay of ours connects. It delays packets, limits their rate and drops them, as no kernel module has to.

Needs root, iproute2 and /dev/net/tun.
"""

import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000
MTU = 65000
LIBC = ctypes.CDLL(None, use_errno=True)


def available():
    """Why there can be no such network here; None: there can."""
    if os.geteuid() != 0:
        return "it takes root"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    name = "berth-try-%d" % os.getpid()
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
        return "network namespaces cannot be made"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return None


class Network:
    """Hosts 0 to COUNT - 1, of which number i is the namespace of name(i) and has the address address(i)."""

    def __init__(self, count):
        self.count = count
        self.delay_s = 0.0  # of each packet
        self.bytes_per_s = None  # of each host, in each direction; None: any
        self.cut = set()  # hosts whose packets are lost
        self.carried = [0] * count  # the bytes that each host has sent
        self.tuns = []
        try:
            for host in range(count):
                subprocess.run(["ip", "netns", "add", self.name(host)], check=True)
                self.tuns.append(self._open_tun(host))
                for command in (
                    ["address", "add", self.address(host) + "/24", "dev", "tun0"],
                    ["link", "set", "tun0", "mtu", str(MTU), "up"],
                    ["link", "set", "lo", "up"],
                ):
                    subprocess.run(["ip", "netns", "exec", self.name(host), "ip"] + command, check=True)
        except Exception:
            self.close()
            raise
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._relay)
        self._thread.start()

    @staticmethod
    def name(host):
        return "berth-%d-%d" % (os.getpid(), host)

    @staticmethod
    def address(host):
        return "10.77.0.%d" % (host + 1)

    def command(self, host, arguments):
        """The arguments that run a program on a host."""
        return ["ip", "netns", "exec", self.name(host)] + arguments

    def close(self):
        if hasattr(self, "_ends"):
            self._ends.set()
            self._thread.join()
        for tun in self.tuns:
            os.close(tun)
        for host in range(self.count):
            subprocess.run(["ip", "netns", "delete", self.name(host)], capture_output=True)

    def _open_tun(self, host):
        """Opens the interface tun0 of a host. Only this thread visits the namespace."""
        opened = []

        def visit():
            with open("/var/run/netns/" + self.name(host)) as namespace:
                if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"tun0", IFF_TUN | IFF_NO_PI))
            opened.append(tun)

        thread = threading.Thread(target=visit)
        thread.start()
        thread.join()
        return opened[0]

    def _relay(self):
        waiting = []  # of packets: when they are due, a number, the host that they go to, and the packet
        free_s = [0.0] * self.count  # when the line of each host is free again
        number = 0
        while not self._ends.is_set():
            now = time.monotonic()
            pause = min(0.05, max(0.0, waiting[0][0] - now)) if waiting else 0.05
            for tun in select.select(self.tuns, [], [], pause)[0]:
                sender = self.tuns.index(tun)
                for _ in range(64):
                    try:
                        packet = os.read(tun, MTU + 64)
                    except BlockingIOError:
                        break
                    if len(packet) < 20 or packet[0] >> 4 != 4:
                        continue
                    receiver = packet[19] - 1  # the last byte of the destination
                    if not 0 <= receiver < self.count or sender in self.cut or receiver in self.cut:
                        continue
                    self.carried[sender] += len(packet)
                    due = time.monotonic()
                    if self.bytes_per_s:
                        due = max(due, free_s[sender]) + len(packet) / self.bytes_per_s
                        free_s[sender] = due
                    number += 1
                    heapq.heappush(waiting, (due + self.delay_s, number, receiver, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, receiver, packet = heapq.heappop(waiting)
                try:
                    os.write(self.tuns[receiver], packet)
                except OSError:  # a full queue loses packets, as in a real network
                    pass
