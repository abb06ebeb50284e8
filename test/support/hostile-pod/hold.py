"""Holds what a pod could hold, prints a line, and waits until its standard input ends.

hold.py lease FILE: a write lease. hold.py fuse FOLDER: a file system whose process never responds.
"""

import ctypes
import fcntl
import os
import signal
import sys

what, path = sys.argv[1:]
if what == "lease":
    # The kernel's request to give the lease back.
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    fcntl.fcntl(os.open(path, os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
else:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    if ctypes.CDLL(None).mount(b"silent", path.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit("not permitted to mount")
print("holds", flush=True)
sys.stdin.read()
