#include "veche/graph/drawing/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/graph/families/families.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/search.h"

namespace veche {
namespace {

TEST(Layout, KeepsNodesApart) {
  for (const char* spec :
       {"ring:12", "path:20", "star:7", "torus:4x5", "torus:3x3x3", "grid:3x7", "hypercube:3", "hypercube:5",
        "hypercube:6", "tree:15:2", "tree:60:3", "chords:20:2", "regular:40:3", "complete:9", "ring:2"}) {
    const SpecGraph known = read_spec(spec, {});
    const Layout layout = layout_of(known.graph, known.family, known.shape);
    ASSERT_EQ(layout.places.size(), static_cast<std::size_t>(known.graph.nodes()));
    ASSERT_EQ(layout.bends.size(), known.graph.edges().size());
    for (std::size_t i = 0; i < layout.places.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double apart =
            std::hypot(layout.places[i].x - layout.places[j].x, layout.places[i].y - layout.places[j].y);
        EXPECT_GT(apart, 0.12) << spec << " " << i << " " << j;
      }
    }
  }
}

TEST(Picture, ShowsEveryNodeEdgeAndNegativeWeight) {
  const Graph graph = path_graph(4);
  const double weights[] = {0.5, -0.1, 0.5};
  const Picture picture =
      draw(graph, mixing_from_edges(graph, weights), layout_of(graph, "path", {}), "a < b & c");
  EXPECT_GE(picture.discs.size(), 4U);
  int dashed = 0;
  for (const auto& curve : picture.curves) dashed += curve.dashed;
  EXPECT_EQ(dashed, 2);  // the edge and its sample in the legend
  const std::string svg = to_svg(picture);
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_THROW(draw(ring_graph(3000), make_mixing(ring_graph(3000), "metropolis"), {}, ""), RequestError);
}

TEST(Picture, ShowsLabelsUnderNodesAndCutsLongOnes) {
  const Graph graph = path_graph(3);
  const std::vector<std::string> labels{"Tromsø & co", "", std::string(30, 'x')};
  const Picture picture =
      draw(graph, make_mixing(graph, "metropolis"), layout_of(graph, "path", {}), "title", labels);
  std::vector<std::string> words;
  for (const auto& text : picture.texts) {
    words.push_back(text.words);
    EXPECT_GE(text.at.x, 0);
    EXPECT_LE(text.at.x, picture.width);
  }
  for (const std::string& wanted : {std::string("1"), labels[0], std::string(24, 'x') + "…"})
    EXPECT_NE(std::ranges::find(words, wanted), words.end()) << wanted;
  EXPECT_NE(to_svg(picture).find("Tromsø &amp; co"), std::string::npos);
}

TEST(Search, FindsThePetersenGraphAndNeverExceedsTheDegree) {
  const FoundGraph ten = find_best_graph({10, 3, 1, {}});
  EXPECT_NEAR(ten.rho, 3.0 / 7, 1e-6);
  for (const auto& [nodes, degree] : {std::pair{7, 3}, {12, 2}, {13, 5}, {20, 4}, {5, 9}}) {
    const FoundGraph found = find_best_graph({nodes, degree, 1, {}});
    for (int i = 0; i < nodes; ++i) EXPECT_LE(found.graph.degree(i), degree);
    EXPECT_LT(found.rho, 1);
    EXPECT_NEAR(spectral_radius(mixing_from_edges(found.graph, found.weights)), found.rho, 1e-9);
    if (found.spec.empty()) continue;
    EXPECT_TRUE(std::ranges::equal(read_spec(found.spec, {}).graph.edges(), found.graph.edges()));
  }
  EXPECT_THROW(find_best_graph({5, 1, 1, {}}), RequestError);
}

}  // namespace
}  // namespace veche
