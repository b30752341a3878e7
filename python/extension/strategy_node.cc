#include "extension/strategy_node.h"

#include <pybind11/stl.h>

#include <optional>
#include <utility>
#include <vector>

#include "extension/strategy_exceptions.h"
#include "veche/collectives.h"
#include "veche/random.h"

namespace veche::python {
namespace {

using Node = StrategyNode;

// Numbers that only this seed and purpose give, for numpy's generators.
std::vector<std::uint64_t> random_words(const Node& node, const std::string& purpose, std::uint64_t a,
                                        std::uint64_t b) {
  RandomStream stream(node.context().seed, purpose, a, b);
  return {stream.next(), stream.next(), stream.next(), stream.next()};
}

// Named views of the parameters.
py::dict tensors(const Node& node) {
  py::dict all;
  Learner& learner = node.context().learner;
  for (const TensorLayout& tensor : learner.parameter_layout()) {
    std::vector<py::ssize_t> strides;
    for (const std::int64_t stride : tensor.strides)
      strides.push_back(static_cast<py::ssize_t>(stride) * static_cast<py::ssize_t>(sizeof(float)));
    const std::vector<py::ssize_t> shape(tensor.shape.begin(), tensor.shape.end());
    all[py::str(tensor.name)] =
        py::array_t<float>(shape, strides, learner.parameters().data() + tensor.offset, node.x);
  }
  return all;
}

std::vector<std::pair<int, double>> mixing(const Node& node, std::uint64_t round) {
  std::vector<std::pair<int, double>> row;
  const auto matrix = node.topology().at(round);
  for (const Weight& weight : matrix->row(node.context().channel.me().value))
    row.emplace_back(weight.node, weight.value);
  return row;
}

std::vector<int> readers(const Node& node, std::uint64_t round) {
  const auto matrix = node.topology().at(round);
  const auto all = matrix->readers(node.context().channel.me().value);
  return {all.begin(), all.end()};
}

std::vector<int> neighbors(const Node& node, std::optional<int> of) {
  const Graph& graph = node.topology().graph();
  const int asked = of.value_or(node.context().channel.me().value);
  if (asked < 0 || asked >= graph.nodes())
    throw py::index_error("there is no node " + std::to_string(asked) + " in a graph of " +
                          std::to_string(graph.nodes()));
  const auto all = graph.neighbors(asked);
  return {all.begin(), all.end()};
}

std::vector<std::pair<int, int>> edges(const Node& node) {
  std::vector<std::pair<int, int>> all;
  for (const Edge& edge : node.topology().graph().edges()) all.emplace_back(edge.from, edge.to);
  return all;
}

// The step of this node's own optimizer, as the loop makes it.
void make_step(const Node& node, std::uint64_t step) {
  StrategyContext& context = node.context();
  in_library([&] {
    context.limit_gradient();
    context.optimizer.update(context.learner.parameters(), context.learner.gradients(),
                             {.rate = context.learning_rate(step), .number = step + 1});
    return 0;
  });
}

void spawn(const Node& node, const py::function& helper) {
  Endpoint& endpoint = node.context().channel.endpoint;
  const Kept kept(helper);
  in_library([&] {
    endpoint.spawn([kept] { in_python([&] { kept.get()(); }); });
    return 0;
  });
}

void send(const StrategyChannel& to_all, int to, py::handle data) {
  Channel& channel = to_all.get();
  const Buffer buffer = Buffer::read(data, "data");
  in_library([&] {
    channel.send(NodeId{to}, channel.pool.copy_of(buffer.bytes()));
    return 0;
  });
}

py::object receive(const StrategyChannel& from_all, int from, py::handle dtype, py::handle shape) {
  Channel& channel = from_all.get();
  return array_of(in_library([&] { return channel.expect(NodeId{from}); }), dtype, shape);
}

py::object receive_any(const StrategyChannel& from_all, std::optional<double> timeout, py::handle dtype,
                       py::handle shape) {
  Channel& channel = from_all.get();
  const Received received = in_library([&] {
    Received first = channel.receive(timeout ? channel.endpoint.now() + Time(*timeout) : kForever);
    if (first.outcome == Received::Outcome::peer_lost) channel.give_up(first.from, first.outcome);
    return first;
  });
  if (received.outcome == Received::Outcome::timed_out) return py::none();
  return py::make_tuple(received.from.value, array_of(received.message, dtype, shape));
}

py::list allgather(const StrategyChannel& among, py::handle data, py::handle dtype, py::handle shape) {
  Channel& channel = among.get();
  const Buffer buffer = Buffer::read(data, "data");
  const std::vector<Message> all =
      in_library([&] { return all_gather(channel, channel.pool.copy_of(buffer.bytes())); });
  py::list arrays;
  for (const Message& message : all) arrays.append(array_of(message, dtype, shape));
  return arrays;
}

void allreduce(const StrategyChannel& among, py::handle data) {
  Channel& channel = among.get();
  const Buffer buffer = Buffer::floats(data, "data");
  in_library([&] {
    all_reduce(channel, buffer.floats());
    return 0;
  });
}

void broadcast_from(const StrategyChannel& among, py::handle data, int root) {
  Channel& channel = among.get();
  if (root < 0 || root >= channel.size())
    throw py::index_error("there is no node " + std::to_string(root) + " among " +
                          std::to_string(channel.size()));
  const Buffer buffer = Buffer::floats(data, "data");
  in_library([&] {
    broadcast(channel, NodeId{root}, buffer.floats());
    return 0;
  });
}

void add_channel(py::module_& module) {
  const py::object none = py::none();
  py::class_<StrategyChannel>(module, "Channel",
                              "One conversation of a node with the others. Messages of one node arrive in "
                              "the order of sending.")
      .def_property_readonly("me", [](const StrategyChannel& self) { return self.get().me().value; })
      .def_property_readonly("nodes", [](const StrategyChannel& self) { return self.get().size(); })
      .def_property_readonly("sent_bytes",
                             [](const StrategyChannel& self) { return self.get().sent().bytes; })
      .def("send", send, py::arg("to"), py::arg("data"),
           "Sends a copy of an array or of bytes to a node. Never waits for the receiver.")
      .def("receive", receive, py::arg("from_"), py::arg("dtype") = "float32", py::arg("shape") = none,
           "Waits for the next message of a node: a read-only array, or bytes with dtype=bytes. Raises "
           "PeerLost when none comes.")
      .def("receive_any", receive_any, py::arg("timeout") = none, py::arg("dtype") = "float32",
           py::arg("shape") = none,
           "The next message of any node as (node, array), or None when there is none within `timeout` "
           "seconds (0: look only). Raises PeerLost, whose `peer` is the node, once for each lost node.")
      .def("allreduce_", allreduce, py::arg("data"),
           "Replaces the float32 array of every node by the sum over all nodes.")
      .def("broadcast_", broadcast_from, py::arg("data"), py::arg("root") = 0,
           "Copies the root's float32 array into the arrays of all nodes.")
      .def("allgather", allgather, py::arg("data"), py::arg("dtype") = "float32", py::arg("shape") = none,
           "The arrays of all nodes, by node. They may differ in size.")
      .def(
          "barrier",
          [](const StrategyChannel& self) {
            Channel& channel = self.get();
            in_library([&] {
              barrier(channel);
              return 0;
            });
          },
          "Returns when all nodes have called it.")
      .def("child", &StrategyChannel::child, py::arg("k"), "A second conversation, apart from this one.");
}

}  // namespace

StrategyNode::StrategyNode(StrategyContext& context)
    : x(view_of(context.learner.parameters(), py::capsule(&context, [](void*) {}))),
      gradient(view_of(context.learner.gradients(), py::capsule(&context, [](void*) {}))),
      buffers(view_of(context.learner.buffers(), py::capsule(&context, [](void*) {}))),
      context_(&context) {}

StrategyContext& StrategyNode::context() const {
  if (context_ == nullptr) throw std::runtime_error("the run of this strategy has ended");
  return *context_;
}

const Topology& StrategyNode::topology() const {
  if (context().topology == nullptr)
    throw std::runtime_error(
        "this strategy talks along no graph here: declare it with graph=\"undirected\"; a node that is alone "
        "has none");
  return *context().topology;
}

void StrategyNode::end() {
  context_ = nullptr;
  const auto held = [this] {
    return x.ref_count() > 1 || gradient.ref_count() > 1 || buffers.ref_count() > 1;
  };
  if (held()) forget_frames();
  if (held() &&
      PyErr_WarnEx(PyExc_ResourceWarning,
                   "an array that is a view of a strategy's parameters, gradient or buffers outlives "
                   "the run, and its memory does not: copy what you keep",
                   1) != 0)
    PyErr_WriteUnraisable(x.ptr());
  for (py::array* const each : {&x, &gradient, &buffers}) each->release().dec_ref();
}

void add_strategy_node(py::module_& module) {
  add_channel(module);
  const auto samples = [](const Node& self) -> const SampleWeights& { return self.context().samples; };
  py::class_<Node, std::shared_ptr<Node>> node(module, "StrategyNode");
  add_strategy_compressor(node);
  node.def_property_readonly("x", [](const Node& self) { return self.context(), self.x; })
      .def_property_readonly("gradient", [](const Node& self) { return self.context(), self.gradient; })
      .def_property_readonly("buffers", [](const Node& self) { return self.context(), self.buffers; })
      .def_property_readonly("tensors", tensors)
      .def_property_readonly("step", [](const Node& self) { return self.step; })
      .def_property_readonly("me", [](const Node& self) { return self.context().me(); })
      .def_property_readonly("nodes", [](const Node& self) { return self.context().nodes(); })
      .def_property_readonly("seed", [](const Node& self) { return self.context().seed; })
      .def_property_readonly("mix_every", [](const Node& self) { return self.context().mix_every; })
      .def_property_readonly("has_graph", [](const Node& self) { return self.context().topology != nullptr; })
      .def("channel",
           [](const std::shared_ptr<Node>& self) { return StrategyChannel(self, self->context().channel); })
      .def("now", [](const Node& self) { return self.context().channel.endpoint.now().count(); })
      .def("learning_rate",
           [](const Node& self, std::uint64_t step) { return self.context().learning_rate(step); })
      .def("limit_gradient", [](const Node& self) { self.context().limit_gradient(); })
      .def("make_step", make_step)
      .def("spawn", spawn)
      .def("random_words", random_words)
      .def("neighbors", neighbors)
      .def("edges", edges)
      .def("mixing", mixing)
      .def("readers", readers)
      .def("topology", [](const Node& self) { return self.topology().describe(); })
      .def("sample_count", [samples](const Node& self, std::size_t node,
                                     std::uint64_t step) { return samples(self).count(node, step); })
      .def("sample_share",
           [samples](const Node& self, std::size_t node, std::uint64_t step) {
             return samples(self).share(node, self.context().nodes(), step);
           })
      .def("sample_weight",
           [samples](const Node& self, std::size_t node) {
             return samples(self).weight(node, self.context().nodes());
           })
      .def("has_data", [samples](const Node& self, std::size_t node) { return samples(self).has_data(node); })
      .def("trainers", [samples](const Node& self) { return samples(self).trainers(self.context().nodes()); })
      .def("steps_per_epoch", [samples](const Node& self) { return samples(self).steps_per_epoch(); });
}

}  // namespace veche::python
