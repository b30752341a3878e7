#!/usr/bin/env python3
"""Makes the seed corpus of the fuzz targets anew: a few tiny good files of each kind. Needs Pillow and numpy."""
import base64
import gzip
import hashlib
import io
import json
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile

import numpy
from PIL import Image

CORPUS = pathlib.Path(__file__).parent / "corpus"
FOUND = "found-"  # what the fuzzer found is kept


def save(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def picture(kind, mode, size, **options):
    pixels = numpy.arange(size[0] * size[1] * 4, dtype=numpy.uint8).reshape(size[1], size[0], 4)
    out = io.BytesIO()
    Image.fromarray(pixels, "RGBA").convert(mode).save(out, kind, **options)
    return out.getvalue()


def pictures():
    save("jpeg", "colour", picture("JPEG", "RGB", (9, 7)))
    save("jpeg", "grey", picture("JPEG", "L", (8, 8)))
    save("jpeg", "progressive", picture("JPEG", "RGB", (17, 9), progressive=True))
    save("jpeg", "inks", picture("JPEG", "CMYK", (8, 8)))
    save("jpeg", "restarts", picture("JPEG", "RGB", (33, 17), subsampling=2))
    save("png", "colour", picture("PNG", "RGB", (5, 4)))
    save("png", "grey", picture("PNG", "L", (5, 4)))
    save("png", "transparent", picture("PNG", "RGBA", (5, 4)))
    save("png", "palette", picture("PNG", "P", (5, 4)))
    save("png", "bits", picture("PNG", "1", (9, 4)))


def idx():
    images = bytes([0, 0, 8, 3]) + struct.pack(">III", 3, 2, 2) + bytes(range(12))
    labels = bytes([0, 0, 8, 1]) + struct.pack(">I", 3) + bytes([1, 0, 9])
    def pair(first, second):  # the first byte tells where the cut is (targets.cc)
        total = 1 + len(first) + len(second)
        for cut in range(256):
            if min(cut * total // 255, total - 1) + 1 == 1 + len(first):
                return bytes([cut]) + first + second
        raise ValueError("no byte gives this cut")
    save("idx", "plain", pair(images, labels))
    save("idx", "gzip", pair(gzip.compress(images, mtime=0), labels))


def cifar():
    save("cifar", "ten", bytes([3]) + bytes(3072))
    save("cifar", "two", (bytes([9]) + bytes(3072)) * 2)
    save("cifar", "short", bytes(100))


def npy():
    for name, array in {"images": numpy.zeros((2, 2, 2, 3), numpy.uint8), "labels": numpy.array([1, -2], numpy.int64),
                        "floats": numpy.array([[0.5]], numpy.float32), "fortran": numpy.zeros((2, 3), order="F")}.items():
        out = io.BytesIO()
        numpy.save(out, array)
        save("npy", name, out.getvalue())


def archive(members, mode="w", **options):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, **options) as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue().rstrip(b"\0") + bytes(1024) if mode == "w" else out.getvalue()


def tars():
    by_class = {"train/cat/1.jpg": b"1", "train/dog/1.jpg": b"2", "val/images/v.jpg": b"3",
                "val/val_annotations.txt": b"v.jpg\tcat\t1\n"}
    pairs = {"0.cls": b"0", "0.jpg": b"x", "1.jpg": b"y", "1.cls": b"1", "2.cls": b"zero", "2.json": b"{}"}
    save("tar", "classes", archive(by_class))
    save("tar", "pairs", archive(pairs))
    save("tar", "gzip", archive(pairs, "w:gz"))
    save("tar", "pax", archive({"train/" + "long" * 40 + "/1.png": b"1", "train/b/1.png": b"2", "test/b/2.png": b""},
                               format=tarfile.PAX_FORMAT))
    zstd = subprocess.run(["zstd", "-q", "-c"], input=archive(pairs), stdout=subprocess.PIPE, check=True)
    save("tar", "zstd", zstd.stdout)


def graphml():
    save("graphml", "ring", b'<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>'
         b'<edge source="a" target="b"/><edge source="b" target="c"/><edge source="c" target="a"/></graph></graphml>')
    save("graphml", "weights", b'<graphml><key id="w" for="edge" attr.name="weight" attr.type="double"/>'
         b'<graph edgedefault="directed"><node id="0"/><node id="1"/><edge source="0" target="1">'
         b'<data key="w">0.5</data></edge></graph></graphml>')


def gml():
    save("gml", "zoo", b'# a remark\nCreator "nobody"\ngraph [\n  Network "Example &quot;Net&quot;"\n  Note "of two\n  lines"\n'
         b'  node [ id 0 label "Troms&#248;" Longitude -74.006 graphics [ x 1.0 fill [ r 1 ] ] ]\n'
         b'  node [ id 1 label "A &amp; B" Internal 1 ]\n  node [ id 2 label "" hyperedge 1 ]\n'
         b'  edge [ source 0 target 1 LinkLabel "OC-192" ]\n  edge [ source 1 target 0 ]\n  edge [ source 1 target 2 ]\n'
         b'  edge [ source 2 target 2 ]\n]\n')
    save("gml", "weights", b'graph[directed 1 node[id 0 label"\xe9&#x1f4a1;&eacute;"]node[id 1]edge[source 0 target 1 weight +5E-1]'
         b'edge[source 1 target 0 weight 0.5]]')


def safetensors():
    def file(header, numbers):
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + numbers
    save("safetensors", "two", file({"__metadata__": {"format": "pt"},
                                     "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                                     "b": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [8, 12]}}, bytes(12)))
    save("safetensors", "half", file({"a": {"dtype": "F16", "shape": [], "data_offsets": [0, 2]}}, b"\0\x3c"))


def codes():
    """Codes of 600 floats, as targets.cc describes them: 20 x 25, a vector of 70, and 30 more."""
    def save_code(name, which, code, small=b"", zstd=False):
        if zstd:
            code = subprocess.run(["zstd", "-q", "-c"], input=small + code, stdout=subprocess.PIPE, check=True).stdout
            small = b""
        save("code", name, bytes([which]) + small + code)
    floats = numpy.linspace(-1, 1, 600, dtype=numpy.float32)
    save_code("floats", 0, floats.tobytes())
    save_code("floats-zstd", 0 | 0x10, floats.tobytes(), zstd=True)
    save_code("fp16", 1, floats.astype(numpy.float16).tobytes())
    save_code("bf16", 2, (floats.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes())
    int8 = numpy.full(3, 1 / 127, numpy.float32).tobytes() + (floats * 127).astype(numpy.int8).tobytes()
    save_code("int8", 3, int8)
    save_code("int8-small", 3 | 0x20, int8, small=floats[500:].tobytes())
    for name, which, bits in ("qsgd1", 4, 2), ("qsgd5", 5, 4):
        save_code(name, which, numpy.ones(3, numpy.float32).tobytes() + bytes(3 * 32 * bits))
    signs = bytes([0x55] * 75)
    save_code("sign", 6, numpy.ones(3, numpy.float32).tobytes() + bytes([0]) + signs)
    save_code("sign-zeros", 6, numpy.ones(3, numpy.float32).tobytes() + bytes([0b101]) + signs + bytes([0xf0] * (32 + 11)))
    save_code("votes", 12, numpy.ones(3, numpy.float32).tobytes() + bytes([0b10]) + signs + bytes([0xf0] * 32))
    entries = struct.pack("<I6f", 6, *range(1, 7)) + bytes([3, 0, 100, 0x80, 2, 50, 7])
    save_code("threshold", 7, entries)
    save_code("topk", 8, entries)
    save_code("topk-bits", 8, struct.pack("<I3f", 3 | 0x80000000, 1, 2, 3) + bytes([1, 0, 6]) + bytes(72))
    save_code("randomk", 9, struct.pack("<Q", 5) + floats[:60].tobytes())
    save_code("dgc-small", 10 | 0x20, entries, small=floats[500:].tobytes())
    save_code("powersgd", 11, floats[:100 + 2 * (20 + 25)].tobytes())
    save_code("edge-left", 13, floats[:100 + 2 * 20].tobytes())
    save_code("edge-right", 15, floats[:100 + 2 * 25].tobytes())


def membership():
    """Messages of a member of run 7, as docs/grid-membership.md describes them."""
    def member(key):
        return bytes([key]) + bytes(31) + struct.pack("<QI", 1, 4) + b"name" + struct.pack("<II", 1, 11) + b"host.x:4000" + \
            struct.pack("<Id", 1, 10.5) + bytes(32)
    without_epochs = struct.pack("<IQQQB", 1, 5, 6, 7, 1)
    standing = without_epochs + struct.pack("<d", 0.5)
    def view(number, standing=standing):
        return struct.pack("<QQQI", 7, 0, number, 2) + member(1) + member(2) + struct.pack("<QQ", 5, 6) + \
            struct.pack("<II", 1, 4) + b"invi" + struct.pack("<I", 1) + struct.pack("<I", 2) + bytes([1]) + bytes(31) + bytes([2]) + \
            bytes(31) + struct.pack("<I", 0) + standing + standing
    following, ballot = struct.pack("<QQ", 0, 2), struct.pack("<QI", 1, 0)
    bodies = {
        "sight": struct.pack("<QBBII", 3, 1, 0, 1, 0), "ready": member(2) + standing,
        "vouch": bytes(32) + struct.pack("<I", 4) + b"invi" + struct.pack("<I", 1), "prepare": following + ballot,
        "promise": following + ballot + b"\1\1" + ballot + view(2) + member(2) + standing, "accept": ballot + view(2),
        "accepted": following + ballot, "outbid": following + ballot, "install": view(2),
        "revoke": bytes(32) + struct.pack("<I", 1) + b"\7", "refused": struct.pack("<I", 3) + b"why",
        "fork": struct.pack("<Q", 9), "follow": struct.pack("<Q", 9) + member(2) + standing,
        "ended": struct.pack("<Q", 500)}
    for kind, (name, body) in enumerate(bodies.items()):
        save("membership", name, struct.pack("<BBQQQQ", 3, kind, 7, 0, 1, 1) + body)
    for name, version, told in (("stored", 3, standing), ("stored-before-epochs", 2, without_epochs)):
        stored = struct.pack("<BQQQ", version, 7, 1, 1) + view(1, told) + ballot + b"\1" + ballot + view(2, told)
        checksum = 0xcbf29ce484222325
        for byte in stored:
            checksum = (checksum ^ byte) * 0x100000001b3 % 2**64
        save("membership", name, stored + struct.pack("<Q", checksum))


def grid():
    """Frames as members write them (docs/grid-protocol.md), the first byte saying what follows; invitations."""
    def text(of):
        return struct.pack("<I", len(of)) + of
    key, signature = bytes(range(32)), bytes(range(64))
    ticket = key + key + struct.pack("<qI", 1 << 31, 5) + signature
    members = struct.pack("<I", 1) + key + struct.pack("<I", 1) + text(b"10.0.0.7:4000")
    hello = struct.pack("<H", 4) + key + struct.pack("<QI", 3, 2) + text(b"lab") + bytes([1]) + struct.pack("<I", 1) + text(b"10.0.0.7:4000")
    frames = {
        "header": struct.pack("<BBHIQ", 6, 0, 0, 1 << 20, 7),
        "data-head": struct.pack("<QQQII", 3, 1, 1 << 22, 0, 1),
        "hello": hello + struct.pack("<I", 1) + text(b"warrant") + struct.pack("<I", 1) + text(b"revocation"),
        "join": ticket + signature + struct.pack("<QI", 1, 2) + text(b"lab") + struct.pack("<I", 1) + text(b"10.0.0.8:1"),
        "welcome": bytes([1]) + text(b"") + text(b"root") + text(b"certificate") + text(b"warrant") + text(bytes(8)) + text(b"[run]")
                   + text(members),
        "sign": key + ticket,
        "signed": text(b"certificate") + text(b""),
        "revocation": key + struct.pack("<q", 1 << 31) + key + struct.pack("<I", 2) + key + key + signature,
        "status": struct.pack("<QQQI", 1, 2, 3, 1) + key + struct.pack("<Q", 1) + text(b"lab") + struct.pack("<I", 0)
                  + struct.pack("<Id", 1, 0.5) + key + struct.pack("<i", 0) + text(b"linked") + struct.pack("<dQ", 1e9, 7)
                  + text(b"10.0.0.7:4000") + struct.pack("<dQQ", 0.001, 1, 2),
        "introduction": key + struct.pack("<I", 2) + text(b"192.168.1.11:4000") + text(b"lab.example:4000"),
        "relayed": key + key,
        "preamble": b"VECHERL1" + key,
        "id": key,
        "lan": b"VECHELA1" + bytes([2]) + key + struct.pack("<HQ", 4000, 7),
        "address-record": text(b"certificate") + text(b"warrant") + struct.pack("<qI", 1 << 31, 1) + text(b"10.0.0.7:4000") + signature,
        "trust": struct.pack("<I", 1) + text(b"warrant") + struct.pack("<I", 1)
                 + text(key + struct.pack("<q", 1 << 31) + key + struct.pack("<I", 1) + key + signature),
    }
    for which, (name, content) in enumerate(frames.items()):
        save("grid_frame", name, bytes([which]) + content)
    for name, addresses in {"none": [], "two": [b"10.0.0.7:4000", b"[fe80::1]:4000"]}.items():
        body = key + key + key + struct.pack("<qI", 1 << 31, 5) + signature + bytes([len(addresses)])
        body += b"".join(bytes([len(each)]) + each for each in addresses)
        body += hashlib.sha256(body).digest()[:4]
        save("invitation", name, b"VECHE1-" + base64.urlsafe_b64encode(body).rstrip(b"="))


def packed(veche):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for part in "train", "test":
            for name in "cat", "dog":
                (root / "set" / part / name).mkdir(parents=True)
                (root / "set" / part / name / "1.png").write_bytes(picture("PNG", "RGB", (3, 2)))
        for name, options in {"files": [], "pixels": ["--decode"]}.items():
            subprocess.run([veche, "data", "pack", root / "set", root / name, *options], check=True, stdout=subprocess.DEVNULL)
            save("packed", name, (root / name / "index.veche").read_bytes())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_corpus.py PATH/TO/veche")
    for old in CORPUS.glob("*/*"):
        if not old.name.startswith(FOUND):
            old.unlink()
    pictures(), idx(), cifar(), npy(), tars(), graphml(), gml(), safetensors(), codes(), membership(), grid(), packed(sys.argv[1])
