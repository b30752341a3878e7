"""`veche serve` asked over real connections: right, wrong, damaged, huge, many at once."""

import base64
import concurrent.futures
import contextlib
import http.client
import io
import json
import pathlib
import re
import shutil
import signal
import socket
import struct
import tempfile
import unittest
import urllib.parse
import zlib

from PIL import Image

from hostile import clients
from pictures import png, write_digits
from veche_runs import LONGEST, RunsTest

MLP = {"model.name": "mlp", "model.hidden": "[16]", "data.name": "mnist", "data.path": "digits", "data.batch": 5,
       "cluster.nodes": 3, "run.steps": 4, "strategy.name": "none"}


class Serve(RunsTest):
    trained = None  # once, copied by every test

    def setUp(self):
        super().setUp()
        self.images, self.labels = write_digits(self.folder / "digits")
        if Serve.trained is None:
            run, copy = self.train("a", MLP), tempfile.TemporaryDirectory(prefix="veche-test-")
            self.addClassCleanup(copy.cleanup)
            Serve.trained = shutil.copytree(run.path, pathlib.Path(copy.name) / "a")
        else:
            shutil.copytree(Serve.trained, self.folder / "runs/a")

    def serve(self, *words):
        self.process = self.start("serve", *(words or ["runs/a"]), "--port", 0)
        address = self.process.stdout.readline().strip()
        self.assertTrue(address.startswith("http://"), self.process.stderr.read() if not address else address)
        self.address = urllib.parse.urlsplit(address)
        return address

    def ask(self, method, path, body=None, headers=None, connection=None):
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=LONGEST)
            self.addCleanup(connection.close)
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read(), dict(reply.getheaders())

    def asked(self, method, path, body=None, **options):
        status, content, _ = self.ask(method, path, body, **options)
        return status, json.loads(content)

    def test_answers_are_those_of_predict(self):
        self.serve()
        (self.folder / "0.png").write_bytes(png(8, 8, self.images[0]))
        expected = [json.loads(self.veche("predict", "runs/a", "0.png", "--top", 10, "--json", *words).stdout)["predictions"][0]["classes"]
                    for words in ((), ("--node", 0), ("--node", 1), ("--node", 2))]
        status, answer = self.asked("POST", "/predict", png(8, 8, self.images[0]))
        self.assertEqual((status, answer["classes"]), (200, expected[0]))
        self.assertAlmostEqual(sum(one["probability"] for one in answer["classes"]), 1, delta=1e-5)
        status, answer = self.asked("POST", "/predict?top=2", png(8, 8, self.images[0]))
        self.assertEqual(answer["classes"], expected[0][:2])
        status, answer = self.asked("POST", "/nodes", png(8, 8, self.images[0]))
        self.assertEqual([answer["served"]["classes"], *(node["classes"] for node in answer["nodes"])], expected)
        self.assertEqual(answer["served"]["who"], "the average of 3 nodes")

    def test_samples_are_those_of_the_test_set(self):
        self.serve()
        status, found = self.asked("GET", "/samples")
        self.assertEqual((status, found["set"], found["size"]), (200, "mnist", 40))
        for sample in found["samples"]:
            self.assertEqual(sample["label"], self.labels[sample["index"]])
            picture = base64.b64decode(sample["picture"].removeprefix("data:image/png;base64,"), validate=True)
            self.assertEqual(Image.open(io.BytesIO(picture)).tobytes(), self.images[sample["index"]])
        # Up to 20 samples of ten classes are two of each, where there are.
        self.assertEqual([sample["label"] for sample in found["samples"]],
                         [label for label in range(10) for _ in range(min(2, self.labels.count(label)))])
        # What was read stays; a service that starts now says why it has none.
        (self.folder / "digits").rename(self.folder / "elsewhere")
        self.assertEqual(self.asked("GET", "/samples"), (200, found))
        self.assertEqual(self.veche("model", "export", "runs/a", "a.safetensors").returncode, 0)
        for place, why in (("runs/a", "digits"), ("a.safetensors", "does not name its test set")):
            self.end(self.process)
            self.serve(place)
            status, found = self.asked("GET", "/samples")
            self.assertEqual((status, found["samples"]), (200, []))
            self.assertIn(why, found["why"])

    def test_what_is_wrong_is_said(self):
        self.serve()
        good = png(8, 8, self.images[0])
        narrow = png(9000, 1, bytes(9000))
        head = struct.pack(">IIBBBBB", 100000, 100000, 8, 0, 0, 0, 0)
        bomb = good[:12] + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head)) + good[33:]
        for status, told, method, path, body in (
                (422, "neither JPEG nor PNG", "POST", "/predict", b"hello"),
                (422, "damaged PNG", "POST", "/predict", good[:len(good) - 20]),
                (422, "damaged JPEG|no pixels", "POST", "/predict", b"\xff\xd8\xff\xe0" + b"x" * 100),
                (422, "too narrow", "POST", "/predict", narrow),
                (422, "100000x100000", "POST", "/predict", bomb),
                (413, "32|33 MB", "POST", "/predict", bytes(40_000_000)),
                (400, "empty", "POST", "/predict", b""),
                (400, "top must be", "POST", "/predict?top=x", good),
                (405, "POST one", "GET", "/predict", None),
                (405, "GET it", "DELETE", "/health", None),
                (405, "GET it", "POST", "/samples", good),
                (404, "no such page", "GET", "/../etc/passwd", None),
                (404, "no such page", "GET", "/x%0ay", None)):
            with self.subTest(told=told):
                try:
                    found, answer = self.asked(method, path, body)
                except (BrokenPipeError, ConnectionResetError):  # it did not want to read it all
                    self.assertEqual(status, 413)
                    continue
                self.assertEqual(found, status)
                self.assertRegex(answer["error"], told)
        # And it still answers.
        self.assertEqual(self.asked("POST", "/predict", good)[0], 200)
        with socket.create_connection(("127.0.0.1", self.address.port), timeout=LONGEST) as raw:
            raw.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            self.assertRegex(raw.recv(100), rb"400|\A\Z")
        self.assertEqual(self.asked("GET", "/health")[1]["status"], "ok")

    def test_many_at_once_are_batched_and_counted(self):
        self.serve()
        pictures = [png(8, 8, image) for image in self.images[:8]]
        alone = [self.asked("POST", "/predict", picture)[1]["label"] for picture in pictures]

        def client(number):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=LONGEST)) as connection:
                return all(self.asked("POST", "/predict", pictures[i % 8], connection=connection)[1]["label"] == alone[i % 8]
                           for i in range(number, number + 25))

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertTrue(all(pool.map(client, range(16))))
        text = self.ask("GET", "/metrics")[1].decode()
        counts = {name: float(value) for name, value in re.findall(r"^(veche\w+(?:\{[^}]*\})?) (\S+)$", text, re.M)}
        self.assertEqual(counts["veche_images_total"], 8 + 16 * 25)
        self.assertLessEqual(counts["veche_batches_total"], counts["veche_images_total"])
        self.assertEqual(counts["veche_predict_seconds_count"], 8 + 16 * 25)
        self.assertEqual(counts['veche_predict_seconds_bucket{le="+Inf"}'], 8 + 16 * 25)
        self.assertEqual(counts['veche_http_requests_total{status="2xx"}'], 8 + 16 * 25)

    def test_only_this_machine_or_who_has_the_token(self):
        self.serve()
        for path in ("/health", "/samples"):
            for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                status, content, _ = self.ask("GET", path, headers=headers)
                self.assertEqual(status, 403, content)
        self.end(self.process)
        address = self.serve("runs/a", "--host", "0.0.0.0")
        token = re.search(r"\?token=([0-9a-f]{32})$", address).group(1)
        self.assertEqual([self.ask("GET", path)[0] for path in ("/health", "/samples")], [401, 401])
        self.assertEqual(self.ask("GET", f"/health?token={token}")[0], 200)
        self.assertEqual(self.ask("GET", "/health", headers={"Authorization": f"Bearer {token}"})[0], 200)

    def test_hostile_bodies(self):
        self.serve()
        port, good = self.address.port, png(8, 8, self.images[0])
        before = clients.memory(self.process)
        self.assertEqual(clients.status(clients.chunked(port, "/predict", 256 << 20)), 413)
        self.assertEqual(clients.status(clients.packed(port, "/predict", 200 << 20)), 415)
        self.assertLess(clients.memory(self.process) - before, 100 << 20)
        slow = [clients.slow_body(port, "/predict") for _ in range(70)]  # a client gets 64 of these
        for raw in slow:
            self.addCleanup(raw.close)
        self.assertEqual(clients.status(slow[-1].recv(100)), 503)
        self.assertLess(clients.health(port), 5)
        for raw in slow:
            raw.close()
        # A body in chunks, after a question whether it is wanted, and a form are answered as any other.
        answer = self.asked("POST", "/predict", good)
        self.assertEqual(self.asked("POST", "/predict", iter([good[:50], good[50:]])), answer)
        self.assertEqual(self.asked("POST", "/predict", good, headers={"Expect": "100-continue"}), answer)
        form = b"--b\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n" + good + b"\r\n--b--\r\n"
        self.assertEqual(self.asked("POST", "/predict", form, headers={"Content-Type": "multipart/form-data; boundary=b"}), answer)

    def test_a_run_that_was_moved_away(self):
        self.serve()
        (self.folder / "runs/a").rename(self.folder / "runs/b")
        good = png(8, 8, self.images[0])
        self.assertEqual(self.asked("POST", "/predict", good)[0], 200)
        for _ in range(2):
            status, answer = self.asked("POST", "/nodes", good)
            self.assertEqual(status, 503)
            self.assertRegex(answer["error"], "^the run that is served cannot be read any more: .*runs/a")

    def test_the_page_needs_nothing_from_elsewhere(self):
        self.serve()
        status, content, headers = self.ask("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertNotRegex(content.decode(), r"(src|href)=.(https?:)?//")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])

    def test_it_ends_in_order(self):
        self.serve()
        waiting = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=LONGEST)
        self.addCleanup(waiting.close)
        self.asked("GET", "/health", connection=waiting)  # stays open
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(LONGEST), 0)

    def test_wrong_requests(self):
        address = self.serve()
        for told, words in (("cannot|nothing can listen", ["runs/a", "--port", str(self.address.port)]), ("there is no", ["runs/no"]),
                            ("nothing can listen", ["runs/a", "--host", "203.0.113.7", "--port", "0"])):
            done = self.veche("serve", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertRegex(done.stderr, rf"\Aveche: [^\n]*({told})[^\n]*\n\Z", address)


if __name__ == "__main__":
    unittest.main()
