"""Ways out of a container, tried one by one: none opens, and the host is as before."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from codeboost.sandbox.archive import END, Kind, make_header, wrap
from codeboost.verdict import Verdict

pytestmark = pytest.mark.usefixtures("unchanged_host")


def expect_refused(lab: Any, text: str) -> None:
    """Each line of ``tries`` must raise OSError inside; the program ends 0 only if all did."""
    program = f"import ctypes, os, socket\n{text}\nbad = []\nfor name, attempt in tries.items():\n    try:\n        attempt()\n        bad.append(name)\n    except OSError: pass\nprint(bad)\nraise SystemExit(bool(bad))\n"
    outcome = lab.python(program)
    assert (outcome.verdict, outcome.stdout.head) == (Verdict.PASSED, b"[]\n")


def test_the_network_the_metadata_service_and_names(lab: Any) -> None:
    listener = socket.create_server(("0.0.0.0", 0))
    port = listener.getsockname()[1]
    reached = []
    listener.settimeout(5)

    def accept() -> None:
        try:
            reached.append(listener.accept())
        except OSError:
            return

    thread = threading.Thread(target=accept)
    thread.start()
    gateway = socket.gethostbyname(socket.gethostname())
    text = f"""
def connect(host, port): return lambda: socket.create_connection((host, port), 2).close()
def send(host): return lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', (host, 53))
tries = {{'metadata': connect('169.254.169.254', 80), 'host': connect('{gateway}', {port}),
         'loopback': connect('127.0.0.1', {port}), 'bridge': connect('172.17.0.1', {port}),
         'internet': connect('192.0.2.1', 443), 'udp': send('192.0.2.1'), 'broadcast': send('255.255.255.255'),
         'ipv6': lambda: socket.create_connection(('2001:db8::1', 80), 2),
         'name': lambda: socket.getaddrinfo('example.com', 80),
         'vsock': lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, 1024)),
         'forward': lambda: os.write(os.open('/proc/sys/net/ipv4/ip_forward', os.O_WRONLY), b'1')}}
"""
    expect_refused(lab, text)
    thread.join()
    listener.close()
    assert reached == []


def test_the_engines_socket(lab: Any) -> None:
    text = """
def connect(path): return lambda: socket.socket(socket.AF_UNIX).connect(path)
places = ['/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock', '/run/podman/podman.sock',
          '\\0docker.sock', '\\0/containerd-shim']
tries = {place: connect(place) for place in places}
"""
    expect_refused(lab, text)


def test_writing_to_the_kernel(lab: Any) -> None:
    text = """
def write(path, text=b'1'): return lambda: os.write(os.open(path, os.O_WRONLY), text)
places = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger',
          '/proc/sys/vm/overcommit_memory', '/sys/kernel/uevent_helper', '/sys/fs/cgroup/memory/memory.limit_in_bytes',
          '/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/pids/pids.max', '/sys/fs/cgroup/pids.max',
          '/sys/fs/cgroup/release_agent', '/sys/fs/cgroup/cgroup.procs', '/dev/mem', '/dev/kmsg',
          '/sys/power/state', '/proc/bus/pci/00', '/proc/irq/default_smp_affinity']
tries = {place: write(place) for place in places}
tries['kcore'] = lambda: os.read(os.open('/proc/kcore', os.O_RDONLY), 1) or missing()
def missing(): raise OSError
tries['self'] = write('/proc/self/oom_score_adj', b'-1000')
"""
    expect_refused(lab, text)


def test_mounts_namespaces_devices_and_raw_sockets(lab: Any) -> None:
    text = """
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    def attempt():
        if getattr(libc, name)(*arguments) < 0:
            raise OSError(ctypes.get_errno(), name)
    return attempt
tries = {
    'tmpfs': call('mount', b'none', b'/mnt', b'tmpfs', 0, None),
    'bind': call('mount', b'/etc', b'/workspace', None, 4096, None),
    'remount': call('mount', None, b'/proc/sys', None, 32 | 4096, None),
    'umount': call('umount2', b'/proc/sys', 2),
    'pivot': call('syscall', 155, b'/', b'/tmp'),
    'chroot': lambda: os.chroot('/tmp'),
    'setns': lambda: call('setns', os.open('/proc/1/ns/mnt', os.O_RDONLY), 0)(),
    'reboot': call('reboot', 0x01234567),
    'module': call('syscall', 175, b'', 0, b''),
    'bpf': call('syscall', 321, 0, None, 0),
    'perf': call('syscall', 298, None, 0, -1, -1, 0),
    'userfaultfd': call('syscall', 323, 0),
    'keyctl': call('syscall', 250, 0, -3, 0, 0, 0),
    'clock': call('clock_settime', 0, b'\\0' * 16),
    'swapon': call('swapon', b'/tmp/x', 0),
    'open_by_handle_at': call('syscall', 304, -100, b'\\0' * 128, 0),
    'io_uring': call('syscall', 425, 1, b'\\0' * 120) if os.uname().release < '5' else call('reboot', 0),
    'raw': lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    'packet': lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768),
    'mknod': lambda: os.mknod('/workspace/null', 0o600 | 0o020000, os.makedev(1, 3)),
    'block': lambda: os.mknod('/tmp/sda', 0o600 | 0o060000, os.makedev(8, 0)),
    'setuid': lambda: os.setuid(0),
    'setgid': lambda: os.setgid(0),
    'groups': lambda: os.setgroups([0]),
    'chown': lambda: (open('/tmp/c', 'w'), os.chown('/tmp/c', 0, 0)),
    'nice': lambda: os.setpriority(os.PRIO_PROCESS, 0, -10),
    'rlimit': lambda: __import__('resource').setrlimit(7, (1 << 20, 1 << 20)) or None,
    'hostname': lambda: socket.sethostname('x'),
}
def rlimit():
    try:
        __import__('resource').setrlimit(7, (1 << 20, 1 << 20))
    except ValueError as error:
        raise OSError from error
tries['rlimit'] = rlimit
for number in (1, 2):
    tries['unshare %d' % number] = call('unshare', {1: 0x10000000, 2: 0x00020000}[number])
"""
    expect_refused(lab, text)


def test_looking_into_other_processes(lab: Any) -> None:
    # Process 1 is the engine's init with our own user id: it may be traced, and is no more than the program is.
    text = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
def read(path):
    with open(path, 'rb') as file: return file.read().decode('utf-8', 'replace')
seen = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
status = dict(line.split(':', 1) for line in read('/proc/1/status').splitlines())
found = {'seen': seen, 'me': os.getpid(), 'environment': read('/proc/1/environ'),
         'status': {name: status[name].split() for name in ('Uid', 'Gid', 'CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp')},
         'files': sorted({os.readlink('/proc/1/fd/' + name).split(':')[0] for name in os.listdir('/proc/1/fd')}),
         'root': os.path.samefile('/proc/1/root', '/'), 'traced': [libc.ptrace(16, pid, 0, 0) for pid in (2, 3, 4) if pid not in seen]}
print(json.dumps(found))
"""
    outcome = lab.python(text)
    assert outcome.verdict is Verdict.PASSED, outcome.stderr.head
    found = json.loads(outcome.stdout.head)
    assert found["seen"] == [1, found["me"]]
    assert "DOCKER" not in found["environment"]
    assert lab.mark in found["environment"]
    nobody = ["0000000000000000"]
    user = ["10001"] * 4
    assert found["status"] == {
        "Uid": user,
        "Gid": user,
        "CapEff": nobody,
        "CapBnd": nobody,
        "NoNewPrivs": ["1"],
        "Seccomp": ["2"],
    }
    assert set(found["files"]) <= {"/dev/null", "pipe"}
    assert found["root"]
    # What is outside has no number in here.
    assert found["traced"]
    assert set(found["traced"]) == {-1}


def test_a_setuid_file_of_the_tree_gives_nothing(lab: Any) -> None:
    lab.repo.write("tool", "#!/bin/sh\nid -u\n", executable=True)
    outcome = lab.run("sh", "-c", "cp /bin/sh ./s && chmod 6755 ./s && ./s -p -c 'id -u; id -g'; ./tool")
    assert outcome.stdout.head == b"10001\n10001\n10001\n"


def test_a_setuid_file_of_the_image_gives_nothing(lab: Any, client: Any) -> None:
    reference = f"codeboost/test-setuid:{lab.mark[:12]}"
    busybox = Path("/bin/busybox").read_bytes()
    context = [
        *wrap(
            b"Dockerfile",
            f"FROM {lab.image_id}\nCOPY root-id /usr/bin/root-id\nRUN chmod 6755 /usr/bin/root-id\n".encode(),
        ),
        make_header(b"root-id", Kind.FILE, mode=0o755, size=len(busybox)),
        busybox,
        bytes(-len(busybox) % 512),
        END,
    ]
    client.build_image(context, reference, {})
    lab.image_id = client.inspect_image(reference)["Id"]
    try:
        script = "import os, subprocess; print(oct(os.stat('/usr/bin/root-id').st_mode), flush=True); os.execv('/usr/bin/root-id', ['id', '-u'])"
        outcome = lab.python(script)
        assert outcome.stdout.head == b"0o106755\n10001\n"
    finally:
        client.remove_image(f"codeboost/snapshot:{lab.snapshot().key}")
        client.remove_image(reference)


def test_links_lead_nowhere_outside(lab: Any, tmp_path: Any) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    secret.chmod(0o644)
    lab.repo.link("file", str(secret)).link("folder", str(tmp_path)).link(
        "up", "../../../../../../" + str(secret)
    )
    lab.repo.link("root", "/").link("proc", f"/proc/{os.getpid()}/root{secret}")
    outcome = lab.run("cat", "file", "folder/secret", "up", f"root/{secret}", "proc", "root/etc/shadow")
    assert outcome.verdict is Verdict.FAILED
    assert outcome.stdout.head == b""


def test_the_callers_environment_and_files_stay_unseen(lab: Any, monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret-value")
    (tmp_path / "token").write_text("s3cret-value")
    text = (
        "import os\n"
        "found = []\n"
        "for pid in [name for name in os.listdir('/proc') if name.isdigit()]:\n"
        "    try: found.append(open(f'/proc/{pid}/environ', 'rb').read())\n"
        "    except OSError: pass\n"
        f"found.append(repr(os.path.exists({str(tmp_path)!r})).encode())\n"
        "found.append(open('/proc/self/mountinfo', 'rb').read())\n"
        "import sys; sys.stdout.buffer.write(b'|'.join(found))\n"
    )
    printed = lab.python(text).stdout.head
    assert b"s3cret-value" not in printed
    assert b"True" not in printed
    assert os.fsencode(lab.repo.path) not in printed
