// Graphs with mixing weights, for veche/graphs.py.
#include "veche/topology.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "extension/module.h"
#include "veche/topology_request.h"

namespace veche::python {
namespace {

struct BuiltTopology {
  TopologyRequest request;
  std::shared_ptr<const Topology> topology;
};

BuiltTopology build(std::string graph, std::string weights, std::optional<int> nodes, std::uint64_t seed,
                    bool directed) {
  const py::gil_scoped_release release;  // optimal weights take a while
  BuiltTopology built{{.graph = std::move(graph),
                       .weights = std::move(weights),
                       .nodes = nodes,
                       .seed = seed,
                       .directed_allowed = directed},
                      nullptr};
  built.topology = build_topology(built.request);
  return built;
}

py::array_t<double> matrix_at(const BuiltTopology& built, std::uint64_t round) {
  const std::shared_ptr<const Mixing> mixing = built.topology->at(round);
  const py::ssize_t nodes = mixing->nodes();
  py::array_t<double> matrix({nodes, nodes});
  auto values = matrix.mutable_unchecked<2>();
  for (py::ssize_t i = 0; i < nodes; ++i) {
    for (py::ssize_t j = 0; j < nodes; ++j) values(i, j) = 0;
    for (const Weight& weight : mixing->row(static_cast<int>(i))) values(i, weight.node) = weight.value;
  }
  return matrix;
}

std::vector<std::pair<int, int>> edges_of(const BuiltTopology& built) {
  std::vector<std::pair<int, int>> edges;
  for (const auto [from, to] : built.topology->graph().edges()) edges.emplace_back(from, to);
  return edges;
}

template <class Work>
auto without_gil(const Work& work) {
  const py::gil_scoped_release release;
  return work();
}

}  // namespace

void add_topologies(py::module_& module) {
  using namespace py::literals;
  py::class_<BuiltTopology>(module, "BuiltTopology", "A graph with the weights of every round.")
      .def_property_readonly("nodes", [](const BuiltTopology& built) { return built.topology->nodes(); })
      .def_property_readonly("edges", edges_of)
      .def_property_readonly(
          "directed",
          [](const BuiltTopology& built) { return built.topology->graph().kind() == Graph::Kind::directed; })
      .def_property_readonly("period", [](const BuiltTopology& built) { return built.topology->period(); })
      .def_property_readonly("bound", [](const BuiltTopology& built) { return built.topology->bound(); })
      .def_property_readonly("labels",
                             [](const BuiltTopology& built) { return notes_of(*built.topology).labels; })
      .def_property_readonly("notices",
                             [](const BuiltTopology& built) { return notes_of(*built.topology).notices; })
      .def(
          "contraction",
          [](const BuiltTopology& built) {
            const Contraction found = without_gil([&] { return built.topology->contraction(); });
            return py::make_tuple(found.rate, found.residual, found.estimated);
          },
          "(rate, residual, estimated)")
      .def("matrix_at", matrix_at, "round"_a)
      .def("describe", [](const BuiltTopology& built) { return built.topology->describe(); })
      .def("svg", [](const BuiltTopology& built) {
        return without_gil([&] { return topology_svg(*built.topology, built.request); });
      });
  module.def("build_topology", build, "graph"_a, "weights"_a, "nodes"_a, "seed"_a, "directed"_a);
}

}  // namespace veche::python
