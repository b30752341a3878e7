"""Data sets that are broken: IDX, NumPy, CIFAR, archives, packed sets, images."""

import gzip
import io
import os
import shutil
import struct
import subprocess
import tarfile

import numpy
from PIL import Image

from . import fails, refused, split
from .odd_files import odd_files
from veche_runs import VECHE

IDX_IMAGES = bytes([0, 0, 8, 3]) + struct.pack(">III", 4, 2, 2) + bytes(16)
IDX_LABELS = bytes([0, 0, 8, 1]) + struct.pack(">I", 4) + bytes([0, 1, 0, 1])
IDX_NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
IDX = {  # in the place of the training images
    "empty": b"", "short": b"\0\0\x08", "magic": b"\1" + IDX_IMAGES[1:], "type": bytes([0, 0, 9, 3]) + IDX_IMAGES[4:], "rank": bytes([0, 0, 8, 9]) + IDX_IMAGES[4:],
    "cut": IDX_IMAGES[:-1], "long": IDX_IMAGES + b"x", "huge": IDX_IMAGES[:4] + struct.pack(">III", 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF), "none": IDX_IMAGES[:4] + struct.pack(">III", 0, 2, 2),
    "flat": IDX_IMAGES[:4] + struct.pack(">III", 4, 0, 2), "other": IDX_IMAGES[:4] + struct.pack(">III", 3, 2, 2) + bytes(12), "labels": IDX_LABELS, "noise": bytes(range(256)),
    "gzip-cut": gzip.compress(IDX_IMAGES)[:-9], "gzip-noise": b"\x1f\x8b" + bytes(100),
}


def npy(array):
    out = io.BytesIO()
    numpy.save(out, array, allow_pickle=True)
    return out.getvalue()


def npy_header(text, version=1):
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text


NPY = {  # in the place of train_images.npy
    "empty": b"", "magic": b"NUMPY", "cut": npy(numpy.zeros((4, 2, 2), "u1"))[:-1], "header": b"\x93NUMPY\x01\0\xff\xff", "header-2": b"\x93NUMPY\x02\0\xff\xff\xff\xff",
    "no-shape": npy_header(b"{'descr': '|u1', 'fortran_order': False}"), "huge": npy_header(b"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
    "product": npy_header(b"{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4)}"), "zero": npy(numpy.zeros((0, 2, 2), "u1")),
    "negative": npy_header(b"{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}"), "complex": npy(numpy.zeros((4, 2, 2), "c8")), "objects": npy(numpy.array([None] * 4)),
    "fortran": npy(numpy.asfortranarray(numpy.zeros((4, 3, 2), "u1"))), "big-endian": npy(numpy.zeros((4, 2, 2), ">i4")), "flat": npy(numpy.zeros(4, "u1")),
    "rank-9": npy(numpy.zeros((4,) + (1,) * 8, "u1")), "count": npy(numpy.zeros((5, 2, 2), "u1")),
}
NPY_LABELS = {"float": npy(numpy.array([0.5, 1, 0, 1])), "negative": npy(numpy.array([-1, 0, 1, 0])), "huge": npy(numpy.array([2**62, 0, 1, 0])), "square": npy(numpy.zeros((4, 4), "i8"))}
# `inspect` counts damaged samples, and fails when there are any.
DAMAGED = {"idx-other", "npy-count", "npy-labels-negative", "npy-labels-huge", "packed-files-no-shard", "packed-files-short-shard",
           "packed-pixels-no-shard", "packed-pixels-short-shard"}


def write_all(folder, files):
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def picture(size=(4, 4), kind="PNG"):
    out = io.BytesIO()
    Image.new("RGB", size, (10, 200, 30)).save(out, kind)
    return out.getvalue()


def bomb(side, scans):
    """A progressive JPEG that asks for many passes over all its pixels; each takes twelve bytes."""
    tables = b"".join(b"\xff\xc4\0\x14" + bytes([kind, 1, *[0] * 15, symbol]) for kind, symbol in ((0x00, 0x00), (0x10, 0xe0)))
    head = b"\xff\xd8\xff\xdb\0\x43\0" + b"\1" * 64 + b"\xff\xc2\0\x0b\x08" + struct.pack(">HH", side, side) + b"\1\1\x11\0" + tables
    return head + b"\xff\xda\0\x08\1\1\0\0\0\0" + bytes(side * side // 512) + b"\xff\xda\0\x08\1\1\0\1\x3f\0\0\1" * scans + b"\xff\xd9"


def images():
    return {f"{part}/{name}/{i}.png": picture() for part in ("train", "test") for name in ("ant", "bee") for i in range(2)}


def archive(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def idx_sets(place):
    good = dict(zip(IDX_NAMES, (IDX_IMAGES, IDX_LABELS, IDX_IMAGES, IDX_LABELS)))
    for name, content in IDX.items():
        yield write_all(place / f"idx-{name}", good | {IDX_NAMES[0] + (".gz" if name.startswith("gzip") else ""): content} if not name.startswith("gzip") else
                        {key: value for key, value in good.items() if key != IDX_NAMES[0]} | {IDX_NAMES[0] + ".gz": content})
    for missing in IDX_NAMES:
        yield write_all(place / f"idx-without-{missing}", {key: value for key, value in good.items() if key != missing})
    folder = write_all(place / "idx-pipe", {key: value for key, value in good.items() if key != IDX_NAMES[1]})
    os.mkfifo(folder / IDX_NAMES[1])
    yield folder


def npy_sets(place):
    good = {"train_images.npy": npy(numpy.zeros((4, 2, 2), "u1")), "train_labels.npy": npy(numpy.array([0, 1, 0, 1])),
            "test_images.npy": npy(numpy.zeros((4, 2, 2), "u1")), "test_labels.npy": npy(numpy.array([0, 1, 0, 1]))}
    for name, content in NPY.items():
        yield write_all(place / f"npy-{name}", good | {"train_images.npy": content})
    for name, content in NPY_LABELS.items():
        yield write_all(place / f"npy-labels-{name}", good | {"train_labels.npy": content})


def packed_sets(place):
    whole = write_all(place / "images", images())
    for name, options in {"files": [], "pixels": ["--decode"]}.items():
        packed = place / f"packed-{name}"
        subprocess.run([VECHE, "data", "pack", whole, packed, *options], check=True, capture_output=True)
        index = (packed / "index.veche").read_bytes()
        for broken, content in {"empty": b"", "cut": index[:-1], "magic": b"x" + index[1:], "version": index[:8] + b"\x63" + index[9:], "bit": index[:40] + bytes([index[40] ^ 1]) + index[41:],
                                "noise": bytes(range(256)) * 4, "longer": index + b"x"}.items():
            copy = shutil.copytree(packed, place / f"packed-{name}-{broken}")
            (copy / "index.veche").write_bytes(content)
            yield copy
        copy = shutil.copytree(packed, place / f"packed-{name}-no-shard")
        (copy / "00000.shard").unlink()
        yield copy
        copy = shutil.copytree(packed, place / f"packed-{name}-short-shard")
        os.truncate(copy / "00000.shard", 3)
        yield copy


def image_sets(place):
    yield write_all(place / "no-images", {})
    yield write_all(place / "one-class", {"train/ant/0.png": picture(), "test/ant/0.png": picture()})
    yield write_all(place / "no-pictures", {"train/ant/readme.doc": b"x", "train/bee/readme.doc": b"x"})
    pipes = write_all(place / "pipes", {})
    for name in ("ant", "bee"):
        (pipes / "train" / name).mkdir(parents=True)
        os.mkfifo(pipes / "train" / name / "0.png")
    yield pipes
    circle = write_all(place / "circle", {})
    os.symlink(".", circle / "train")
    yield circle
    tar = archive(images())
    for name, content in {"cut.tar": tar[:700], "noise.tar": bytes(range(256)) * 8, "empty.tar": b"", "nothing.tar": bytes(10240)}.items():
        (place / name).write_bytes(content)
        yield place / name


def unread_sets(place):
    """Pictures of formats that are not read, alone and among others."""
    for kind in ("GIF", "WEBP", "BMP", "TIFF"):
        only = {name.replace("png", kind.lower()): picture(kind=kind) for name in images()}
        yield write_all(place / f"only-{kind}", only), kind
        yield write_all(place / f"some-{kind}", images() | {f"train/ant/9.{kind.lower()}": picture(kind=kind)}), kind


def cases(place):
    for path, kind in unread_sets(place):
        yield refused("data", "pack", path, "out", says=("WebP" if kind == "WEBP" else kind, "not read", "convert"))
    scans = write_all(place / "scans", images() | {"train/ant/0.png": bomb(8000, 300000)})
    yield refused("data", "pack", scans, "out", says=("0.png", "300001 scans"))
    for make in (idx_sets, npy_sets, packed_sets, image_sets):
        for path in make(place):
            yield (fails if path.name in DAMAGED else refused)("data", "inspect", path, "--json", says=path.name)
            if make is not idx_sets:
                yield refused(*split(f"data.path={path}")[:2], "--set", f"data.path={path}")
    for path in odd_files(place):
        yield refused("data", "inspect", path, says=str(path))
        yield refused("data", "pack", path, "out", says=str(path))
        yield refused("data", "split", "--set", f"data.path={path}", says=str(path))
        yield refused("data", "split", "--set", "data.name=mnist", "--set", f"data.path={path}", says=str(path))
    broken = write_all(place / "damaged", images() | {"train/ant/0.png": picture()[:40], "train/bee/0.png": b""})
    yield fails("data", "inspect", broken, "--json")
    yield refused("data", "pack", broken, "out", says="0.png")
