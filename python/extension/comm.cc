// Exchanges between the loops of all nodes, in place on the caller's own memory.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>

#include "extension/loop.h"
#include "extension/module.h"
#include "veche/collectives.h"
#include "veche/errors.h"
#include "veche/packed.h"
#include "veche/vector_math.h"

namespace veche::python {
namespace {

// The floats of a one-dimensional array, which the Python side has checked.
std::span<float> floats(const py::buffer_info& buffer) {
  return {static_cast<float*>(buffer.ptr), static_cast<std::size_t>(buffer.size)};
}

NodeId node_of(const Channel& channel, int node) {
  if (node < 0 || node >= channel.size())
    throw RequestError("there is no node " + std::to_string(node) + "; nodes are 0 to " +
                       std::to_string(channel.size() - 1));
  return NodeId{node};
}

void all_reduce_in_place(Loop& loop, const py::buffer& data, bool mean) {
  Channel& channel = loop.channel();
  const py::buffer_info buffer = data.request(true);
  const py::gil_scoped_release release;
  all_reduce(channel, floats(buffer));
  if (mean) scale(floats(buffer), 1.0F / static_cast<float>(channel.size()));
}

void broadcast_in_place(Loop& loop, const py::buffer& data, int root) {
  Channel& channel = loop.channel();
  const py::buffer_info buffer = data.request(true);
  const NodeId from = node_of(channel, root);
  const py::gil_scoped_release release;
  broadcast(channel, from, floats(buffer));
}

std::vector<py::bytes> all_gather_bytes(Loop& loop, const std::string& mine) {
  Channel& channel = loop.channel();
  std::vector<Message> all;
  {
    const py::gil_scoped_release release;
    all = all_gather(channel, channel.pool.copy_of(std::span<const char>(mine)));
  }
  std::vector<py::bytes> texts;
  for (const Message& each : all)
    texts.emplace_back(reinterpret_cast<const char*>(each.bytes().data()), each.size());
  return texts;
}

// x <- sum of weight * x of that node, over `row`, which has this node too; `readers` need this
// node's x.
void mix_in_place(Loop& loop, const py::buffer& data, const std::vector<std::pair<int, float>>& row,
                  const std::vector<int>& readers) {
  Channel& channel = loop.channel();
  const py::buffer_info buffer = data.request(true);
  const py::gil_scoped_release release;
  const std::span<float> x = floats(buffer);
  const Message mine = channel.pool.copy_of(std::span<const float>(x));
  for (const int reader : readers) channel.send(node_of(channel, reader), mine);
  std::vector<Message> kept;
  std::vector<std::span<const float>> inputs;
  std::vector<float> weights;
  for (const auto& [node, weight] : row) {
    const bool own = NodeId{node} == channel.me();
    kept.push_back(own ? mine : channel.expect(node_of(channel, node), x.size_bytes()));
    inputs.push_back(kept.back().as<float>());
    weights.push_back(weight);
  }
  if (!inputs.empty()) weighted_sum(x, inputs, weights);
}

void send_floats(Loop& loop, int to, const py::buffer& data) {
  Channel& channel = loop.channel();
  const py::buffer_info buffer = data.request();
  channel.send(node_of(channel, to), channel.pool.copy_of(std::span<const float>(floats(buffer))));
}

void receive_in_place(Loop& loop, int from, const py::buffer& data) {
  Channel& channel = loop.channel();
  const py::buffer_info buffer = data.request(true);
  const NodeId peer = node_of(channel, from);
  const py::gil_scoped_release release;
  const Message message = channel.expect(peer, floats(buffer).size_bytes());
  std::memcpy(buffer.ptr, message.bytes().data(), message.size());
}

}  // namespace

void add_comm(py::module_& module) {
  module.def("comm_me", [](Loop& loop) { return loop.channel().me().value; });
  module.def("comm_size", [](Loop& loop) { return loop.channel().size(); });
  module.def("comm_allreduce", &all_reduce_in_place);
  module.def("comm_broadcast", &broadcast_in_place);
  module.def("comm_allgather", &all_gather_bytes);
  module.def("comm_mix", &mix_in_place);
  module.def("comm_send", &send_floats);
  module.def("comm_receive", &receive_in_place);
  module.def("comm_barrier", [](Loop& loop) {
    Channel& channel = loop.channel();
    const py::gil_scoped_release release;
    barrier(channel);
  });
}

}  // namespace veche::python
