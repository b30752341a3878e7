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


def write_digits(folder, side=8, train=60, test=40, seed=3):
    """Random samples as MNIST's four files; gives the images and labels of the test set."""
    folder.mkdir()
    chance = random.Random(seed)
    for name, count in (("train", train), ("t10k", test)):
        images = [chance.randbytes(side * side) for _ in range(count)]
        labels = [chance.randrange(10) for _ in range(count)]
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">BBBBIII", 0, 0, 8, 3, count, side, side) + b"".join(images))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, count) + bytes(labels))
    return images, labels
