"""What a rank holds of the data: of a mapped set the pages it looked at, of a packed one the host's only copy."""

import gzip
import pathlib
import struct
import unittest

from jobs import Jobs
from veche_runs import LONGEST, assignments, wait_for

RANKS = 4
SIDE = 64


def fields(pid, part=""):
    """Sums of /proc/PID/smaps in bytes, over the mappings whose file has this in its name; all of them without."""
    sums, counts = {}, part == ""
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        word = line.split()
        if not word[0].endswith(":"):
            counts = part in line
        elif counts and word[-1] == "kB":
            sums[word[0][:-1]] = sums.get(word[0][:-1], 0) + 1024 * int(word[1])
    return sums


class Memory(Jobs):
    def npy(self, name, samples):
        """Black images, without blocks on the disk: as large as one likes."""
        folder = self.folder / name
        folder.mkdir()
        for part, count in (("train", samples), ("test", 100)):
            with self.array(folder / f"{part}_images.npy", (count, SIDE, SIDE, 3)) as file:
                file.truncate(128 + count * SIDE * SIDE * 3)
            with self.array(folder / f"{part}_labels.npy", (count,)) as file:
                file.write(bytes(i % 10 for i in range(count)))
        return folder

    @staticmethod
    def array(path, shape):
        file = open(path, "wb")
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.flush()
        return file

    def idx(self, name, samples):
        folder = self.folder / name
        folder.mkdir()
        for part, count in (("train", samples), ("t10k", 100)):
            with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
                file.write(struct.pack(">IIII", 0x803, count, SIDE, SIDE) + bytes(count * SIDE * SIDE))
            with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
                file.write(struct.pack(">II", 0x801, count) + bytes(i % 10 for i in range(count)))
        return folder

    def ranks_at_work(self, folder, look):
        """What `look` sees of every rank that has trained for a while on this set."""
        job = self.start_job(RANKS, "train", "--quiet", *assignments({
            "data.path": folder, "model.name": "mlp", "model.hidden": "[32]", "data.batch": 4, "data.augment": "none",
            "cluster.stall": "[1,0.02]", "run.steps": 10_000_000, "run.checkpoint_every": 20,
            "run.eval_every": 1_000_000, "run.name": folder.name}))
        run = self.run_path(folder.name)
        self.assertTrue(wait_for(lambda: list((run.path / "checkpoint").glob("*")), job), "it has not saved anything")
        ranks = self.ranks_of(job)
        self.assertEqual(len(ranks), RANKS)
        seen = [look(pid) for pid in ranks]
        job.terminate()  # it saves and ends
        job.communicate(timeout=LONGEST)
        self.assertTrue(wait_for(lambda: not [r for r in ranks if pathlib.Path(f"/proc/{r}/exe").exists()]))
        return seen

    def test_mapped_sets_are_not_copied(self):
        large = 32_000 * SIDE * SIDE * 3
        own = lambda pid: fields(pid)["Anonymous"]
        small = max(self.ranks_at_work(self.npy("small", 400), own))
        memory = self.ranks_at_work(self.npy("large", 32_000), lambda pid: (own(pid), fields(pid, "large/train_images")))
        for anonymous, images in memory:
            self.assertGreater(images["Size"], large)
            self.assertLess(images["Rss"], large / 2, "pages that no sample of this rank lies on")
            self.assertLess(anonymous, small + large / 10, f"{large >> 20} MB were copied")

    def test_packed_sets_are_unpacked_once_a_host(self):
        large = 40_000 * SIDE * SIDE
        names = lambda: sorted(pathlib.Path("/dev/shm").glob("veche-*"))
        before = names()
        own = lambda pid: fields(pid)["Anonymous"]
        small = max(self.ranks_at_work(self.idx("few", 400), own))
        memory = self.ranks_at_work(self.idx("many", 40_000),
                                    lambda pid: (own(pid), fields(pid, "/dev/shm/veche-"), names()))
        for anonymous, shared, present in memory:
            self.assertGreater(shared["Size"], large)
            self.assertLess(anonymous, small + large / 10, f"{large >> 20} MB were copied")
            self.assertEqual(present, before, "all have come: the name is gone")
        self.assertEqual(names(), before)


if __name__ == "__main__":
    unittest.main()
