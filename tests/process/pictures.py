"""Pictures for tests: PNG files made here, and a set in IDX files, without a library for either."""

import random
import struct
import zlib


def png(width, height, pixels, channels=1):
    """The bytes of a PNG of 8-bit grey or red, green and blue."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    row = width * channels
    lines = b"".join(b"\0" + bytes(pixels[y * row:(y + 1) * row]) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def write_samples(folder, sets, side):
    """MNIST's four files; `sets` has the images and labels of "train" and of "t10k"."""
    folder.mkdir()
    for name, (images, labels) in sets.items():
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">BBBBIII", 0, 0, 8, 3, len(images), side, side) + b"".join(images))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, len(images)) + bytes(labels))
    return sets["t10k"]


def write_digits(folder, side=8, train=60, test=40, seed=3):
    """Random samples as MNIST's four files; gives the images and labels of the test set."""
    chance = random.Random(seed)
    return write_samples(folder, {name: ([chance.randbytes(side * side) for _ in range(count)], [chance.randrange(10) for _ in range(count)])
                                  for name, count in (("train", train), ("t10k", test))}, side)


def write_bars(folder, wide=4, long=20, side=28):
    """White bars in the middle of black pictures as MNIST's four files: class 0 stands, class 1 lies."""
    first, last = (side - long) // 2, (side + long) // 2
    across = range((side - wide) // 2, (side + wide) // 2)
    standing = bytes(255 * (x in across and first <= y < last) for y in range(side) for x in range(side))
    lying = bytes(255 * (y in across and first <= x < last) for y in range(side) for x in range(side))
    return write_samples(folder, {name: ([standing, lying] * count, [0, 1] * count) for name, count in (("train", 30), ("t10k", 20))}, side)
