"""What a hostile client may do to `veche watch`, `train --watch` and `serve`: nothing. Every attack of hostile/clients.py in a quick form."""

import json
import os
import resource
import signal
import socket
import time
import unittest
import urllib.parse

from hostile import clients
from veche_runs import LONGEST, QUADRATIC, VECHE, RunsTest, assignments, wait_for

SHORT = QUADRATIC | {"run.steps": 5}
ENDLESS = QUADRATIC | {"run.steps": 10**9, "run.eval_every": 10**9, "run.checkpoint_every": 10**9}
PROMPT = 5  # seconds, on a busy machine, for what takes milliseconds on a quiet one
MB = 1 << 20


class ServicesTest(RunsTest):
    def listening(self, *words, **options):
        process = self.start(*words, "--port", 0, **options)
        address = process.stdout.readline().strip()
        self.assertTrue(address.startswith("http://"), address or process.stderr.read())
        self.port = urllib.parse.urlsplit(address).port
        return process

    def training(self, *words, settings=ENDLESS, **options):
        process = self.start("train", "--watch", "--port", 0, *words, *assignments(settings, {"run.name": "a"}), **options)
        line = next(line for line in process.stderr if line.startswith("live page: "))
        self.port = urllib.parse.urlsplit(line.split()[-1]).port
        return process

    def kept(self, make, count):
        """So many of these clients at once."""
        made = []
        for _ in range(count):
            made.append(make(self.port))
            self.addCleanup(made[-1].close)
        return made

    def ends(self, process, code, within=PROMPT):
        process.stderr.read()
        self.assertEqual(process.wait(within), code)

    def get(self, path, headers="Host: 127.0.0.1\r\n"):
        answer = clients.asked(self.port, f"GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
        return clients.status(answer), answer.partition(b"\r\n\r\n")[2]


class Watched(ServicesTest):
    def test_a_long_path_on_small_stacks(self):
        process = self.training(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (2 * MB, 2 * MB)))
        for length in (5000, 15000, 100000):
            status, body = self.get("/" + "x" * length)
            self.assertEqual(status, 414)
            self.assertEqual(json.loads(body)["error"], "the address is too long")
        clients.health(self.port)
        process.send_signal(signal.SIGINT)
        self.ends(process, 130)

    def test_memory_is_not_the_clients(self):
        self.train("a", SHORT)
        process = self.listening("watch", "runs/a", "--host", "0.0.0.0")  # with a token, which nobody here has
        before = clients.memory(process)
        self.assertIn(clients.status(clients.chunked(self.port, "/", 256 * MB)), (401, 413, 0))
        self.assertIn(clients.status(clients.packed(self.port, "/", 200 * MB)), (401, 415, 0))
        self.assertIn(clients.status(clients.headers(self.port, 200_000)), (431, 0))
        self.assertLess(clients.memory(process) - before, 16 * MB)
        self.assertEqual(self.get("/health")[0], 401)

    def test_slow_clients_neither_silence_it_nor_keep_it_from_ending(self):
        process = self.training()
        slow = self.kept(clients.slow_head, 64)
        self.assertLess(clients.health(self.port), PROMPT)
        self.assertEqual(len(clients.drip(slow)), 64)
        self.assertLess(clients.health(self.port), PROMPT)
        process.send_signal(signal.SIGINT)
        self.ends(process, 130)

    def test_a_training_ends_whoever_looks_on(self):
        process = self.training(settings=QUADRATIC | {"run.steps": 300000, "run.eval_every": 10**9, "run.checkpoint_every": 10**9})
        slow = self.kept(clients.slow_head, 3)
        self.kept(clients.viewer, 3)
        summary, ended = self.folder / "runs/a/summary.json", []

        def over():  # they go on all the while
            clients.drip(slow)
            if summary.exists():
                ended.append(time.monotonic())
            return process.poll() is not None

        self.assertTrue(wait_for(over, pause=0.05))
        self.assertLess(time.monotonic() - ended[0], PROMPT)
        self.assertEqual(process.returncode, 0)

    def test_viewers_have_places_of_their_own(self):
        self.train("a", SHORT)
        process = self.listening("watch", "runs")
        viewers = self.kept(clients.viewer, 64)
        heads = [viewer.recv(15) for viewer in viewers]
        self.assertEqual({head[9:12] for head in heads}, {b"200", b"503"})
        self.assertGreaterEqual(sum(head[9:12] == b"200" for head in heads), 16)
        self.assertLess(clients.health(self.port), PROMPT)
        self.assertEqual(self.get("/api/series?run=a")[0], 200)
        process.send_signal(signal.SIGINT)
        self.ends(process, 0)

    def test_two_thousand_idle_connections(self):
        self.train("a", SHORT)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        process = self.listening("watch", "runs")
        self.kept(clients.connect, 2000)
        self.assertLess(clients.health(self.port), PROMPT)
        self.assertLess(len(os.listdir(f"/proc/{process.pid}/fd")), 300)

    def test_few_descriptors(self):
        self.train("a", SHORT)
        process = self.listening("watch", "runs", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        self.kept(clients.connect, 60)
        self.assertLess(clients.health(self.port), PROMPT)
        process.send_signal(signal.SIGINT)
        self.ends(process, 0)

    def test_names_of_others(self):
        self.train("a", SHORT)
        self.listening("watch", "runs/a")
        for host in ("127.evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "evil.com", "[::1].evil.com"):
            self.assertEqual(self.get("/api/runs", f"Host: {host}\r\n")[0], 403, host)
            self.assertEqual(self.get("/api/runs", f"Host: localhost\r\nOrigin: http://{host}\r\n")[0], 403, host)
        for host in ("127.0.0.1", "localhost:80", "[::1]:8080", "127.200.0.1"):
            self.assertEqual(self.get("/api/runs", f"Host: {host}\r\nOrigin: http://{host}\r\n")[0], 200, host)

    def test_malformed_requests(self):
        self.train("a", SHORT)
        process = self.listening("watch", "runs/a")
        for request in clients.MALFORMED:
            with self.subTest(request=request[:80]):
                with clients.connect(self.port) as raw:
                    clients.send(raw, request)
                    raw.shutdown(socket.SHUT_WR)
                    answer = clients.said(raw)
                self.assertTrue(clients.status(answer) == 0 or clients.status(answer) >= 400, answer[:200])
                if answer:
                    self.assertTrue(json.loads(answer.partition(b"\r\n\r\n")[2])["error"])
        clients.health(self.port)
        self.assertIsNone(process.poll())

    def test_pipelined_requests_are_answered_in_order(self):
        self.train("a", SHORT)
        self.listening("watch", "runs/a")
        paths = ["/health", "/api/series?run=a", "/nothing", "/api/runs", "/api/about?run=a", "/api/series?run=no"] * 5
        request = b"".join(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in paths)
        with clients.connect(self.port) as raw:
            raw.sendall(request)
            raw.shutdown(socket.SHUT_WR)
            file, answers = raw.makefile("rb"), []
            while line := file.readline():
                head = {}
                while (field := file.readline().strip()):
                    name, _, value = field.partition(b": ")
                    head[name] = value
                answers.append((int(line.split()[1]), json.loads(file.read(int(head[b"Content-Length"])))))
        self.assertEqual([status for status, _ in answers], [200, 200, 404, 200, 200, 404] * 5)
        for i, key in ((0, "status"), (1, "measurements"), (2, "error"), (3, "a"), (4, "topology"), (5, "error")):
            self.assertTrue(all(key in body for _, body in answers[i::6]), key)

    def test_pipes_in_place_of_files(self):
        for name in ("a", "b"):
            self.train(name, SHORT)
        for file in ("nodes.json", "metrics.jsonl", "progress.jsonl"):
            path = self.folder / "runs/a" / file
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        process = self.listening("watch", "runs")
        for name in ("a", "b"):
            self.assertEqual(self.get(f"/api/series?run={name}")[0], 200)
        # And under way.
        (self.folder / "runs/b/nodes.json").unlink(missing_ok=True)
        os.mkfifo(self.folder / "runs/b/nodes.json")
        self.train("c", SHORT)
        self.assertTrue(wait_for(lambda: "c" in json.loads(self.get("/api/runs")[1]), process))
        process.send_signal(signal.SIGINT)
        self.ends(process, 0)
        for words in (["report", "runs/a"], ["report", "runs"]):
            done = self.veche(*words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(done.stderr, r"\Aveche: runs/a/metrics.jsonl cannot be read: it is a device or a pipe, not a file\n\Z")
        (self.folder / "runs/a/config.toml").unlink()
        os.mkfifo(self.folder / "runs/a/config.toml")
        done = self.veche("watch", "runs/a")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Aveche: runs/a/config.toml cannot be read: it is a device or a pipe, not a file\n\Z")

    def test_runs_that_begin_later(self):
        (self.folder / "runs").mkdir()
        process = self.listening("watch", "runs")
        self.assertEqual(json.loads(self.get("/api/runs")[1]), {})
        self.train("a", SHORT)
        self.assertTrue(wait_for(lambda: "a" in json.loads(self.get("/api/runs")[1]), process))
        process.send_signal(signal.SIGINT)
        process.wait(PROMPT)
        self.assertIn("no run in runs yet", process.stderr.read())


if __name__ == "__main__":
    unittest.main()
