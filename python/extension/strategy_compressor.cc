#include "extension/strategy_compressor.h"

#include <pybind11/stl.h>

#include "extension/arrays.h"
#include "extension/strategy_exceptions.h"
#include "extension/strategy_node.h"
#include "veche/collectives.h"
#include "veche/errors.h"

namespace veche::python {
namespace {

using Node = StrategyNode;

StrategyCompressor& compressor_of(const Node& node) {
  node.context();
  if (node.compressor == nullptr)
    throw std::runtime_error(
        "this strategy declares no codec: codec=\"gradients\", \"deltas\" or \"copies\" in veche.strategy");
  return *node.compressor;
}

void copies_receive(const Node& node, int from) {
  StrategyCompressor& compressor = compressor_of(node);
  in_library([&] {
    compressor.copies().receive(NodeId{from}, compressor.context().channel.expect(NodeId{from}));
    return 0;
  });
}

}  // namespace

// Made at the first sum, or when a checkpoint asks for what it remembers.
void StrategyCompressor::sum(std::span<float> vector) {
  if (!on()) return all_reduce(context_.channel, vector);
  if (vector.size() != context_.learner.parameters().size())
    throw RunError("a compressed sum is of vectors as long as the parameters, " +
                   std::to_string(context_.learner.parameters().size()) + ", and this one has " +
                   std::to_string(vector.size()) + " numbers");
  if (!sum_) sum_.emplace(compressor_, context_.channel);
  sum_->sum(vector);
}

void StrategyCompressor::make_copies(const std::vector<int>& neighbours) {
  if (!on()) throw RunError("there are copies only with a codec: look at compressor.on");
  std::vector<NodeId> nodes;
  for (const int neighbour : neighbours) nodes.push_back(NodeId{neighbour});
  copies_.emplace(compressor_, context_.channel, nodes);
}

ModelCopies& StrategyCompressor::copies() {
  if (!copies_) throw RunError("there are no copies yet: call compressor.copies(neighbours) in __init__");
  return *copies_;
}

void StrategyCompressor::add_state(SavedState& state) {
  if (!on()) return;
  compressor_.add_state(state);
  if (copies_) return copies_->add_state(state);
  if (!sum_) sum_.emplace(compressor_, context_.channel);
  sum_->add_state(state);
}

Coding StrategyCompressor::coding() const {
  Coding coding = compressor_.coding();
  if (sum_) coding.remembered_squared += sum_->remembered_squared();
  if (copies_) coding.remembered_squared += copies_->remembered_squared(context_.learner.parameters());
  return coding;
}

void add_strategy_compressor(py::handle node_class) {
  using Class = py::class_<Node, std::shared_ptr<Node>>;
  auto node = py::reinterpret_borrow<Class>(node_class);
  node.def("codec_on", [](const Node& self) { return compressor_of(self).on(); })
      .def("codec_codes",
           [](const Node& self, std::uint64_t step) { return compressor_of(self).codes(step); })
      .def("codec_gamma", [](const Node& self) { return compressor_of(self).gamma(); })
      .def("codec_sum",
           [](const Node& self, py::handle data) {
             StrategyCompressor& compressor = compressor_of(self);
             const Buffer buffer = Buffer::floats(data, "data");
             in_library([&] {
               compressor.sum(buffer.floats());
               return 0;
             });
           })
      .def("codec_copies",
           [](const Node& self, const std::vector<int>& neighbours) {
             StrategyCompressor& compressor = compressor_of(self);
             in_library([&] {
               compressor.make_copies(neighbours);
               return 0;
             });
           })
      .def("copies_start",
           [](const Node& self, const std::string& how) {
             StrategyCompressor& compressor = compressor_of(self);
             in_library([&] {
               const std::span<float> x = compressor.context().learner.parameters();
               if (how == "alone")
                 compressor.copies().start_alone();
               else if (how == "async")
                 compressor.copies().start_async(x);
               else
                 compressor.copies().start(x);
               return 0;
             });
           })
      .def("copies_send",
           [](const Node& self, int to) {
             StrategyCompressor& compressor = compressor_of(self);
             in_library([&] {
               compressor.copies().send(NodeId{to}, compressor.context().learner.parameters());
               return 0;
             });
           })
      .def("copies_receive", copies_receive)
      .def("copies_pull", [](const Node& self, int neighbour, double weight) {
        StrategyCompressor& compressor = compressor_of(self);
        in_library([&] {
          compressor.copies().pull(compressor.context().learner.parameters(), NodeId{neighbour}, weight);
          return 0;
        });
      });
}

}  // namespace veche::python
