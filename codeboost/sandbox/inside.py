"""Looks at a sandbox from inside. Not imported: ``probe`` hands its text to the python3 of an image.

    python3 -c TEXT '{"pids": 64, ...}' NAME ...

Prints one JSON object: ``found`` says for each NAME what is wrong (a sentence, or nothing), ``now`` what the clock says.
Kept to old Python.
"""

from __future__ import annotations

import ctypes
import errno
import json
import locale
import os
import resource
import select
import socket
import stat
import sys
import time

EXPECTED = json.loads(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219, "ppc64le": 271, "s390x": 280, "riscv64": 219}


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def read_status(name: str) -> str:
    for line in read("/proc/self/status").splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return ""


def read_cgroup(*places: str) -> str:
    for place in places:
        text = read("/sys/fs/cgroup/" + place).strip()
        if text:
            return text
    return ""


def list_mounts() -> list[tuple[str, set[str]]]:
    mounts = []
    for line in read("/proc/self/mountinfo").splitlines():
        words = line.split()
        mounts.append((words[4], set(words[5].split(","))))
    return mounts


def check_capabilities() -> str:
    for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
        if int(read_status(name) or "1", 16):
            return name + " is " + read_status(name)
    return ""


def check_new_privileges() -> str:
    return "" if read_status("NoNewPrivs") == "1" else "NoNewPrivs is " + read_status("NoNewPrivs")


def check_seccomp() -> str:
    return "" if read_status("Seccomp") == "2" else "Seccomp is " + read_status("Seccomp")


def check_namespaces() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.unshare(CLONE_NEWUSER) == 0 else 1)
    _, status = os.waitpid(child, 0)
    return "a new user namespace can be made" if status == 0 else ""


def check_keyring() -> str:
    number = SYS_KEYCTL.get(os.uname().machine)
    if number is None:
        return ""
    ctypes.set_errno(0)
    if LIBC.syscall(number, 0, -3, 0, 0, 0) >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
        return "the kernel's keyring answers"
    return ""


def check_network() -> str:
    names = [line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:]]
    # Tunnels that the kernel makes in every network namespace lead nowhere.
    others = [
        name for name in names if name not in ("lo", "tunl0", "ip6tnl0", "sit0", "gre0", "gretap0", "erspan0")
    ]
    if others:
        return "there are interfaces: " + ", ".join(others)
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "169.254.169.254")):
        probe = socket.socket(family, socket.SOCK_DGRAM)
        try:
            probe.connect((address, 53))
            return "there is a route to " + address
        except OSError:
            pass
        finally:
            probe.close()
    try:
        socket.getaddrinfo("example.com", 80)
    except OSError:
        return ""
    return "a name on the internet resolves"


def check_engine_socket() -> str:
    for place in (
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/containerd/containerd.sock",
    ):
        if os.path.lexists(place):
            return place + " is there"
    return "DOCKER_HOST is set" if "DOCKER_HOST" in os.environ else ""


def check_mounts() -> str:
    known = (
        "/",
        "/tmp",
        "/etc/resolv.conf",
        "/etc/hostname",
        "/etc/hosts",
        "/proc",
        "/dev",
        "/sys",
        "/run/.containerenv",
    )
    inits = ("/sbin/docker-init", "/usr/sbin/docker-init", "/dev/init", "/run/podman-init", "/catatonit")
    below = ("/proc/", "/sys/", "/dev/pts", "/dev/mqueue", "/dev/shm")
    for place, _ in list_mounts():
        if place not in known + inits and not place.startswith(below):
            return place + " is mounted from outside"
    return ""


def check_user() -> str:
    ids = set(os.getresuid()) | set(os.getresgid())
    return "" if ids == {EXPECTED["user"]} else "user and group ids are " + str(sorted(ids))


def check_groups() -> str:
    others = set(os.getgroups()) - {EXPECTED["user"]}
    return "it is in groups " + str(sorted(others)) if others else ""


def check_root_files() -> str:
    for place in ("/etc/passwd", "/etc/shadow", "/bin/sh"):
        if os.access(place, os.W_OK):
            return place + " can be written"
    for place in ("/", "/etc", "/usr/bin", "/root"):
        if os.path.isdir(place) and os.access(place, os.W_OK):
            return place + " can be written"
    return ""


def check_pids() -> str:
    children: list[int] = []
    wanted = EXPECTED["pids"] + 16
    try:
        while len(children) < wanted:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    except OSError:
        return ""
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)
    return str(wanted) + " processes can run, the limit is " + str(EXPECTED["pids"])


def check_memory() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0 if bytearray(EXPECTED["memory"] + (64 << 20)) else 1)
    _, status = os.waitpid(child, 0)
    return "more memory than the limit can be had" if status == 0 else ""


def check_swap() -> str:
    both = read_cgroup("memory/memory.memsw.limit_in_bytes")
    if both:
        return "" if int(both) <= EXPECTED["memory"] else "memory with swap is bounded by " + both
    swap = read_cgroup("memory.swap.max")
    return "" if swap == "0" else "swap is bounded by " + (swap or "nothing that can be seen")


def check_processors() -> str:
    both = read_cgroup("cpu.max").split()
    quota, period = both or (read_cgroup("cpu/cpu.cfs_quota_us"), read_cgroup("cpu/cpu.cfs_period_us"))
    if quota in ("", "max", "-1"):
        return "there is no CPU quota"
    share = float(quota) / float(period)
    return "" if share <= EXPECTED["cpus"] + 0.01 else "the CPU quota is " + str(share)


def check_open_files() -> str:
    return check_hard_limit(resource.RLIMIT_NOFILE, EXPECTED["files"])


def check_file_size() -> str:
    return check_hard_limit(resource.RLIMIT_FSIZE, EXPECTED["file_bytes"])


def check_core_files() -> str:
    return check_hard_limit(resource.RLIMIT_CORE, 0)


def check_hard_limit(number: int, bound: int) -> str:
    hard = resource.getrlimit(number)[1]
    if hard == resource.RLIM_INFINITY:
        return "there is no limit"
    return "" if hard <= bound else "the limit is " + str(hard) + ", and not " + str(bound)


def check_environment() -> str:
    others = set(os.environ) - set(EXPECTED["environment"]) - {"HOSTNAME", "TERM", "container", "LC_CTYPE"}
    return "there are other variables: " + ", ".join(sorted(others)) if others else ""


def check_locale() -> str:
    locale.setlocale(locale.LC_CTYPE, "")
    found = locale.nl_langinfo(locale.CODESET)
    return "" if found == "UTF-8" else "the character set is " + found


def check_zone() -> str:
    return (
        ""
        if time.timezone == 0 and not time.daylight and time.tzname[0] == "UTC"
        else "the zone is " + time.tzname[0]
    )


def check_kernel_settings() -> str:
    for place, options in list_mounts():
        if place == "/proc/sys":
            return "" if "ro" in options else "/proc/sys is mounted for writing"
    return "/proc/sys is not protected"


def check_masked() -> str:
    places = {place for place, _ in list_mounts()}
    for place in ("/proc/kcore", "/proc/keys", "/proc/timer_list"):
        if os.path.exists(place) and place not in places:
            return place + " is not masked"
    return ""


def check_processes() -> str:
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
    return str(len(others)) + " processes from outside can be seen" if others else ""


def check_init() -> str:
    if os.getpid() == 1:
        return "the program itself is process 1"
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild == 0:
            time.sleep(0.05)
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(40):
        time.sleep(0.05)
        states = [read("/proc/" + name + "/stat") for name in os.listdir("/proc") if name.isdigit()]
        if not any(") Z " in state for state in states):
            return ""
    return "dead children are not collected"


def check_tmp() -> str:
    return check_folder("/tmp") or check_size("/tmp")


def check_home() -> str:
    return check_folder(os.environ.get("HOME", ""))


def check_work_folder() -> str:
    if os.getcwd() != EXPECTED["workspace"]:
        return "it starts in " + os.getcwd()
    return check_folder(os.getcwd())


def check_size(place: str) -> str:
    found = os.statvfs(place)
    size = found.f_blocks * found.f_frsize
    return "" if size <= EXPECTED["tmp"] else place + " holds " + str(size) + " bytes"


def check_folder(place: str) -> str:
    script = os.path.join(place, ".codeboost-probe")
    try:
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!" + sys.executable + "\n")
        os.chmod(script, stat.S_IRWXU)
        child = os.fork()
        if child == 0:
            try:
                os.execv(script, [script])
            except OSError:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        os.unlink(script)
    except OSError as error:
        return place + " cannot be written: " + str(error.strerror)
    return "" if status == 0 else "programs in " + place + " cannot run"


def check_raw_sockets() -> str:
    for family, number in ((socket.AF_INET, 1), (socket.AF_PACKET, 768)):
        try:
            socket.socket(family, socket.SOCK_RAW, number).close()
            return "a raw socket can be opened"
        except OSError:
            pass
    return ""


def check_device_nodes() -> str:
    # Root of a container without capabilities may not write where another user's files are, so /tmp too.
    for folder in (os.getcwd(), "/tmp"):
        place = os.path.join(folder, ".codeboost-node")
        try:
            os.mknod(place, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        except OSError:
            continue
        os.unlink(place)
        return "a device node can be made"
    return ""


def check_devices() -> str:
    known = {
        "null",
        "zero",
        "full",
        "random",
        "urandom",
        "tty",
        "console",
        "ptmx",
        "pts",
        "shm",
        "mqueue",
        "fd",
        "core",
    }
    others = set(os.listdir("/dev")) - known - {"stdin", "stdout", "stderr", "init"}
    return "there are other devices: " + ", ".join(sorted(others)) if others else ""


def check_mounting() -> str:
    if mount():
        return "a file system can be mounted"
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 and mount() else 1)
    _, status = os.waitpid(child, 0)
    return "a file system can be mounted in a namespace of its own" if status == 0 else ""


def mount() -> bool:
    place = b"/mnt" if os.path.isdir("/mnt") else b"/tmp"
    return bool(LIBC.mount(b"none", place, b"tmpfs", 0, None) == 0)


def check_input() -> str:
    ready, _, _ = select.select([0], [], [], 0.5)
    return "" if ready and not os.read(0, 1) else "standard input is open"


def main() -> None:
    found = {}
    for name in sys.argv[2:]:
        try:
            found[name] = globals()["check_" + name.replace("-", "_")]()
        except Exception as error:
            found[name] = "the probe failed: " + repr(error)
    print(json.dumps({"found": found, "now": time.time()}))


main()
