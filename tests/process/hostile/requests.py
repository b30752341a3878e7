"""Words that no command takes, and combinations that make no sense."""

from . import light, refused, split

LONG = "x" * 5000

COMMANDS = [["train"], ["topology", "ring:4"], ["topology", "compare", "ring:4"], ["data", "ls"], ["data", "inspect", "synthetic"],
            ["data", "split"], ["data", "pack", "synthetic", "out"], ["data", "fetch", "mnist"], ["model", "ls"],
            ["model", "show", "mlp"], ["model", "export", "a", "b"], ["bench", "mix"],
            ["topology", "recommend", "--nodes", "8", "--degree", "3"]]

# A number, and what must not stand in its place.
NUMBERS = [["topology", "recommend", "--degree", "3", "--nodes"], ["topology", "recommend", "--nodes", "8", "--degree"],
           ["data", "inspect", "synthetic", "--size"], ["data", "inspect", "synthetic", "--threads"],
           ["data", "pack", "synthetic", "out", "--resize"], ["data", "pack", "synthetic", "out", "--quality"],
           ["data", "pack", "synthetic", "out", "--threads"], ["data", "pack", "synthetic", "out", "--shard-size"],
           ["train", "--compare", "strategy=allreduce", "--repeat"], ["bench", "mix", "--rounds"],
           ["bench", "mix", "--target"], ["bench", "allreduce", "--nodes"], ["model", "export", "run", "out", "--node"]]
NO_NUMBERS = ["-1", "x", "", "99999999999999999999", "1e308", "nan", "0x", "1 2"]

EMPTY = [["train", ""], ["train", "--resume", ""], ["train", "--set", ""], ["train", "--compare", ""], ["topology", ""],
         ["topology", "ring:4", "--svg", ""], ["topology", "ring:4", "--png", ""], ["topology", "ring:4", "--weights", ""],
         ["topology", "ring:4", "--model", ""], ["topology", "compare", ""], ["topology", "compare", "ring:4", ""],
         ["topology", "recommend", "--nodes", "8", "--degree", "3", "--out", ""],
         ["topology", "recommend", "--nodes", "8", "--degree", "3", "--seed", ""], ["data", "inspect", ""],
         ["data", "inspect", "synthetic", "--sheet", ""], ["data", "inspect", "mnist", "--folder", ""],
         ["data", "ls", "--folder", ""], ["data", "pack", "", "out"], ["data", "pack", "synthetic", ""],
         ["data", "pack", "synthetic", "out", "--bad", ""], ["data", "fetch", ""], ["data", "fetch", "mnist", "--from", ""],
         ["data", "fetch", "mnist", "--sums", ""], ["data", "fetch", "mnist", "--folder", ""], ["data", "split", ""],
         ["data", "split", "--plot", ""], ["data", "split", "--set", ""], ["model", "show", ""],
         ["model", "show", "mlp", "--input", ""], ["model", "show", "mlp", "--set", ""], ["model", "export", "", "out"],
         ["model", "export", "run", ""], ["bench", ""], ["bench", "mix", "--python", ""], ["bench", "mix", "--sizes", ""],
         ["bench", "load", "--data", ""], ["bench", "mix", "--transport", ""]]

SPECS = ["ring", "ring:", "ring:0", "ring:1", "ring:-4", "ring:x", "ring:4:4", "ring:4@", "ring:4@1", "ring:4@x", "ring: 4",
         "ring:1000000000", "ring:99999999999999999999", "ring:nan", "ring:1e3", "ring:4.5", "path:1", "star:0",
         "complete:1000000000", "complete:100000", "torus:2x2", "torus:4", "torus:x", "torus:0x4", "torus:-3x3", "torus:3x",
         "torus:65536x65536", "torus:2147483647x2147483647", "torus:100000x100000x100000", "grid:0x0", "grid:1x1",
         "grid:-1x-1", "hypercube:0", "hypercube:-1", "hypercube:31", "hypercube:25", "hypercube:64", "tree:4:0", "tree:4:-1",
         "tree:0:2", "tree:1000000000:2", "chords:4:9", "chords:8:-1", "chords:7:3", "chords:0:0", "chords:1000000000:2",
         "regular:5:3", "regular:4:4", "regular:4:-1", "regular:0:0", "regular:1000000000:4", "regular:8:3@-1",
         "erdos-renyi:8:0", "erdos-renyi:8:-1", "erdos-renyi:8:2", "erdos-renyi:8:nan", "erdos-renyi:8:inf",
         "erdos-renyi:8:x", "erdos-renyi:1000000000:0.5", "erdos-renyi:100000:0.9", "erdos-renyi:8", "erdos-renyi:-8:0.5",
         "expander:0", "expander:1", "expander:-5", "expander:1000000000", "circulant:8:0", "circulant:8:9", "circulant:8:1+1",
         "circulant:8:", "circulant:8:1+x", "circulant:8:2+4", "circulant:1000000000:1", "exponential:0", "exponential:1",
         "exponential:1000000000", "one-peer-exponential:0", "one-peer-exponential:1000000000", "one-peer-exponential:x",
         "one-peer-exponential:4:4", "matchings:", "matchings:ring:1", "matchings:exponential:8", "matchings:ring:1000000000",
         "schedule:", "schedule:ring:4,", "schedule:ring:4,ring:5", "schedule:,", "schedule:ring:4,rung:4",
         "schedule:schedule:ring:4", "rin:4", "RING:4", "file:", "file", "file:nowhere", "file:.", "file:/dev/zero",
         "file:/dev/null", "file:/proc/self/mem", "http://ring:4", "-1", "4", "🂡:4", "ring:４", "ring:4\n", "ring\t:4",
         "ring:4\x1b[31m", LONG, "ring:" + "9" * 5000, "x:" * 5000, "torus:" + "x".join(["3"] * 5000)]

RULES = ["x", "", "metropoli", "uniform:3", "file", "file:", "file:nowhere", "file:.", "file:/dev/zero", "optimal:x", LONG]

ASSIGNMENTS = ["", "=", ".", ".=", "run", "run.", "run.=1", ".seed=1", "run..seed=1", "=run.seed=1", "run.seed", "run.seed 1",
               "run.seed==1", "run.seed=1=2", "seed=1", "run.seed.x=1", "[run]seed=1", "run.seed=1\nsteps=2", "run.seed={a=1}",
               "run.seed=[[1]]", "run.seed=0x", "run.seed=true", "run.seed=1.0", "RUN.seed=1", "rún.seed=1", "run.séed=1",
               "run.\n=1", "run.seed=\x1b[2J", "run.name=a/b", "run.name=.", "run.name=..", "run.name=/", "run.name=../../x",
               'run.name="a\\nb"', 'run.name="\\u0000"', "run.name=" + "n" * 300, "run.out=/dev/null/x",
               "run.out=/proc/x", "run.out=" + "/x" * 3000, "run.eval=sample:", "run.eval=sample:-1", "run.eval=sample:x",
               "run.eval=sample:99999999999999999999", "run.eval=ALL", "run." + "a." * 40000 + "b=1",
               "run.seed={" + "a." * 40000 + "b=1}", "run.seed=" + "[" * 40000, "run.seed=" + "[" * 5000 + "]" * 5000,
               "run.seed=" + "{a=" * 40000, "run.seed=" + "9" * 40000, "run." + LONG + "=1", LONG + ".seed=1",
               "run.seed=" + '"' * 999, "model.a=[1,2]", "model.a=5", "model.a=[1,2,3,[4,[5]]]", "model.a=[1,2,3,inf]",
               "model.a=[[1,2],[1,2],[1,2],[1,2,3]]", 'model.b=["1",2,3,4]', "model.b=[true,2,3,4]", "model.b=[]",
               "model.x0=[]", "model.x0=[[1]]", "model.x0=x", "model.x0=[1,2,3,nan]", "model.name=", "model.name=nothing",
               "model.name=wrn-0-0", "model.name=wrn-16-0", "model.name=wrn-99999-99999", "model.name=wrn--4-2",
               "model.device=gpu", "model.file=x", "model.start=random", "cluster.nodes=0", "cluster.nodes=3", "cluster.nodes=-4",
               "cluster.nodes=1000000", "cluster.nodes=1000000000", "cluster.nodes=2147483648", "cluster.slots=-1",
               "cluster.transport=mpi", "cluster.transport=tcp", "cluster.speed=[1,1,1,0]", "cluster.speed=[1,1,1,-1]",
               "cluster.speed=[1,1,1,nan]", "cluster.speed=[1,1,1,inf]", "cluster.speed=[1,1,1,1e-300]", "cluster.speed=[1]",
               "cluster.speed=1", "cluster.speed=[1,1,1,1,1]", "cluster.speed=[]", 'cluster.speed=["a","b","c","d"]',
               "cluster.train_every=0", "cluster.train_every=-1", "cluster.train_every=1.5", "cluster.train_every=x",
               "cluster.train_every=[1,1,1,0]", "cluster.train_every=[1]", "cluster.train_every=[]", "cluster.mix_every=[0,1,1,1]",
               "cluster.mix_every=x", "cluster.stall=[1]", "cluster.stall=[2,1]", "cluster.stall=[-1,1]", "cluster.stall=[0.1,-1]",
               "cluster.stall=[0.1,1,1]", "cluster.stall=[]", "cluster.lose=1", "cluster.lose=-0.1", "cluster.rest=1",
               "cluster.work=none", "topology.graph=ring:5", "topology.graph=ring:1000000000", "topology.graph=complete:100000",
               "topology.graph=file:/dev/zero", "topology.graph=file:.", "topology.weights=file",
               "topology.weights=file:/dev/zero", "topology.weights=optimum", "strategy.name=", "strategy.name=[]",
               "strategy.name=nothing", "strategy.every=0", "strategy.rounds=-1", "optimizer.name=sdg",
               "optimizer.lr=-0.1", "optimizer.lr=[1]", "optimizer.milestones=[nan]", "optimizer.milestones=5",
               "optimizer.schedule=linear", "optimizer.beta1=1", "optimizer.beta2=-1", "data.batch=0", "data.batch=-5",
               "data.workers=257", "data.workers=-1", "nothing.key=1"]

COMBINATIONS = [
    ["train", "a.toml", "--resume", "b"], ["train", "--resume", "a", "--compare", "strategy=single"], ["train", "--resume", "/dev/null"],
    ["train", "--resume", "/dev/zero"], ["train", "--resume", "/proc/self"], ["train", "--resume", "a\nb"], ["train", "--resume", LONG],
    ["train", "--repeat", "3", "--resume", "nothing"], ["train", "--compare", "strategy"], ["train", "--compare", "strategy="],
    ["train", "--compare", "=a"], ["train", "--compare", "strategy=a,b"], ["train", "--compare", "strategy=single:3"],
    ["train", "--compare", "run.seed=1,x"], ["train", "--compare", "run.steps=3,3"], ["train", "--compare", "topology.graph=ring:4,ring-4"], ["train", "--compare", "nothing.key=1,2"], ["train", "--compare", "strategy=local-sgd:"],
    ["train", "--compare", "strategy=local-sgd:0"], ["train", "--compare", "topology.graph=ring,rung"],
    ["train", "-z"], ["train", "---"], ["train", "--set"], ["train", "--resume"],
    ["model", "export", "run", "out", "--node", "0", "--average"], ["model", "show", "mlp", "--set", "data.batch=1"],
    ["model", "show", "nothing"], ["model", "show", "mlp", "--input", "3x3"], ["model", "show", "mlp", "--input", "3x3x"],
    ["model", "show", "mlp", "--input", "0x3x3"], ["model", "show", "mlp", "--input", "3x3x3x3"], ["model", "show", "mlp", "--input", "axbxc"],
    ["model", "show", "mlp", "--input", "-1x3x3"], ["model", "show", "mlp", "--input", "3x99999999999x3"], ["model", "show", 'a"b'],
    ["model", "show", "quadratic"], ["model", "show", "torchscript"], ["model", "show", "a\nb"],
    ["data", "inspect", "nothing"], ["data", "inspect", "/dev/zero"], ["data", "inspect", "/dev/null"], ["data", "inspect", "/proc/self/mem"],
    ["data", "inspect", "mnist", "--folder", "nowhere"], ["data", "inspect", LONG], ["data", "pack", "nothing", "out"],
    ["data", "pack", "/dev/zero", "out"], ["data", "pack", "synthetic", "/dev/null/x"], ["data", "pack", "synthetic", "/proc/x"],
    ["data", "pack", "synthetic", "nowhere/deep/out"], ["data", "pack", "synthetic", "out", "--bad", "ignore"],
    ["data", "fetch", "nothing"], ["data", "fetch", "mnist", "--sums", "nowhere"], ["data", "fetch", "mnist", "--sums", "/dev/zero"],
    ["data", "fetch", "mnist", "--sums", "."], ["data", "split", "--plot", "x.gif"], ["data", "split", "--plot", "x"],
    ["data", "split", "nowhere.toml"], ["data", "split", "/dev/zero"], ["data", "split", "--set", "model.name=quadratic"],
    ["topology"], ["topology", "recommend"], ["topology", "compare"], ["topology", "ring:4", "--model", "nothing"],
    ["topology", "ring:4", "--model", "-1"], ["topology", "ring:4", "--model", "0"], ["topology", "ring:4", "--model", "1e9"],
    ["topology", "ring:4", "--svg", "/proc/x.svg"], ["topology", "ring:4", "--svg", "nowhere/x.svg"], ["topology", "ring:4", "--svg", "."],
    ["topology", "ring:4", "--png", "/proc/x.png"], ["topology", "ring:4", "--png", "nowhere/x.png"], ["topology", "ring:4", "--png", "."],
    ["topology", "ring:4", "ring:5"], ["topology", "exponential:8", "--weights", "optimal", "--svg", "nowhere/x"],
    ["topology", "recommend", "--nodes", "1", "--degree", "1"], ["topology", "recommend", "--nodes", "0", "--degree", "3"],
    ["topology", "recommend", "--nodes", "8", "--degree", "0"], ["topology", "recommend", "--nodes", "8", "--degree", "1"],
    ["topology", "recommend", "--nodes", "1000000000", "--degree", "3"], ["topology", "recommend", "--nodes", "1000000", "--degree", "3"],
    ["topology", "recommend", "--nodes", "2147483647", "--degree", "2147483647"], ["topology", "recommend", "--nodes", "5000", "--degree", "4999"],
    ["topology", "recommend", "--nodes", "8", "--degree", "3", "--out", "/proc/x"], ["topology", "recommend", "--nodes", "8", "--degree", "3", "--out", "."],
    ["topology", "recommend", "--nodes", "8", "--degree", "3", "--out", "nowhere/x"], ["bench", "nothing"], ["bench"],
    ["bench", "allreduce", "--sizes", "x"], ["bench", "allreduce", "--sizes", "-1KB"], ["bench", "allreduce", "--nodes", "1"],
    ["bench", "allreduce", "--transport", "tcp"], ["bench", "load", "--data", "nowhere", "--quick"], ["bench", "allreduce", "--sizes", "9999999TB"],
    ["data"], ["model"], ["nothing"], ["tráin"], ["train\n"], ["-"], ["--nothing"], [LONG],
]

PARTITIONS = ["dirichlet:0", "dirichlet:-1", "dirichlet:nan", "dirichlet:x", "dirichlet:", "dirichlet", "dirichlet:inf", "classes:0",
              "classes:-1", "classes:99", "classes:x", "classes:", "sizes:[]", "sizes:[1]", "sizes:[1,1,1,1]", "sizes:[-1,2,0,0]",
              "sizes:[nan,0,0,1]", "sizes:1,2,3,4", "sizes:[10,10,10,9]", "sizes:[0.5,0.5,0.5,0.5]", "sizes:[1e308,1e308,1,1]", "sizes:[x]",
              "sizes", "folders", "iid:3", "proportional:2", "IID", LONG]
DATA = ["data.shape=[]", "data.shape=[1]", "data.shape=[0,8,8]", "data.shape=[-1,8,8]", "data.shape=[1,99999,99999]",
        "data.shape=[1,8,8,8]", "data.shape=[9223372036854775807,9223372036854775807,2]", "data.samples=0",
        "data.samples=9223372036854775807", "data.samples=2147483647", "data.test_samples=2147483647", "data.classes=1",
        "data.classes=9223372036854775807", "data.noise=-1", "data.noise=1e308", "data.shuffle=partial:", "data.shuffle=partial:-1",
        "data.shuffle=partial:2", "data.shuffle=partial:nan", "data.shuffle=globally", "data.augment=crop", "data.augment=crop:0",
        "data.augment=crop:99999999999", "data.augment=flip+flip", "data.augment=cutout:-1", "data.augment=resized-crop:0",
        "data.augment=resized-crop:nan", "data.augment=+", "data.augment=crop:2+", "data.augment=crop:2+resized-crop",
        "cluster.nodes=41", "cluster.nodes=1000000", "data.name=nothing", "data.path=nowhere", "data.path=[]", "data.path=['']",
        'data.path=["a","b"]', "data.path=/dev/zero", "run.epochs=-1", "run.epochs=1e308", "run.target_accuracy=90",
        "run.target_accuracy=-1", "model.prune=1", "model.prune=0.5\nx"]


def cases(place):
    for command in COMMANDS:
        yield refused(*command, "--no-such-option")
        yield refused(*command, "--json=maybe")
    for command in NUMBERS:
        for word in NO_NUMBERS:
            yield refused(*command, word)
    for words in EMPTY:
        yield refused(*words)
    for spec in SPECS:
        yield refused("topology", spec)
    for spec in SPECS[::4]:
        yield refused("topology", "compare", "ring:4", spec)
    for rule in RULES:
        yield refused("topology", "ring:8", "--weights", rule)
    for assignment in ASSIGNMENTS:
        yield refused(*light(assignment))
    for words in COMBINATIONS:
        yield refused(*words)
    for rule in PARTITIONS:
        yield refused(*split(f"data.partition={rule}"))
    for assignment in DATA:
        yield refused(*split(assignment))
