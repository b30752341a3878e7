"""`veche data` and training on what it made: numbers from Pillow and numpy, real processes killed, a server of our own."""
import hashlib
import http.server
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest

import numpy
from PIL import Image

VECHE = os.environ["VECHE"]


def veche(*arguments, expect=0):
    done = subprocess.run([VECHE, *map(str, arguments)], capture_output=True, text=True, timeout=100)
    if done.returncode != expect:
        raise AssertionError(f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def picture(seed, size, kind="JPEG"):
    """A smooth random image, as bytes of a file."""
    rough = numpy.random.RandomState(seed).randint(0, 256, (4, 4, 3), numpy.uint8)
    out = io.BytesIO()
    Image.fromarray(rough).resize(size, Image.BICUBIC).save(out, kind, **({"quality": 90} if kind == "JPEG" else {}))
    return out.getvalue()


def make_set(folder, size=(12, 10), each=(8, 3)):
    """Three classes of JPEG and PNG files."""
    seed = 0
    for part, count in zip(("train", "val"), each):
        for name in ("ant", "bee", "cow"):
            (folder / part / name).mkdir(parents=True)
            for i in range(count):
                seed += 1
                kind = "PNG" if seed % 3 == 0 else "JPEG"
                ending = {"PNG": "png", "JPEG": "jpg"}[kind]
                (folder / part / name / f"{i}.{ending}").write_bytes(picture(seed, size, kind))


class Sets(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="veche-data-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def inspect(self, path, **more):
        return json.loads(veche("data", "inspect", path, "--json", **more).stdout)

    def pixels(self, folder, part="train"):
        """What Pillow sees, in the order of names."""
        files = sorted((folder / part).rglob("*.*"))
        return numpy.stack([numpy.asarray(Image.open(file).convert("RGB")) for file in files])

    def test_inspect_agrees_with_pillow_and_numpy(self):
        make_set(self.place / "set")
        found = self.inspect(self.place / "set")
        self.assertEqual(found["classes"], [{"name": n, "train": 8, "test": 3} for n in ("ant", "bee", "cow")])
        self.assertEqual((found["width"], found["height"], found["channels"]), ([12, 12], [10, 10], 3))
        pixels = self.pixels(self.place / "set") / 255
        # Both decode with libjpeg-turbo: the pixels are equal, and so are the sums.
        numpy.testing.assert_allclose(found["mean"], pixels.mean((0, 1, 2)), atol=1e-12)
        numpy.testing.assert_allclose(found["deviation"], pixels.std((0, 1, 2)), atol=1e-12)

    def test_packed_pixels_are_pillow_s(self):
        make_set(self.place / "set")
        veche("data", "pack", self.place / "set", self.place / "out", "--decode")
        shard = (self.place / "out" / "00000.shard").read_bytes()
        for image in self.pixels(self.place / "set"):
            self.assertIn(image.tobytes(), shard)

    def test_resizing_is_pillow_s(self):
        make_set(self.place / "set", size=(60, 44))
        veche("data", "pack", self.place / "set", self.place / "out", "--decode", "--resize", 22)
        shard = (self.place / "out" / "00000.shard").read_bytes()
        begin = 0
        for file in sorted((self.place / "set" / "train").rglob("*.*")):
            name = str(file.relative_to(self.place / "set")).encode()
            begin = shard.index(name, begin) + len(name)
            ours = numpy.frombuffer(shard[begin:begin + 22 * 22 * 3], numpy.uint8).reshape(22, 22, 3)
            image = Image.open(file).convert("RGB").resize((30, 22), Image.BILINEAR)
            theirs = numpy.asarray(image)[:, 4:26]
            difference = numpy.abs(ours.astype(int) - theirs)
            # JPEG may be decoded straight to half the size, which is another filter.
            limit = 1 if file.suffix == ".png" else 24
            self.assertLessEqual(difference.max(), limit, file)
            self.assertLess(difference.mean(), 3, file)

    def test_all_forms_of_a_set_train_alike(self):
        make_set(self.place / "set")
        forms = [self.place / "set"]
        for ending in "tar", "tar.gz", "tar.zst":
            forms.append(self.place / f"set.{ending}")
            subprocess.run(["tar", "-caf", forms[-1], "-C", self.place / "set", "train", "val"], check=True)
        for name, options in {"kept": [], "decoded": ["--decode"]}.items():
            forms.append(self.place / name)
            veche("data", "pack", self.place / "set", forms[-1], *options)
        # Wherever the files lie, and in whatever, the packed set has the same bytes.
        veche("data", "pack", self.place / "set.tar.zst", self.place / "again")
        self.assertEqual((self.place / "again" / "00000.shard").read_bytes(), (self.place / "kept" / "00000.shard").read_bytes())
        # Packing measured the means of all images, and so did opening the folder, which has few.
        losses = set()
        for form in forms:
            run = veche("train", "--json", "--set", f"data.path={form}", "--set", "model.name=mlp", "--set",
                        "model.hidden=[4]", "--set", "cluster.nodes=2", "--set", "run.steps=3", "--set", "data.batch=4",
                        "--set", f"run.out={self.place}/runs")
            losses.add(json.loads(run.stdout)["train_loss"])
        self.assertEqual(len(losses), 1, losses)

    def test_contact_sheet(self):
        make_set(self.place / "set")
        veche("data", "inspect", self.place / "set", "--sheet", self.place / "sheet.png")
        sheet = numpy.asarray(Image.open(self.place / "sheet.png"))
        first = self.pixels(self.place / "set")[0]
        times = 64 // 12
        numpy.testing.assert_array_equal(sheet[4:4 + 10 * times:times, 4:4 + 12 * times:times], first)

    def test_damage_is_named_counted_and_skipped(self):
        make_set(self.place / "set")
        bad = self.place / "set" / "train" / "bee" / "1.jpg"
        bad.write_bytes(bad.read_bytes()[:-200])
        report = json.loads(veche("data", "inspect", self.place / "set", "--json", expect=1).stdout)
        self.assertEqual(report["damaged"], 1)
        self.assertIn("train/bee/1.jpg' is a damaged JPEG", report["damage"][0])
        use = ["--set", f"data.path={self.place}/set", "--set", "model.name=mlp", "--set", "model.hidden=[4]", "--set",
               "cluster.nodes=2", "--set", "data.batch=2", "--set", "run.epochs=1", "--set", f"run.out={self.place}/runs"]
        refused = veche("train", *use, expect=2)
        self.assertIn("train/bee/1.jpg' is a damaged JPEG", refused.stderr)
        self.assertFalse((self.place / "runs").exists())
        results = [json.loads(veche("train", "--json", *use, "--set", "data.bad=skip", "--set", f"data.workers={workers}").stdout)
                   for workers in (0, 2)]
        self.assertEqual(results[0]["damaged_samples"], 1)
        self.assertIn("train/bee/1.jpg", results[0]["damage"][0])
        self.assertEqual(results[0]["train_loss"], results[1]["train_loss"])
        veche("data", "pack", self.place / "set", self.place / "out", expect=2)
        packed = json.loads(veche("data", "pack", self.place / "set", self.place / "out", "--bad", "skip", "--json").stdout)
        self.assertEqual((packed["train"], packed["damaged"]), (23, 1))

    def test_damage_is_told_by_a_member_of_a_grid(self):
        make_set(self.place / "set")
        bad = self.place / "set" / "train" / "bee" / "1.jpg"
        bad.write_bytes(bad.read_bytes()[:-200])
        done = veche("grid", "start", "--json", *[word for key in (
            f"data.path={self.place}/set", "data.bad=skip", "data.batch=2", "model.name=mlp", "model.hidden=[4]",
            "run.epochs=1", f"run.out={self.place}/runs", "grid.listen=127.0.0.1:0") for word in ("--set", key)])
        self.assertEqual(json.loads(done.stdout)["damaged_samples"], 1)
        self.assertRegex(done.stderr, "1 damaged samples were replaced.*train/bee/1.jpg")

    def test_links_in_circles_are_left_out(self):
        make_set(self.place / "set", each=(6, 2))
        os.symlink("../..", self.place / "set" / "train" / "ant" / "set")
        os.symlink("..", self.place / "set" / "val" / "bee" / "all")
        os.symlink("/", self.place / "set" / "train" / "everything")
        found = self.inspect(self.place / "set")
        self.assertEqual(found["classes"], [{"name": n, "train": 6, "test": 2} for n in ("ant", "bee", "cow")])
        self.assertEqual((found["damaged"], len(found["damage"])), (0, 3))
        packed = veche("data", "pack", self.place / "set", self.place / "out", "--json")
        self.assertEqual(json.loads(packed.stdout)["train"], 18)
        self.assertEqual(packed.stderr.count("leads back to a folder around it and is left out"), 3, packed.stderr)
        split = veche("data", "split", "--set", f"data.path={self.place}/set", "--set", "cluster.nodes=2", "--json")
        self.assertEqual(json.loads(split.stdout)["samples"], 18)

    def test_a_file_cut_off_in_use_ends_a_run_with_a_sentence(self):
        make_set(self.place / "set")
        subprocess.run(["tar", "-cf", self.place / "set.tar", "-C", self.place / "set", "val", "train"], check=True)
        veche("data", "pack", self.place / "set", self.place / "packed", "--decode")
        for path, file in (("set.tar", "set.tar"), ("packed", "packed/00000.shard")):
            child = subprocess.Popen([VECHE, "train", "--set", f"data.path={self.place / path}", "--set", "model.name=mlp",
                                      "--set", "model.hidden=[4]", "--set", "cluster.nodes=2", "--set", "run.steps=100000000",
                                      "--set", f"run.out={self.place}/runs"], stderr=subprocess.PIPE, text=True)
            lines = iter(child.stderr.readline, "")
            self.assertTrue(any(line.startswith("epoch ") for line in lines))  # the first step was made
            os.truncate(self.place / file, os.path.getsize(self.place / file) // 2)
            last = list(lines)[-1]
            child.stderr.close()
            self.assertEqual(child.wait(60), 1, last)
            self.assertRegex(last, rf"\Aveche: '[^\n]*{file}[^\n]* cut off")

    def test_killed_packing_leaves_nothing_half_made(self):
        make_set(self.place / "set", size=(400, 300), each=(40, 3))
        for sign, code in (signal.SIGKILL, -9), (signal.SIGINT, 1), (signal.SIGTERM, 1):
            shutil.rmtree(self.place / ".out.packing", ignore_errors=True)  # what tells that packing has begun
            child = subprocess.Popen([VECHE, "data", "pack", self.place / "set", self.place / "out", "--threads", "1",
                                      "--decode", "--resize", "250"], stderr=subprocess.PIPE, text=True)
            hidden = self.place / ".out.packing"
            deadline = time.monotonic() + 60
            while not (hidden / "00000.shard").exists() and child.poll() is None and time.monotonic() < deadline:
                os.sched_yield()
            child.send_signal(sign)
            said = child.communicate(timeout=60)[1]
            self.assertEqual(child.returncode, code, said)
            self.assertFalse((self.place / "out").exists(), sign)
            if sign != signal.SIGKILL:
                self.assertFalse(hidden.exists())
                self.assertIn("interrupted", said)
        (self.place / ".out.packing").mkdir()
        (self.place / ".out.packing" / "00000.shard").write_bytes(b"from a killed one")
        veche("data", "pack", self.place / "set", self.place / "out")
        self.assertFalse((self.place / ".out.packing").exists())
        self.assertEqual(self.inspect(self.place / "out")["train"], 120)
        self.assertIn("exists", veche("data", "pack", self.place / "set", self.place / "out", expect=2).stderr)

    def test_ls_tells_what_is_here(self):
        (self.place / "data").mkdir()
        make_set(self.place / "data" / "own")
        sets = {s["name"]: s for s in json.loads(
            veche("data", "ls", "--json", "--folder", self.place / "data").stdout)["sets"]}
        self.assertTrue(sets["fashion-mnist"]["here"])
        self.assertFalse(sets["cifar10"]["here"])
        self.assertEqual(sets["own"]["what"], "a folder of images")


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `files`; knows ranges unless told not to; cuts the first answer off when told to."""
    files, ranges, cut, asked = {}, True, 0, []

    def do_GET(self):
        body = self.files.get(self.path.rsplit("/", 1)[1])
        if body is None:
            return self.send_error(404)
        begin = 0
        if self.ranges and "Range" in self.headers:
            begin = int(self.headers["Range"].split("=")[1].split("-")[0])
        Server.asked.append((self.path, begin))
        if begin >= len(body):
            return self.send_error(416)
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - begin))
        self.end_headers()
        end = len(body)
        if Server.cut:
            end, Server.cut = Server.cut, 0
        self.wfile.write(body[begin:end])

    def log_message(self, *_):
        pass


class Fetch(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="veche-fetch-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.address = f"http://127.0.0.1:{self.server.server_port}/sets"
        Server.files, Server.ranges, Server.cut, Server.asked = {}, True, 0, []

    def serve_cifar(self):
        record = bytes([3]) + bytes(range(256)) * 12
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
                entry = tarfile.TarInfo("cifar-10-batches-bin/" + name)
                entry.size = 2 * len(record)
                tar.addfile(entry, io.BytesIO(record * 2))
        Server.files = {"cifar-10-binary.tar.gz": out.getvalue()}
        sums = self.place / "sums"
        sums.write_text(f"{hashlib.md5(out.getvalue()).hexdigest()}  cifar-10-binary.tar.gz\n")
        return ["data", "fetch", "cifar10", "--folder", self.place / "data", "--from", self.address, "--sums", sums]

    def test_a_set_arrives_is_unpacked_and_found_by_name(self):
        command = self.serve_cifar()
        veche(*command)
        found = json.loads(veche("data", "inspect", "cifar10", "--folder", self.place / "data", "--json").stdout)
        self.assertEqual((found["train"], found["test"]), (10, 2))
        self.assertIn("there already", veche(*command).stderr)
        self.assertEqual(len(Server.asked), 1)

    def test_an_interrupted_download_goes_on(self):
        command = self.serve_cifar()
        Server.cut = 100
        self.assertIn("run this again to resume", veche(*command, expect=1).stderr)
        part = self.place / "data" / "cifar10" / "cifar-10-binary.tar.gz.part"
        self.assertEqual(part.stat().st_size, 100)
        veche(*command)
        self.assertEqual([begin for _, begin in Server.asked], [0, 100])
        self.assertFalse(part.exists())

    def test_a_server_without_ranges_begins_again(self):
        command = self.serve_cifar()
        Server.cut = 100
        veche(*command, expect=1)
        Server.ranges = False
        veche(*command)

    def test_a_whole_part_is_not_asked_for_again(self):
        command = self.serve_cifar()
        folder = self.place / "data" / "cifar10"
        folder.mkdir(parents=True)
        (folder / "cifar-10-binary.tar.gz.part").write_bytes(Server.files["cifar-10-binary.tar.gz"])
        veche(*command)

    def test_a_wrong_file_is_removed(self):
        command = self.serve_cifar()
        Server.files["cifar-10-binary.tar.gz"] += b"x"
        said = veche(*command, expect=1).stderr
        self.assertIn("its MD5 is", said)
        self.assertFalse((self.place / "data" / "cifar10").exists())
        # And without --sums the publisher's own sum is asked for.
        self.assertIn("not c32a1d4ab5d03f1284b67883e8d87530", veche(*command[:-2], expect=1).stderr)

    def test_without_a_network_it_says_what_to_do(self):
        address = "http://127.0.0.1:1/none"
        said = veche("data", "fetch", "mnist", "--folder", self.place, "--from", address, expect=1).stderr
        for part in "train-images-idx3-ubyte.gz", "put them into", str(self.place / "mnist"), "Without a network":
            self.assertIn(part, said)
        self.assertFalse((self.place / "mnist").exists())

    def test_wrong_requests(self):
        self.assertIn("did you mean 'cifar10'", veche("data", "fetch", "cifar", expect=2).stderr)
        said = veche("data", "fetch", "mnist", "--folder", self.place, "--from", self.address, expect=1).stderr
        self.assertIn("404", said)
        self.assertIn("neither a file or folder nor the name of a set", veche("data", "inspect", "mnits", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
