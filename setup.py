"""Builds the package for pip with CMake. The library and its engines travel inside the package, in veche/lib/: a wheel may be
installed where no Veche is, and finds the engines of its own build, without which the library cannot work.

VECHE_BUILD=FOLDER takes what was built in that folder, such as build/release, and builds nothing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


def built() -> pathlib.Path:
    """The folder of the build."""
    if given := os.environ.get("VECHE_BUILD"):
        return pathlib.Path(given).resolve()
    folder = ROOT / "build/pip"
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON",
                    "-DVECHE_TESTS=OFF", f"-DVECHE_PYTHON={sys.executable}"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "python_package"], check=True)
    return folder


class Build(build_ext):
    def build_extension(self, extension: Extension) -> None:
        build = built()
        target = pathlib.Path(self.get_ext_fullpath(extension.name))
        source = build / "python/veche" / target.name
        if not source.is_file():
            sys.exit(f"{source} is missing: the build has no package for this Python. Install what scripts/setup names.")
        library = target.parent / "lib"
        (library / "veche").mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        shutil.copy(build / "lib/libveche.so.0", library)
        for module in (build / "lib/veche").glob("veche_*.so"):
            shutil.copy(module, library / "veche")


setup(version=re.search(r"^project\(veche VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1],
      ext_modules=[Extension("veche._veche", sources=[])], cmdclass={"build_ext": Build})
