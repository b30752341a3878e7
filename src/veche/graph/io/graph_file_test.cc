#include "veche/graph/io/graph_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "veche/errors.h"
#include "veche/graph/facts.h"
#include "veche/graph/families/families.h"

namespace veche {
namespace {

// A file that is deleted after the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) / ("graph_file_test_" + name)) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Graph read(const std::string& name, const std::string& text, bool directed_allowed = false) {
  const TemporaryFile file(name, text);
  return graph_in_file(file.path(), read_graph_file(file.path()).at(0), directed_allowed);
}

std::string refusal(const std::string& name, const std::string& text) {
  try {
    read(name, text);
  } catch (const RequestError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

const std::vector<Edge> triangle_and_tail{{0, 1}, {0, 2}, {1, 2}, {2, 3}};

void expect_example(const Graph& graph) {
  EXPECT_EQ(graph.nodes(), 4);
  EXPECT_EQ(graph.kind(), Graph::Kind::undirected);
  EXPECT_TRUE(std::ranges::equal(graph.edges(), triangle_and_tail));
}

TEST(GraphFile, ReadsEveryFormat) {
  expect_example(read("a.edges", "# remark\n0 1\n0,2 0.5\n1\t2\n3 2\n"));
  expect_example(read("a", "nodes 4\n0 1\n0 2\n1 2\n2 3\n"));
  expect_example(read("a.json", R"({"nodes": 4, "edges": [[0, 1], [0, 2, 0.5], [2, 1], [2, 3]]})"));
  expect_example(read("b.json", R"({"neighbors": [[1, 2], [0, 2], [0, 1, 3], [2]]})"));
  expect_example(
      read("c.json", R"({"directed": false, "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}],
      "links": [{"source": "a", "target": "b"}, {"source": "a", "target": "c", "weight": 1},
                {"source": "b", "target": "c"}, {"source": "c", "target": "d"}]})"));
  expect_example(read("a.graphml", R"(<?xml version="1.0"?>
      <graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="edge" attr.name="weight"/>
      <graph edgedefault="undirected"><node id="n0"/><node id="n1"/><node id="n2"/><node id="n3"/>
      <edge source="n0" target="n1"><data key="d0">0.25</data></edge><edge source="n0" target="n2"/>
      <edge source="n1" target="n2"/><edge source="n2" target="n3"/></graph></graphml>)"));
  expect_example(
      read("a.dot",
           "graph \"my net\" { /* remark */ node [shape=circle]; 0 -- 1 -- 2 [weight=0.5, label=\"x\"]\n"
           "  2 -- 0; 2:e -- 3 // end\n}"));
  expect_example(read("digraph", "digraph { a -> b -> a; a -> c -> a; b -> c -> b; c -> d -> c }"));
}

TEST(GraphFile, RefusesWhatIsWrongWithIt) {
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"x.json", "0 1\n1 2\n", "not JSON"},
      {"x.json", "{\"nodes\": 3}", "no list of edges"},
      {"x.json", "{\"edges\": [[0, \"b\"]]}", "not [node, node]"},
      {"x.json", "[]", "no graphs"},
      {"x.json", "{\"nodes\": 2, \"edges\": [[0, 1], [1, 2]]}", "names node 2"},
      {"x.json", "{\"neighbors\": [[1], [0, 2], []]}", "edge 1->2 goes one way only"},
      {"x.graphml", "graph { a -- b }", "not XML"},
      {"x.graphml", "<gexf/>", "no <graphml>"},
      {"x.graphml", "<graphml><graph><edge source='a'/></graph></graphml>", "no 'target'"},
      {"x.dot", "{\"edges\": []}", "'graph' or 'digraph' was expected"},
      {"x.dot", "graph { a -- b", "'}' was expected"},
      {"x.dot", "graph { a -> b }", "'--' was expected"},
      {"x.dot", "graph { a -- {b c} }", "no subgraphs"},
      {"x.dot", "digraph { a -> b }", "goes one way only"},
      {"x.gml", "graph { a -- b }", "'[' was expected, but line 1 has '{'"},
      {"x.gml", "0 1\n1 2\n", "a key was expected, but line 1 has '0'"},
      {"x.gml", "Creator \"me\"\n", "no 'graph [ ... ]'"},
      {"x.gml", "graph [ node [ id 0 ]\n", "']' was expected, but line 2 has 'the end'"},
      {"x.gml", "graph [\n node [ label \"a\" ] ]", "the node in line 2 has no 'id'"},
      {"x.gml", "graph [ node [ id 0 ] edge [ source 0 ] ]", "the edge in line 1 has no 'target'"},
      {"x.gml", "graph [ node [ id 0 ] ]", "no edges"},
      {"x.gml", "graph [ label \"never\n ends ]", "the string that begins in line 1 has no end"},
      {"x.gml", "graph [ edge [ source 0 target 1 weight \"x\" ] ]", "the weight 'x' in line 1"},
      {"x.gml", "graph [ directed 1 edge [ source 0 target 1 ] ]", "goes one way only"},
      {"x.gml", "graph [ a [ b [ edge", "']' was expected"},
      {"x.gml", "graph [ edge [ source 0 target 1 ] ] graph [ ]", "two graphs"},
      {"x.json", "{\"edges\": [[0, 1]], \"labels\": [\"a\"]}", "'labels' is not a list of 2 words"},
      {"x.edges", "0 one\n", "line 1 has 'one'"},
      {"x.edges", "0 1 2 3\n", "line 1 is not"},
      {"x.edges", "", "no edges"},
      {"x.edges", "directed\n0 1\n", "goes one way only"},
      {"x.edges", "0 2147483647\n", "is too large"},
      {"x.json", "{\"edges\": [[0, 2147483647]]}", "is too large"},
      {"x.edges", "nodes 2\n0 1\n1 2\n", "names node 2"},
  };
  for (const auto& [name, text, words] : cases) {
    const std::string said = refusal(name, text);
    EXPECT_NE(said.find(words), std::string::npos) << name << " " << text << ": " << said;
    EXPECT_NE(said.find(name), std::string::npos) << said;
  }
}

// The style of the Internet Topology Zoo: nested lists, comments, entities, unknown keys.
const char* const kZoo = R"(# made for this test
Creator "nobody"
Version 1
graph [
  Network "Example &quot;Net&quot;"
  Note "a note
  of two lines [ with a bracket"
  directed 0
  node [ id 0 label "Troms&#248;" Longitude -74.00597 graphics [ x 1.0 fill [ r 1 ] ] ]
  node [ id 1 label "A &amp; B" Internal 1 ]
  node [ id 2 label "" hyperedge 1 ]
  node [ id 3 label "M&uuml;nchen" ]
  edge [ source 0 target 1 LinkLabel "OC-192" ]
  edge [ source 1 target 0 ]
  edge [ source 0 target 2 ] edge [ source 1 target 2 key 0 ] edge [ source 1 target 2 key 1 ]
  edge [ source 3 target 3 ]
  edge [ source 3 target 2 ]
]
)";

TEST(GraphFile, ReadsGmlByNameAndByContent) {
  const std::vector<std::string> labels{"Tromsø", "A & B", "", "München"};
  for (const char* name : {"zoo.gml", "zoo"}) {
    expect_example(read(name, kZoo));
    const TemporaryFile file(name, kZoo);
    const auto stored = read_graph_file(file.path());
    EXPECT_EQ(stored.at(0).labels, labels);
    EXPECT_EQ(notice_of("zoo.gml", stored),
              "the graph file 'zoo.gml': 2 parallel edges were merged and 1 self-loop was dropped");
  }
  expect_example(read("dot", "graph { graph [label=x] 0 -- 1 -- 2 -- 0; 2 -- 3 }"));  // not GML
}

TEST(GraphFile, EveryFormatMergesParallelEdgesAndDropsSelfLoops) {
  const std::pair<const char*, const char*> files[] = {
      {"m.edges", "0 1\n1 0\n0 2\n1 2\n1 1\n2 3\n"},
      {"m.json", R"({"nodes": 4, "edges": [[0, 1], [0, 1], [0, 2], [1, 2], [3, 3], [2, 3]]})"},
      {"m2.json", R"({"neighbors": [[1, 1, 2], [0, 2, 1], [0, 1, 3], [2]]})"},
      {"m3.json", R"({"nodes": [0, 1, 2, 3], "links": [{"source": 0, "target": 1}, {"source": 1, "target": 0},
          {"source": 0, "target": 2}, {"source": 0, "target": 0}, {"source": 1, "target": 2},
          {"source": 2, "target": 3}]})"},
      {"m.dot", "graph { 0 -- 1 -- 0; 0 -- 2 -- 1; 2 -- 3 -- 3 }"},
      {"m.gml",
       "graph [ edge [ source 0 target 1 ] edge [ source 0 target 1 ] edge [ source 0 target 0 ] "
       "edge [ source 2 target 0 ] edge [ source 2 target 1 ] edge [ source 2 target 3 ] ]"},
      {"m.graphml", R"(<graphml><graph edgedefault="undirected"><edge source="0" target="1"/>
          <edge source="0" target="1"/><edge source="0" target="0"/><edge source="2" target="0"/>
          <edge source="2" target="1"/><edge source="2" target="3"/></graph></graphml>)"}};
  for (const auto& [name, text] : files) {
    SCOPED_TRACE(name);
    expect_example(read(name, text));
    const TemporaryFile file(name, text);
    EXPECT_EQ(notice_of("x", read_graph_file(file.path())),
              "the graph file 'x': 1 parallel edge was merged and 1 self-loop was dropped");
  }
}

TEST(GraphFile, LabelsComeFromLabelsElseFromNames) {
  using Labels = std::vector<std::string>;
  const auto labels = [](const std::string& name, const std::string& text) {
    const TemporaryFile file(name, text);
    return read_graph_file(file.path()).at(0).labels;
  };
  EXPECT_EQ(labels("l.dot", "graph { 1 [label=\"b \\\"c\\\"\"]; 0 [label=\"\\N\"]; 0 -- 1 }"),
            (Labels{"", "b \"c\""}));
  EXPECT_EQ(labels("l2.dot", "graph { x -- y }"), (Labels{"x", "y"}));
  EXPECT_EQ(labels("l3.dot", "graph { 0 [label=0]; 0 -- 1 }"), Labels{});
  EXPECT_EQ(labels("l.json", R"({"nodes": 2, "edges": [[0, 1]], "labels": ["a", " b\nc "]})"),
            (Labels{"a", "b c"}));
  EXPECT_EQ(labels("l2.json", R"({"nodes": [{"id": 7, "label": "g"}, {"id": 9}],
                                  "links": [{"source": 7, "target": 9}]})"),
            (Labels{"g", "9"}));
  // The key of the graph's own label comes first in files of the Topology Zoo.
  EXPECT_EQ(labels("l.graphml",
                   R"(<graphml><key attr.name="label" for="graph" id="d1"/><key attr.name="label" for="node"
        id="d2"/><graph><data key="d1">Net</data><node id="0"><data key="d2">A &amp; B</data></node>
        <node id="1"/><edge source="0" target="1"/></graph></graphml>)"),
            (Labels{"A & B", ""}));
  EXPECT_EQ(clean_label("Z\xfcrich\t1 "), "Zürich 1");  // Latin-1
}

TEST(GraphFile, WeightsOfParallelEdgesMustAgree) {
  const TemporaryFile same("same.edges", "0 1 0.5\n0 1 0.5\n0 0 0.5\n"),
      other("o.edges", "0 1 0.5\n0 1 0.4\n");
  EXPECT_EQ(weight_between(read_weights(same.path(), path_graph(2)), 0, 0), 0.5);
  EXPECT_EQ(graph_in_file("o", read_graph_file(other.path()).at(0), false).edges().size(), 1U);
  EXPECT_THROW(read_weights(other.path(), path_graph(2)), RequestError);
}

TEST(GraphFile, OneWayEdgesWhereAllowed) {
  const Graph graph = read("y.edges", "directed\n0 1\n1 2\n2 0\n", true);
  EXPECT_EQ(graph.kind(), Graph::Kind::directed);
  EXPECT_EQ(graph.neighbors(0)[0], 1);
}

TEST(GraphFile, WeightsMustFitTheEdges) {
  const auto weights = [](const std::string& text) {
    const TemporaryFile file("w.json", text);
    return read_weights(file.path(), path_graph(3));
  };
  const Mixing mixing = weights(R"({"weights": [[0, 1, 0.5], [2, 1, -0.25]]})");
  EXPECT_EQ(weight_between(mixing, 1, 0), 0.5);
  EXPECT_EQ(weight_between(mixing, 1, 2), -0.25);
  EXPECT_EQ(weight_between(mixing, 1, 1), 0.75);
  EXPECT_EQ(weight_between(mixing, 2, 2), 1.25);
  const auto refused = [&](const std::string& text) -> std::string {
    try {
      weights(text);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refused(R"({"weights": [[0, 1, 0.5]]})").find("no weight for edge 1-2"), std::string::npos);
  EXPECT_NE(refused(R"({"weights": [[0, 1, 0.5], [1, 2, 0.5], [0, 2, 0.1]]})").find("no edge"),
            std::string::npos);
  EXPECT_NE(refused(R"({"weights": [[0, 1, 0.5], [1, 2, 0.5], [0, 5, 0.1]]})").find("6 nodes"),
            std::string::npos);
  EXPECT_NE(refused(R"({"edges": [[0, 1], [1, 2]]})").find("0-1 has no weight"), std::string::npos);
  EXPECT_NE(refused(R"({"weights": [[0, 1, 0.5], [1, 2, 0.5], [0, 0, 0.1]]})").find("sums to"),
            std::string::npos);
  EXPECT_NE(refused(R"({"weights": [[0, 1, 0.5], [0, 1, 0.2], [1, 2, 0.5]]})").find("two weights"),
            std::string::npos);
}

}  // namespace
}  // namespace veche
