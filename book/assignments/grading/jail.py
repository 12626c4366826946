"""Run a program that is not trusted, as far apart from this machine as the system allows.

Started as a script of its own: ``python -I jail.py SETTINGS program ...``, where the settings are
JSON. It needs nothing but the standard library and, for the level "full", Linux.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

NOBODY = 65534
WORK, SCRATCH = "/hand-in", "64m"
WRITABLE = (WORK, "/tmp", "/dev/shm")
# of the system, what a Python needs to run
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/fonts")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    0x1,
    0x2,
    0x4,
    0x20,
    0x1000,
    0x4000,
    0x40000,
)
NEW_USER, NEW_REST = 0x10000000, 0x00020000 | 0x40000000 | 0x20000000 | 0x0C000000
DETACHED = 2
DEATH_SIGNAL, NO_NEW_PRIVILEGES = 1, 38


def called(name, *arguments):
    """Call a function of the C library, and raise if it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = [a.encode() if isinstance(a, str) else a for a in arguments]
    if getattr(libc, name)(*wanted) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def mount(source, target, kind=None, flags=0, data=None):
    called("mount", source, str(target), kind, ctypes.c_ulong(flags), data)


def shown(root, path):
    """Show a file or a folder of the machine at the same place below a new root, to be read."""
    path, place = Path(path), root / Path(path).relative_to("/")
    if place.exists() or place.is_symlink():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        place.symlink_to(os.readlink(path))
    elif path.is_dir():
        place.mkdir()
        mount(str(path), place, None, MS_BIND | MS_REC)
    elif path.exists():
        place.touch()
        mount(str(path), place, None, MS_BIND)


def sealed(root):
    """Take away the right to write below a new root, with everything mounted there."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        place, options = line.split()[4:6]
        inside = place.removeprefix(str(root))
        if inside in WRITABLE:
            continue
        if place == str(root) or inside != place and inside.startswith("/"):
            flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID
            # a device that may not be opened is none
            flags |= 0 if Path(place).name in ("null", "zero", "urandom") else MS_NODEV
            flags |= 0x8 if "noexec" in options.split(",") else 0
            flags |= {"noatime": 0x400, "relatime": 0x200000}.get(options.split(",")[-1], 0)
            mount(None, place, None, flags)


def mapped():
    """Enter a new user namespace as its root; return the user to become in the end.

    The true root maps a second user there, since limits on processes do not hold for itself. Only
    a process outside may do that.
    """
    user, group = os.getuid(), os.getgid()
    maps = {"uid_map": f"0 {user} 1", "gid_map": f"0 {group} 1"}
    if user:
        called("unshare", NEW_USER)
        Path("/proc/self/setgroups").write_text("deny")
        for name, text in maps.items():
            Path("/proc/self", name).write_text(text)
        return 0
    ready, go = os.pipe()
    inside = os.getpid()
    helper = os.fork()
    if not helper:
        os.read(ready, 1)
        for name, text in maps.items():
            Path(f"/proc/{inside}", name).write_text(f"{text}\n{NOBODY} {NOBODY} 1\n")
        os._exit(0)
    called("unshare", NEW_USER)
    os.write(go, b"x")
    if os.waitpid(helper, 0)[1]:
        raise OSError("users cannot be mapped")
    os.close(ready)
    os.close(go)
    return NOBODY


def apart(root, paths):
    """Enter namespaces of its own, in which there is nothing but some paths, to be read alone."""
    root = Path(root)
    user = mapped()
    called("unshare", NEW_REST)
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("none", root, "tmpfs", MS_NOSUID | MS_NODEV, f"size={SCRATCH},mode=755")
    for place in WRITABLE:
        (root / place[1:]).mkdir(parents=True)
        mount("none", root / place[1:], "tmpfs", MS_NOSUID | MS_NODEV, f"size={SCRATCH},mode=777")
    for path in (*SYSTEM, *DEVICES, *paths):
        shown(root, path)
    (root / "dev" / "old").mkdir()
    sealed(root)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    child = os.fork()
    if child:
        # whoever is inside can leave its group and its session, and nobody but us can end it
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) % 256)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    called("pivot_root", str(root), str(root / "dev" / "old"))
    os.chdir("/")
    called("umount2", "/dev/old", DETACHED)
    os.chdir(WORK)
    if user:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    called("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    called("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def limited(limits):
    """Set limits of the operating system, by their names; those that it does not have are left."""
    import resource

    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


def main():
    settings, program = json.loads(sys.argv[1]), sys.argv[2:]
    if settings["level"] == "full":
        apart(settings["root"], settings["paths"])
    if settings["level"] != "time":
        limited(settings["limits"])
    if settings["level"] == "full":
        # once more, so that what is mounted belongs to no one in here
        called("unshare", NEW_USER)
    os.execve(program[0], program, settings["environment"])


if __name__ == "__main__":
    main()
