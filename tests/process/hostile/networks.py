"""Networks that cannot be: the few cases that need libtorch."""

from . import refused
from .odd_files import odd_files

SMALL = ["train", "-q", "--set", "data.name=synthetic", "--set", "data.samples=40", "--set", "data.shape=[1,8,8]"]

# Larger than any machine.
HUGE = [("mlp", "model.hidden=[1000000000]"), ("mlp", "model.hidden=[1000000000,1000000000]"), ("mlp", "model.hidden=[1000000,100000000]"),
        ("wrn-9994-9999", "model.stem=auto")]
WRONG = [("mlp", "model.hidden=[0]"), ("mlp", "model.hidden=[-1]"), ("mlp", "model.hidden=[9223372036854775807]"), ("mlp", "model.hidden=[1.5]"),
         ("mlp", "model.norm=batch"), ("cnn", "model.norm=group:0"), ("cnn", "model.norm=group:-1"), ("cnn", "model.norm=group:99999999999"),
         ("cnn", "model.norm=group:x"), ("cnn", "model.norm=group:"), ("mlp", "model.stem=small"), ("mlp", "model.dropout=0.5"),
         ("mlp", "model.stochastic_depth=0.5"), ("mlp", "model.classes=1")]
SHAPES = ["100000x100000x100000", "1x1x1", "3x2x2"]


def cases(place):
    for name, assignment in HUGE:
        yield refused("model", "show", name, "--set", assignment, says=("model.", name))
        yield refused(*SMALL, "--set", f"model.name={name}", "--set", assignment, says=("model.", name))
    for name, assignment in WRONG:
        yield refused("model", "show", name, "--set", assignment, says=assignment.split("=")[0])
    for shape in SHAPES:
        yield refused("model", "show", "resnet18", "--input", shape, "--set", "model.stem=large")
    yield refused(*SMALL, "--set", "model.name=mlp", "--set", "model.classes=2", says="model.classes")
    for file in odd_files(place):
        yield refused(*SMALL, "--set", f"model.file={file}", says=("model.file", str(file)))
        yield refused(*SMALL, "--set", "model.name=mlp", "--set", f"model.init={file}", says=("model.init", str(file)))
