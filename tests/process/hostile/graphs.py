"""Graph and weight files that are broken, in every format and as no file at all."""

import os

from . import light, refused, valid
from .odd_files import odd_files

DEEP = 100000

EDGES = {  # an edge list
    "empty": "", "blank": "\n\n  \n", "remarks": "# nothing\n% more\n", "one-number": "0\n", "four": "0 1 2 3\n", "words": "a b\n",
    "negative": "-1 0\n0 1\n", "self": "0 0\n1 1\n", "huge": "0 99999999999999999999\n",
    "int-max": "0 2147483647\n", "large": "0 2000000000\n", "float": "0 1.5\n", "nan": "0 nan\n", "split": "0 1\n2 3\n",
    "few": "nodes 2\n0 1\n1 2\n", "no-nodes": "nodes -1\n0 1\n", "many-nodes": "nodes 2000000000\n0 1\n", "nodes-word": "nodes x\n0 1\n",
    "weight-word": "0 1 x\n", "one-way": "directed\n0 1\n1 2\n", "nul": "0 1\x00\n", "long-line": "0 1 " + "x" * 100000 + "\n",
    "semicolons": ";;;;\n", "unicode": "０ １\n", "cr": "0 1\r0 2\r",
}
JSON = {
    "empty": "", "null": "null", "number": "5", "word": '"ring"', "object": "{}", "list": "[]", "cut": '{"nodes": 4, "edges": [[0,1',
    "no-edges": '{"nodes": 4}', "empty-edges": '{"nodes": 4, "edges": []}', "edges-word": '{"edges": "all"}',
    "edges-numbers": '{"edges": [1, 2]}', "edge-of-one": '{"edges": [[0]]}', "edge-of-four": '{"edges": [[0,1,2,3]]}',
    "edge-words": '{"edges": [["a","b"]]}', "edge-null": '{"edges": [[null,1]]}', "edge-float": '{"edges": [[0.5,1]]}',
    "edge-huge": '{"edges": [[0,4294967297]]}', "edge-huge-2": '{"edges": [[0,99999999999999999999]]}', "edge-negative": '{"edges": [[-1,0]]}',
    "edge-exponent": '{"edges": [[0,1e308]]}', "nodes-word": '{"nodes": "x", "edges": [[0,1]]}', "nodes-float": '{"nodes": 2.5, "edges": [[0,1]]}',
    "nodes-huge": '{"nodes": 1e308, "edges": [[0,1]]}', "nodes-wrap": '{"nodes": 4294967298, "edges": [[0,1]]}',
    "nodes-negative": '{"nodes": -3, "edges": [[0,1]]}', "nodes-object": '{"nodes": {}, "edges": [[0,1]]}',
    "directed-word": '{"directed": "no", "edges": [[0,1]]}', "weights-word": '{"edges": [[0,1]], "weights": "x"}',
    "neighbors-word": '{"neighbors": "x"}', "neighbors-flat": '{"neighbors": [1, 0]}', "neighbors-huge": '{"neighbors": [[4294967297],[0]]}',
    "neighbors-one-way": '{"neighbors": [[1],[]]}', "links-no-source": '{"nodes": [], "links": [{"target": 1}]}',
    "links-no-nodes": '{"links": [{"source": 0, "target": 1}]}', "link-weight": '{"nodes": [], "links": [{"source": 0, "target": 1, "weight": "x"}]}',
    "mixed-links": '{"nodes": [], "links": [{"source": 0, "target": 1}, 5]}', "rounds-word": '{"rounds": "x"}', "rounds-empty": '{"rounds": []}',
    "rounds-unequal": '[{"edges": [[0,1]]}, {"edges": [[0,1],[1,2]]}]', "deep-list": "[" * DEEP, "deep-closed": "[" * DEEP + "]" * DEEP,
    "deep-object": '{"a":' * DEEP, "deep-edge": '{"edges": [' + "[" * DEEP + "]" * DEEP + "]}", "trailing": '{"edges": [[0,1]]} x',
    "comment": '// x\n{"edges": [[0,1]]}', "bad-escape": '{"edges\\x": 1}', "bad-utf8": b'{"edges": [["\xff\xfe", 1]]}', "bom-16": '{"edges": [[0,1]]}'.encode("utf-16"),
}
GRAPHML = {
    "empty": "", "text": "hello", "open": "<graphml>", "other": "<html></html>", "no-graph": "<graphml></graphml>",
    "no-edges": '<graphml><graph><node id="a"/></graph></graphml>', "no-source": '<graphml><graph><edge target="a"/></graph></graphml>',
    "no-id": "<graphml><graph><node/></graph></graphml>", "bad-weight": '<graphml><graph><edge source="a" target="b"><data key="weight">x</data></edge></graph></graphml>',
    "self": '<graphml><graph><edge source="a" target="a"/></graph></graphml>', "deep": "<a>" * DEEP, "deep-graph": "<graphml><graph>" + "<node>" * DEEP,
    "entities": '<!DOCTYPE x [<!ENTITY a "&a;&a;">]><graphml>&a;</graphml>', "key-no-id": '<graphml><key attr.name="weight"/><graph><edge source="a" target="b"/></graph></graphml>',
}
DOT = {
    "empty": "", "word": "graph", "open": "graph {", "no-edges": "graph { }", "one": "graph { a }", "arrow": "graph { a -> b }", "line": "digraph { a -- b }",
    "subgraph": "graph { subgraph x { a -- b } }", "braces": "graph { a -- { b c } }", "half-edge": "graph { a -- }", "string": 'graph { "a -- b }',
    "attributes": "graph { a -- b [weight", "weight": "graph { a -- b [weight=x] }", "weight-nan-ish": "graph { a -- b [weight=] }", "remark": "graph { /* a -- b }",
    "deep": "graph " + "{" * DEEP, "quotes": 'graph { "" -- "" }', "self": "graph { a -- a }",
}
GML = {
    "empty": "", "word": "graph", "open": "graph [", "no-edges": "graph [ node [ id 0 ] ]", "dot": "graph { a -- b }", "numbers": "0 1\n1 2\n",
    "close": "]", "closed-twice": "graph [ edge [ source 0 target 1 ] ] ]", "no-graph": 'Creator "x"', "graph-number": "graph 5", "node-number": "graph [ node 5 ]",
    "no-id": "graph [ node [ label 5 ] ]", "no-target": "graph [ edge [ source 0 ] ]", "no-value": "graph [ edge [ source ] ]", "string": 'graph [ label "x ]',
    "weight": 'graph [ edge [ source 0 target 1 weight "x" ] ]', "directed-list": "graph [ directed [ ] edge [ source 0 target 0 ] ]",
    "one-way": "graph [ directed 1 edge [ source 0 target 1 ] ]", "split": "graph [ edge [ source 0 target 1 ] edge [ source 2 target 3 ] ]",
    "self": "graph [ edge [ source 0 target 0 ] ]", "two": "graph [ edge [ source 0 target 1 ] ] graph [ ]", "deep": "graph " + "[ a " * DEEP,
    "deep-node": "graph [ node " + "[ a " * DEEP, "nul": "graph \x00", "bytes": b"graph [ \xff\xfe \xff ]", "entities": 'graph [ node [ id "&#0;&#99999999999;&amp" ] ]',
}
FINE = {  # and odd
    "double.edges": "0 1\n1 0\n", "loop.edges": "0 0\n0 1\n", "double.dot": "graph { a -- b; b -- a }", "bytes.dot": b'graph { "\xff" -- b }',
    "odd.gml": b'# x\rgraph[node[id 0 label"\xe9&#27;&nothing;"]node[id -7]edge[source 0 target -7]edge[target 0 source -7]]',
    "label.json": '{"nodes": [{"id": 0, "label": {"a": []}}, {"id": 1, "label": null}], "links": [{"source": 0, "target": 1}]}',
}
WEIGHTS = {
    "missing": '{"weights": [[0,1,0.5]]}', "extra": '{"weights": [[0,2,0.5]]}', "sum": '{"weights": [[0,1,0.9],[1,2,0.9],[2,3,0.9],[3,0,0.9],[0,0,0.9],[1,1,0],[2,2,0],[3,3,0]]}',
    "huge": '{"weights": [[0,1,1e308],[1,2,1e308],[2,3,1e308],[3,0,1e308]]}', "none": '{"edges": [[0,1],[1,2],[2,3],[3,0]]}',
    "nodes": '{"nodes": 9, "weights": [[0,1,0.3],[1,2,0.3],[2,3,0.3],[3,0,0.3]]}', "twice": '{"weights": [[0,1,0.3],[0,1,0.3],[1,2,0.3],[2,3,0.3],[3,0,0.3]]}',
    "word": '{"weights": [[0,1,"x"]]}', "diverges": '{"weights": [[0,1,5],[1,2,5],[2,3,5],[3,0,5]]}', "zero": '{"weights": [[0,1,0],[1,2,0],[2,3,0],[3,0,0]]}',
}


def write(file, content):
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def cases(place):
    for ending, files in (("edges", EDGES), ("json", JSON), ("graphml", GRAPHML), ("dot", DOT), ("gml", GML)):
        for name, content in files.items():
            file = write(place / f"{name}.{ending}", content)
            yield refused("topology", f"file:{file}", says=str(file))
            if name in ("empty", "self", "deep", "deep-list", "huge", "large"):
                yield refused(*light(f"topology.graph=file:{file}"))
    for name, content in FINE.items():
        yield valid("topology", f"file:{write(place / name, content)}", "--svg", place / "fine.svg", "--dot", place / "fine.dot")
    for name, content in WEIGHTS.items():
        file = write(place / f"weights-{name}.json", content)
        yield refused(*light(f"topology.weights=file:{file}"))
    for name, weights in {"nan": "0 1 nan\n1 2 nan\n2 3 nan\n3 0 nan\n", "inf": "0 1 inf\n1 2 inf\n2 3 inf\n3 0 inf\n"}.items():
        file = write(place / f"weights-{name}.edges", weights)
        yield refused("topology", f"file:{file}", "--weights", "file")
        yield refused(*light(f"topology.weights=file:{file}"))
    for file in odd_files(place):
        yield refused("topology", f"file:{file}", says=str(file))
        yield refused("topology", "ring:4", "--weights", f"file:{file}", says=str(file))
    huge = place / "huge.json"
    with open(huge, "wb") as sparse:
        sparse.truncate(1 << 36)
    yield refused("topology", f"file:{huge}", says=str(huge))
    os.symlink(huge, place / "link.edges")
    yield refused(*light(f"topology.graph=file:{place / 'link.edges'}"))
