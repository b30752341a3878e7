"""Texts from outside: a small language model is trained, resumed, exported, continues texts on the terminal and over HTTP, and
members of a grid agree on a vocabulary."""

import gzip
import http.client
import json
import re
import signal
import unittest
import urllib.parse

from grid_test import Grid as GridCase
from veche_runs import LONGEST, RunsTest, assignments, wait_for

TINY = {"data.name": "text", "data.path": "a.txt", "data.batch": 4, "model.name": "gpt", "model.layers": 1, "model.heads": 2,
        "model.width": 16, "model.context": 16, "cluster.nodes": 2, "run.steps": 6, "optimizer.name": "adamw"}
RHYME = "".join(f"{count} bottles of beer on the wall, take one down.\n" for count in range(60))


class Text(RunsTest):
    def setUp(self):
        super().setUp()
        (self.folder / "a.txt").write_text(RHYME)

    def generated(self, *words):
        done = self.veche("generate", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_inspect_pack_and_split(self):
        told = json.loads(self.veche("data", "inspect", "a.txt", "--json").stdout)
        self.assertEqual((told["train"], told["test"], told["symbols"]), (len(RHYME) * 9 // 10, len(RHYME) - len(RHYME) * 9 // 10,
                                                                         len(set(RHYME))))
        self.assertFalse((self.folder / "data").exists())
        packed = self.veche("data", "pack", "a.txt", "a.tokens", "--tokenizer", "bytes", "--json")
        self.assertEqual(json.loads(packed.stdout)["train"], told["train"])
        again = json.loads(self.veche("data", "inspect", "a.tokens", "--json").stdout)
        self.assertEqual((again["train"], again["tokenizer"]), (told["train"], "bytes"))
        split = self.veche("data", "split", "--json", *assignments(TINY, {"data.partition": "contiguous"}))
        windows = (told["train"] - 1) // 16
        self.assertEqual([node["samples"] for node in json.loads(split.stdout)["nodes"]], [windows - windows // 2, windows // 2])

    def test_a_model_is_trained_resumed_exported_and_writes(self):
        run = self.train("a", TINY)
        summary = json.loads((run.path / "summary.json").read_text())
        self.assertIn("perplexity", json.dumps(summary))
        symbols = json.loads((run.path / "layout.json").read_text())["input"]["tokenizer"]["symbols"]
        self.assertEqual(symbols, "".join(sorted(set(RHYME))))
        # The same seed writes the same text, from the run and from the file, and in both forms.
        words = ("take", "--tokens", 40, "--seed", 5)
        told = self.generated("runs/a", *words)
        self.assertEqual((told["tokens"], told["text"][:4]), (40, "take"))
        self.assertEqual(self.generated("runs/a", *words)["text"], told["text"])
        self.assertNotEqual(self.generated("runs/a", "take", "--tokens", 40, "--seed", 6)["text"], told["text"])
        self.assertEqual(self.veche("generate", "runs/a", *words).stdout, told["text"] + "\n")
        self.assertEqual(self.veche("model", "export", "runs/a", "a.safetensors").returncode, 0)
        self.assertEqual(self.generated("a.safetensors", *words)["text"], told["text"])
        self.check_transformers_config()
        # The text has changed: the vocabulary of the run holds, and what it lacks is named.
        with gzip.open(self.folder / "a.txt.gz", "wt") as file:
            file.write(RHYME + "Q\n")
        (self.folder / "a.txt").write_text(RHYME + "Q\n")
        resumed = self.veche("train", "--resume", "runs/a", "--set", "run.steps=8", "--quiet")
        self.assertEqual(resumed.returncode, 2)
        self.assertRegex(resumed.stderr, r"a.txt' has 'Q' at byte \d+ \(line 61\), which is none of the \d+ symbols")
        (self.folder / "a.txt").write_text(RHYME.replace("wall", "hall") * 2)
        resumed = self.veche("train", "--resume", "runs/a", "--set", "run.steps=8", "--quiet")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(json.loads((run.path / "layout.json").read_text())["input"]["tokenizer"]["symbols"], symbols)

    def check_transformers_config(self):
        """The keys of GPT-2's config.json that Transformers reads, against the shapes in the file of weights."""
        self.assertFalse((self.folder / "config.json").exists())
        (self.folder / "hf").mkdir()
        exported = self.veche("model", "export", "runs/a", "hf/model.safetensors")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        config = json.loads((self.folder / "hf/config.json").read_text())
        content = (self.folder / "hf/model.safetensors").read_bytes()
        head = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
        shape = {name.removeprefix("transformer."): about["shape"] for name, about in head.items() if name != "__metadata__"}
        self.assertEqual([config["vocab_size"], config["n_embd"]], shape["wte.weight"])
        self.assertEqual([config["n_positions"], config["n_embd"]], shape["wpe.weight"])
        self.assertEqual([config["n_embd"], 3 * config["n_embd"]], shape["h.0.attn.c_attn.weight"])
        self.assertEqual((config["n_layer"], config["n_head"]), (TINY["model.layers"], TINY["model.heads"]))
        self.assertEqual((config["model_type"], config["architectures"], config["activation_function"], config["tie_word_embeddings"]),
                         ("gpt2", ["GPT2LMHeadModel"], "gelu_new", True))
        # Ours is replaced, another's stays.
        self.assertEqual(self.veche("model", "export", "runs/a", "hf/model.safetensors").stderr.count("note:"), 0)
        (self.folder / "hf/config.json").write_text("{}")
        self.assertIn("config.json was there already and stays", self.veche("model", "export", "runs/a", "hf/model.safetensors").stderr)
        self.assertEqual((self.folder / "hf/config.json").read_text(), "{}")

    def test_nodes_out_of_step_write_samples(self):
        run = self.train("a", TINY, {"strategy.name": "parameter-server", "strategy.update": "async", "run.steps": 400, "run.eval_every": 5})
        samples = [json.loads(line) for line in (run.path / "samples.jsonl").read_text().splitlines()]
        self.assertGreater(len(samples), 1)
        for sample in samples:
            self.assertEqual(sample["text"][:8], RHYME[len(RHYME) * 9 // 10:][:8])

    def test_sites_divide_their_texts(self):
        (self.folder / "sites").mkdir()
        (self.folder / "sites/a.txt").write_text(RHYME)
        (self.folder / "sites/b.txt").write_text("Zoo, zoo!\n" * 200)
        run = self.train("a", TINY, {"data.path": "sites", "data.partition": "folders", "run.steps": 2})
        symbols = json.loads((run.path / "layout.json").read_text())["input"]["tokenizer"]["symbols"]
        self.assertEqual(symbols, "".join(sorted(set(RHYME + "Zoo, zoo!\n"))))

    def test_what_is_wrong_is_one_sentence(self):
        run = self.train("a", TINY)
        pictures = self.train("p", {"data.name": "synthetic", "data.samples": 60, "data.test_samples": 20, "data.shape": "[1,4,4]",
                                    "model.name": "mlp", "model.hidden": "[4]", "run.steps": 2})
        for told, *words in (("the word is empty", run.path, ""),
                             ("the prompt has 'é'", run.path, "take é"),
                             ("temperature", run.path, "take", "--temperature", "-1"),
                             ("--tokens", run.path, "take", "--tokens", "0"),
                             ("was not trained on a text", pictures.path, "take"),
                             ("there is no", "runs/no", "take")):
            done = self.veche("generate", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(told, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for told, settings in (("fewer than the 5001 of a window", {"model.context": 5000}),
                               ("data.tokenizer", {"data.tokenizer": "words"}),
                               ("data.partition", {"data.partition": "dirichlet:1"}),
                               ("data.path", {"data.path": "b.txt"})):
            done = self.veche("train", *assignments(TINY, settings, {"run.name": "x"}))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(told, done.stderr)
            self.assertFalse((self.folder / "runs/x").exists())

    def test_ctrl_c_ends_a_text_in_order(self):
        self.train("a", TINY)
        process = self.start("generate", "runs/a", "take", "--tokens", 1_000_000)
        self.assertEqual(process.stdout.read(10)[:4], "take")
        process.send_signal(signal.SIGINT)
        text, told = process.communicate(timeout=LONGEST)
        self.assertEqual(process.returncode, 0, told)
        self.assertTrue(text.endswith("\n"))
        self.assertRegex(told, r"[\d,]+ tokens in")


class Served(RunsTest):
    def serve(self, settings={}):
        (self.folder / "a.txt").write_text(RHYME)
        self.train("a", TINY, settings)
        process = self.start("serve", "runs/a", "--port", 0)
        self.address = urllib.parse.urlsplit(process.stdout.readline().strip())

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=LONGEST)
        self.addCleanup(connection.close)
        connection.request(method, path, body)
        return connection.getresponse()

    def metric(self, name):
        lines = self.ask("GET", "/metrics").read().decode().splitlines()
        return int(next(line for line in lines if line.startswith(name + " ")).split()[1])

    @staticmethod
    def events(reply):
        """The names and contents of the events of a whole answer."""
        found = []
        for event in reply.read().decode().split("\n\n")[:-1]:
            name, data = event.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
        return found

    def test_texts_are_written_for_many_clients(self):
        self.serve()
        done = self.veche("generate", "runs/a", "take", "--tokens", 30, "--seed", 5, "--json")
        expected = json.loads(done.stdout)["text"]
        replies = [self.ask("POST", "/generate?tokens=30&seed=5", "take") for _ in range(8)]
        for reply in replies:
            self.assertEqual((reply.status, reply.getheader("Content-Type")), (200, "text/event-stream"))
            events = self.events(reply)
            self.assertEqual("take" + "".join(data["text"] for name, data in events if name == "text"), expected)
            self.assertEqual(events[-1], ("done", {"tokens": 30}))
        self.assertEqual((self.metric("veche_texts_total"), self.metric("veche_tokens_total")), (8, 240))
        about = json.loads(self.ask("GET", "/model").read())
        self.assertEqual((about["context"], about["vocabulary"], about["tokenizer"]), (16, len(set(RHYME)), "characters"))
        self.assertIn(b"continue a text", self.ask("GET", "/").read())
        samples = json.loads(self.ask("GET", "/samples").read())["samples"]
        self.assertTrue(samples)
        for sample in samples:  # whole words of the text
            self.assertRegex(sample["text"], r"^\S")
            self.assertIn(sample["text"].replace("\n", " ") + " ", RHYME.replace("\n", " "))

    def test_a_client_that_goes_away_ends_its_text(self):
        # Large enough that its text takes many times as long as noticing that the client is gone: the tiny one writes all in a
        # quarter of a second.
        self.serve({"model.layers": 6, "model.heads": 4, "model.width": 512, "model.context": 64, "run.steps": 1})
        reply = self.ask("POST", "/generate?tokens=100000", "take")
        reply.read(20)
        self.assertEqual(self.metric("veche_texts_now"), 1)
        reply.close()
        wait_for(lambda: self.metric("veche_texts_now") == 0)

    def test_what_is_wrong_is_said(self):
        self.serve()
        for status, told, method, path, body in ((400, "the prompt is empty", "POST", "/generate", b""),
                                                 (400, "the prompt has 'Q'", "POST", "/generate", b"Q"),
                                                 (400, "not UTF-8", "POST", "/generate", b"\xff"),
                                                 (400, "tokens", "POST", "/generate?tokens=0", b"take"),
                                                 (400, "temperature", "POST", "/generate?temperature=-1", b"take"),
                                                 (400, "top_k", "POST", "/generate?top_k=x", b"take"),
                                                 (405, "POST one", "GET", "/generate", None),
                                                 (404, "/generate", "POST", "/predict", b"take")):
            reply = self.ask(method, path, body)
            self.assertEqual(reply.status, status)
            self.assertIn(told, json.loads(reply.read())["error"])


class Members(GridCase):
    def test_members_with_texts_of_their_own_agree_on_a_vocabulary(self):
        texts = {"a": RHYME, "b": "Über den Wolken.\n" * 100}
        for name, text in texts.items():
            (self.folder / f"{name}.txt").write_text(text)
        settings = TINY | {"cluster.nodes": 1, "data.path": self.folder / "a.txt", "data.folder": self.folder / "data-a",
                           "grid.wait_for": 2, "run.steps": 30, "run.eval_every": 10}
        a = self.member("a", "start", *assignments(settings))
        invitation = []
        wait_for(lambda: invitation.extend(re.findall(r"^VECHE1-\S+$", a.out.read_text(), re.M)) or invitation, a.process)
        self.assertTrue(invitation, a.told())
        b = self.member("b", "join", invitation[0], own={"grid.listen": "127.0.0.1:0", "data.path": self.folder / "b.txt",
                                                      "data.folder": self.folder / "data-b"})
        self.ends(a)
        self.ends(b)
        symbols = "".join(sorted(set("".join(texts.values()))))
        for member in (a, b):
            self.assertEqual(json.loads((member.run / "layout.json").read_text())["input"]["tokenizer"]["symbols"], symbols)


if __name__ == "__main__":
    unittest.main()
