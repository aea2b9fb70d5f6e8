#!/usr/bin/env python3
"""Makes small root folders that look like stations, a server and a container, for tests of snapshot, diff, impact, lock and fleet.

  make_root.py ROOT KIND [CHANGE...]       KIND: r32 r35 r36 r38 r39 server container; CHANGE: see --list
  make_root.py --list

Sources of the forms: rules/stacks.yaml for which versions belong together; docs/formats/snapshot.md for which files are read. The
libraries are small ELF files with a soname and random-looking bytes: nothing of NVIDIA's is in them.
"""

import hashlib
import os
import pathlib
import shutil
import struct
import sys

KINDS = {
    "r32": {"l4t": ("32", "7.4"), "gcid": "33514132", "board": "t186ref", "model": "NVIDIA Jetson Xavier NX Developer Kit",
            "compatible": ["nvidia,p3449-0000+p3668-0001", "nvidia,tegra194"], "ubuntu": "18.04", "kernel": "4.9.337-tegra",
            "cuda": "10.2.300", "cudnn": "8.2.1", "tensorrt": "8.2.1", "build": "8", "cuda_short": "10.2", "mode": "MODE_15W_6CORE"},
    "r35": {"l4t": ("35", "4.1"), "gcid": "33958178", "board": "t186ref", "model": "NVIDIA Orin NX Developer Kit",
            "compatible": ["nvidia,p3768-0000+p3767-0000", "nvidia,p3767-0000", "nvidia,tegra234"], "ubuntu": "20.04", "kernel": "5.10.120-tegra",
            "cuda": "11.4.298", "cudnn": "8.6.0", "tensorrt": "8.5.2", "build": "2", "cuda_short": "11.4", "mode": "15W"},
    "r36": {"l4t": ("36", "4.3"), "gcid": "38968081", "board": "generic", "model": "NVIDIA Jetson Orin NX Engineering Reference Developer Kit",
            "compatible": ["nvidia,p3768-0000+p3767-0000-super", "nvidia,p3767-0000", "nvidia,tegra234"], "ubuntu": "22.04",
            "kernel": "5.15.148-tegra", "cuda": "12.6.68", "cudnn": "9.3.0", "tensorrt": "10.3.0", "build": "30", "cuda_short": "12.6", "mode": "MAXN"},
    "r38": {"l4t": ("38", "2.1"), "gcid": "42061081", "board": "generic", "model": "NVIDIA Jetson AGX Thor Developer Kit",
            "compatible": ["nvidia,p4071-0000+p3834-0008", "nvidia,p3834-0008", "nvidia,tegra264"], "ubuntu": "24.04", "kernel": "6.8.12-tegra",
            "cuda": "13.0.48", "cudnn": "9.12.0", "tensorrt": "10.13.2", "build": "6", "cuda_short": "13.0", "mode": "120W"},
    "r39": {"l4t": ("39", "2.0"), "gcid": "43000000", "board": "generic", "model": "NVIDIA Jetson AGX Thor Developer Kit",
            "compatible": ["nvidia,p4071-0000+p3834-0008", "nvidia,p3834-0008", "nvidia,tegra264"], "ubuntu": "24.04", "kernel": "6.8.12-tegra",
            "cuda": "13.2.75", "cudnn": "9.20.0", "tensorrt": "10.16.2", "build": "10", "cuda_short": "13.2", "mode": "120W"},
    "server": {"l4t": None, "model": None, "ubuntu": "22.04", "kernel": "5.15.0-119-generic", "cuda": "12.6.68", "cudnn": "9.3.0",
               "tensorrt": "10.3.0", "build": "26", "cuda_short": "12.6", "driver": "560.35.03"},
    "container": {"l4t": None, "model": None, "ubuntu": "22.04", "kernel": "5.15.0-119-generic", "cuda": "12.6.68", "cudnn": "9.3.0",
                  "tensorrt": "10.3.0", "build": "26", "cuda_short": "12.6"},
}
HELD = ["linux-firmware", "nvidia-l4t-kernel", "nvidia-l4t-kernel-dtbs", "nvidia-l4t-firmware", "nvidia-l4t-kernel-headers", "wireless-regdb"]
MACHINE = {"aarch64": 183, "x86_64": 62}


def elf(architecture, soname, content):
    """A 64-bit ELF file with a dynamic section that names `soname`, then `content`."""
    names = b"\0" + soname.encode() + b"\0"
    header_size, entry = 64, 56
    dynamic_at = header_size + 2 * entry
    names_at = dynamic_at + 4 * 16
    size = names_at + len(names) + len(content)
    dynamic = b"".join(struct.pack("<QQ", *pair) for pair in ((5, names_at), (10, len(names)), (14, 1), (0, 0)))
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, MACHINE[architecture], 1, 0, header_size, 0, 0, 64, entry, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    dynamic_header = struct.pack("<IIQQQQQQ", 2, 6, dynamic_at, dynamic_at, dynamic_at, 64, 64, 8)
    return header + load + dynamic_header + dynamic + names + content


class Station:
    def __init__(self, root, kind):
        self.root = pathlib.Path(root)
        self.kind = kind
        self.facts = dict(KINDS[kind])
        self.architecture = "x86_64" if kind in ("server", "container") else "aarch64"
        self.libraries = f"/usr/lib/{self.architecture}-linux-gnu"
        self.held = list(HELD) if self.facts["l4t"] else []
        self.python_tensorrt = self.facts["tensorrt"]
        self.source_enabled = False
        self.camera = "0118"
        self.engine = b"engine of the first build" * 20
        self.installation = "0" * 31 + "1"
        self.serial = "1422022000001"
        self.salt = ""

    def put(self, path, content, mode=0o644):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        target.chmod(mode)

    def link(self, path, to):
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(to)

    def library(self, folder, stem, major, version):
        """The real file, the soname's link and the developer's link."""
        soname = f"{stem}.so.{major}"
        content = hashlib.sha256(f"{stem} {version} {self.salt}".encode()).digest() * 8
        real = f"{stem}.so.{version}"
        self.put(f"{folder}/{real}", elf(self.architecture, soname, content))
        if real != soname:
            self.link(f"{folder}/{soname}", real)
        self.link(f"{folder}/{stem}.so", real if real == soname else soname)

    def packages(self):
        facts = self.facts
        trt = f"{facts['tensorrt']}.{facts['build']}-1+cuda{facts['cuda_short']}"
        major = facts["tensorrt"].split(".")[0]
        list_ = [(f"libnvinfer{major}", trt, "install ok installed"), (f"libnvinfer-plugin{major}", trt, "install ok installed"),
                 (f"cuda-cudart-{facts['cuda_short'].replace('.', '-')}", f"{facts['cuda']}-1", "install ok installed"),
                 ("libc6", "2.35-0ubuntu3", "install ok installed"), ("unattended-upgrades", "2.8", "install ok installed"),
                 ("bash", "5.1-6ubuntu1", "install ok installed"), ("tar", "1.34", "install ok installed"),
                 ("nvidia-old-tool", "1.0", "deinstall ok config-files")]
        if facts["l4t"]:
            version = f"{facts['l4t'][0]}.{facts['l4t'][1]}-20250107174145"
            for name in ("core", "cuda", "firmware", "kernel", "kernel-dtbs", "kernel-headers", "bootloader", "camera", "multimedia"):
                list_.append((f"nvidia-l4t-{name}", version, "install ok installed"))
            list_ += [("linux-firmware", "20220329", "install ok installed"), ("wireless-regdb", "2022.06.06", "install ok installed")]
        else:
            list_.append(("nvidia-container-toolkit", "1.16.1-1", "install ok installed"))
        text = ""
        for name, version, status in sorted(list_):
            if name in self.held:
                status = status.replace("install ", "hold ", 1)
            text += (f"Package: {name}\nStatus: {status}\nPriority: optional\nSection: misc\nInstalled-Size: 1\nMaintainer: nobody\n"
                     f"Architecture: {'arm64' if self.architecture == 'aarch64' else 'amd64'}\nVersion: {version}\nDescription: {name}\n made for a test\n\n")
        return text

    def write(self):
        facts = self.facts
        if self.root.exists():
            shutil.rmtree(self.root)
        self.put("/etc/os-release", f'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="{facts["ubuntu"]}"\nPRETTY_NAME="Ubuntu {facts["ubuntu"]} LTS"\n')
        self.put("/bin/sh", elf(self.architecture, "sh", b""), 0o755)
        self.put("/etc/machine-id", self.installation + "\n")
        self.put("/var/lib/dpkg/status", self.packages())
        self.put("/etc/apt/apt.conf.d/20auto-upgrades", 'APT::Periodic::Update-Package-Lists "1";\nAPT::Periodic::Unattended-Upgrade "0";\n')
        self.put("/etc/apt/sources.list", "deb http://ports.ubuntu.com/ubuntu-ports jammy main\n# deb-src http://ports.ubuntu.com/ubuntu-ports jammy main\n")
        self.link("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC")
        self.put("/etc/systemd/timesyncd.conf", "[Time]\n")
        self.link("/etc/systemd/system/sysinit.target.wants/systemd-timesyncd.service", "/lib/systemd/system/systemd-timesyncd.service")
        self.put("/etc/fstab", "/dev/root / ext4 defaults 0 1\n")
        self.put("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64\n")
        major = facts["tensorrt"].split(".")[0]
        for stem in ("libnvinfer", "libnvinfer_plugin", "libnvonnxparser"):
            self.library(self.libraries, stem, major, facts["tensorrt"])
        self.library(self.libraries, "libcudnn", facts["cudnn"].split(".")[0], facts["cudnn"])
        cuda = f"/usr/local/cuda-{facts['cuda_short']}"
        self.library(f"{cuda}/targets/{self.architecture}-linux/lib", "libcudart", facts["cuda"].split(".")[0], facts["cuda"])
        self.link(f"{cuda}/lib64", f"targets/{self.architecture}-linux/lib")
        self.link("/usr/local/cuda", cuda)
        self.put(f"/usr/lib/python3/dist-packages/tensorrt-{self.python_tensorrt}.dist-info/METADATA",
                 f"Metadata-Version: 2.1\nName: tensorrt\nVersion: {self.python_tensorrt}\n\nVersion: 0\n")
        self.put("/opt/line/detector.plan", self.engine)
        digest = hashlib.sha256(self.engine).hexdigest()
        self.put("/opt/line/detector.plan.manifest.json",
                 '{"schema": "engine-manifest/1", "engine": {"name": "detector.plan", "digest": "sha256:' + digest + '", "size_bytes": '
                 + str(len(self.engine)) + '}, "model": {"digest": "sha256:' + "a" * 64 + '"}, "toolchain": {"name": "tensorrt", "version": "'
                 + f"{facts['tensorrt']}.{facts['build']}" + '"}, "options": {"requested": {}, "effective": {}}}\n')
        if facts["l4t"]:
            self.write_jetson()
        elif self.kind == "server":
            self.write_server()
        else:
            self.put("/.dockerenv", "")

    def write_jetson(self):
        facts = self.facts
        release, revision = facts["l4t"]
        text = (f"# R{release} (release), REVISION: {revision}, GCID: {facts['gcid']}, BOARD: {facts['board']}, EABI: aarch64, "
                "DATE: Wed Jan  8 01:49:37 UTC 2025\n")
        driver = b"a driver library of a test"
        self.put("/usr/lib/aarch64-linux-gnu/tegra/libnvos.so", driver)
        if int(release) < 36:
            text += f"{hashlib.sha1(driver).hexdigest()} */usr/lib/aarch64-linux-gnu/tegra/libnvos.so\n"
        else:
            text += "# KERNEL_VARIANT: oot\nTARGET_USERSPACE_LIB_DIR=nvidia\nTARGET_USERSPACE_LIB_DIR_PATH=usr/lib/aarch64-linux-gnu/nvidia\n"
        self.put("/etc/nv_tegra_release", text)
        self.put("/proc/device-tree/model", facts["model"] + "\0")
        self.put("/proc/device-tree/compatible", "\0".join(facts["compatible"]) + "\0")
        self.put("/proc/device-tree/serial-number", self.serial + "\0")
        self.put("/proc/sys/kernel/osrelease", facts["kernel"] + "\n")
        self.put("/proc/cmdline", "root=PARTUUID=1234-5678 rw rootwait console=ttyTCU0,115200\n")
        self.put(f"/lib/modules/{facts['kernel']}/updates/camera.ko", f"a module for {facts['kernel']}")
        self.put("/boot/Image", f"kernel {facts['kernel']}")
        self.put("/boot/extlinux/extlinux.conf", "DEFAULT primary\nLABEL primary\n LINUX /boot/Image\n APPEND ${cbootargs} root=PARTUUID=1234 rw\n")
        self.put("/etc/nvpmodel.conf", f"< POWER_MODEL ID=0 NAME={facts['mode']} >\nGPU MAX_FREQ 918000000\n< PM_CONFIG DEFAULT=0 >\n")
        self.put("/var/lib/nvpmodel/status", "pmode:0000")
        for name in ("min_freq", "max_freq"):
            self.put(f"/sys/class/devfreq/17000000.gpu/{name}", "918000000\n")
        source = f"deb https://repo.download.nvidia.com/jetson/common r{release}.{revision.split('.')[0]} main\n"
        self.put("/etc/apt/sources.list.d/nvidia-l4t-apt-source.list", source if self.source_enabled else "# " + source)
        camera = "/sys/devices/usb1/1-1"
        for name, value in (("bcdDevice", self.camera), ("idVendor", "2676"), ("idProduct", "ba02")):
            self.put(f"{camera}/{name}", value + "\n")
        self.put(f"{camera}/1-1:1.0/video4linux/video0/name", "Inspection Camera\n")
        self.link(f"{camera}/1-1:1.0/driver", "/sys/bus/usb/drivers/uvcvideo")
        self.link(f"{camera}/1-1:1.0/video4linux/video0/device", "../../../1-1:1.0")
        self.link("/sys/class/video4linux/video0", f"{camera}/1-1:1.0/video4linux/video0")

    def write_server(self):
        facts = self.facts
        self.put("/proc/sys/kernel/osrelease", facts["kernel"] + "\n")
        self.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {facts['driver']}  Fri Aug 16 21:39:15 UTC 2024\n")
        for bus in ("0000:17:00.0", "0000:65:00.0"):
            self.put(f"/proc/driver/nvidia/gpus/{bus}/information",
                     f"Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 40\nVideo BIOS: \t 92.00.a0.00.04\nBus Location: \t {bus}\n")
        self.put("/sys/class/dmi/id/product_name", "Rack Server 1\n")
        self.put("/sys/class/dmi/id/bios_version", "2.19.1\n")
        self.put("/etc/docker/daemon.json", '{"runtimes": {"nvidia": {}}}\n')
        self.library(self.libraries, "libcuda", "1", facts["driver"])


def point_release(station):
    release, revision = station.facts["l4t"]
    station.facts.update(l4t=(release, "4.7"), gcid="42132812", kernel="5.15.148-tegra-1")


def jetpack_major(station):
    kept = station.held, station.serial
    station.__init__(station.root, "r39" if station.kind in ("r36", "r38") else "r36")
    station.held, station.serial = kept


def reflash(station):
    station.installation = "0" * 31 + "2"


CHANGES = {
    "point-release": point_release,
    "jetpack-major": jetpack_major,
    "kernel": lambda s: s.facts.update(kernel=s.facts["kernel"] + "-custom"),
    "tensorrt": lambda s: s.facts.update(tensorrt="10.7.0", build="23"),  # the Python package stays
    "reflash": reflash,
    "rebuilt": lambda s: setattr(s, "engine", b"engine of the second build" * 20),
    "hold-removed": lambda s: s.held.remove("nvidia-l4t-kernel"),
    "source-enabled": lambda s: setattr(s, "source_enabled", True),
    "camera-firmware": lambda s: setattr(s, "camera", "0119"),
    "other-unit": lambda s: setattr(s, "serial", "1422022000002"),
    "library-replaced": lambda s: setattr(s, "salt", "other bytes"),
    "power-mode": lambda s: s.facts.update(mode="MODE_10W"),
    "driver": lambda s: s.facts.update(driver="570.86.15"),
}


def make(root, kind, changes=()):
    station = Station(root, kind)
    for change in changes:
        CHANGES[change](station)
    station.write()
    return station


def main():
    if sys.argv[1:] == ["--list"]:
        print("kinds:", *KINDS)
        print("changes:", *CHANGES)
        return 0
    if len(sys.argv) < 3 or sys.argv[2] not in KINDS or any(change not in CHANGES for change in sys.argv[3:]):
        sys.exit(__doc__)
    os.umask(0o022)
    make(sys.argv[1], sys.argv[2], sys.argv[3:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
