#!/usr/bin/env python3
"""An applied task from raw pictures to a service, in one go: examples/applied/run.py [FOLDER]

Three sites have photographs of parts on a conveyor (drawn here, so that nothing has to be downloaded): discs, squares and
triangles of any colour, size and place, on noise. The sites have unequal numbers, and the third lacks a class. Pictures
may not leave a site; models may. So: pack what each site has, train with three strategies on the three sites, compare,
export the best, ask it about new pictures, and serve it.
"""

import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import urllib.request
import zlib

VECHE = os.environ.get("VECHE", "veche")
SIDE = 24
SITES = {"north": {"disc": 60, "square": 60, "triangle": 60}, "east": {"disc": 30, "square": 20, "triangle": 40}, "south": {"disc": 50, "square": 30}}
STRATEGIES = "consensus,allreduce,local-sgd:4"


def png(pixels):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = b"".join(b"\0" + pixels[y * SIDE * 3:(y + 1) * SIDE * 3] for y in range(SIDE))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def drawn(shape, chance):
    x, y, size = chance.uniform(9, 15), chance.uniform(9, 15), chance.uniform(5, 8)
    colour = [chance.randrange(150, 256) for _ in range(3)]

    def inside(i, j):
        dx, dy = (i - x) / size, (j - y) / size
        if shape == "disc":
            return dx * dx + dy * dy <= 1
        if shape == "square":
            return abs(dx) <= 0.85 and abs(dy) <= 0.85
        return -0.9 <= dy <= 0.9 and abs(dx) <= (dy + 0.9) / 1.8

    return png(bytes(value for j in range(SIDE) for i in range(SIDE)
                     for value in (colour if inside(i, j) else [chance.randrange(70) for _ in range(3)])))


def veche(*words, **options):
    done = subprocess.run([VECHE, *map(str, words)], stdout=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout


def main():
    place = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "applied")
    chance = random.Random(1)
    (place / "packed").mkdir(parents=True)
    for site, classes in SITES.items():
        for shape, count in classes.items():
            folder = place / "raw" / site / shape
            folder.mkdir(parents=True)
            for i in range(count):
                (folder / f"{i:03}.png").write_bytes(drawn(shape, chance))
        veche("data", "pack", place / "raw" / site, place / "packed" / site)

    runs = place / "runs"
    compared = json.loads(veche(
        "train", "--quiet", "--json", "--compare", "strategy=" + STRATEGIES, "--set", f"run.out={runs}", "--set", "run.epochs=12",
        "--set", "data.partition=folders", "--set", f"data.path={place / 'packed'}", "--set", "data.batch=10", "--set", "cluster.nodes=3",
        "--set", "model.name=lenet5", "--set", "optimizer.lr=0.002"))
    best = max(compared["runs"], key=lambda summary: summary["accuracy"]["average_model"])
    for line in compared["comparison"]:
        print(f"{line['variant']:12} {100 * line['accuracy']['average_model']:.1f} % of the test pictures of all sites", flush=True)
    folder, = runs.iterdir()
    veche("report", folder, "--out", place / "report.html")
    veche("model", "export", best["run"], place / "model.safetensors")

    (place / "new").mkdir()
    for shape in ("disc", "square", "triangle"):
        (place / "new" / f"{shape}.png").write_bytes(drawn(shape, chance))
    for answer in json.loads(veche("predict", place / "model.safetensors", place / "new", "--json"))["predictions"]:
        print(f"{pathlib.Path(answer['image']).name}: {answer['class']}, {100 * answer['probability']:.1f} %", flush=True)

    server = subprocess.Popen([VECHE, "serve", str(place / "model.safetensors"), "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        request = urllib.request.Request(address + "predict", data=(place / "new/disc.png").read_bytes())
        with urllib.request.urlopen(request, timeout=60) as reply:
            print(f"served at {address}: {json.load(reply)['class']}", flush=True)
    finally:
        server.terminate()
        server.wait()
    print(f"the page: {place / 'report.html'}")


if __name__ == "__main__":
    main()
