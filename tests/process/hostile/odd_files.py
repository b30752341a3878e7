"""What can stand where a file should."""

import os


def odd_files(place):
    """Paths of things that are no files of any use: none there, empty, noise, folder, pipe, link in a circle, device."""
    folder = place / "odd"
    if not folder.exists():
        folder.mkdir()
        (folder / "empty").touch()
        (folder / "noise").write_bytes(bytes(range(256)) * 16)
        (folder / "folder").mkdir()
        os.mkfifo(folder / "pipe")
        os.symlink("circle", folder / "circle")
        os.symlink("/dev/zero", folder / "zero")
    return [folder / name for name in ("missing", "empty", "noise", "folder", "pipe", "circle", "zero", "empty/below")]
