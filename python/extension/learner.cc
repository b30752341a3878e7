// Models written in Python.
#include "veche/learner.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "extension/arrays.h"
#include "extension/strategy_exceptions.h"
#include "extension/strategy_keys.h"
#include "veche/register.h"

namespace veche::python {
namespace {

// One flat vector of a model. The user's object has it as one array, whose memory this then is, or
// in pieces (a list or a dict), which are copied before and after each pass.
class FlatVector {
 public:
  FlatVector() = default;
  FlatVector(py::handle object, const char* name) : name_(name), object_(py::object(object.attr(name))) {
    const py::object& value = object_;
    if (py::isinstance<py::dict>(value)) {
      for (const auto& [key, piece] : py::reinterpret_borrow<py::dict>(value))
        add(piece, py::str(key).cast<std::string>());
    } else if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
      for (const py::handle piece : value) add(piece, std::to_string(layout_.size()));
    } else {
      add(value, "");
      in_place_ = true;
    }
    if (in_place_) return;
    memory_.resize(size_);
    take();
  }

  std::span<float> span() {
    if (!in_place_) return memory_;
    return pieces_.empty() ? std::span<float>() : pieces_.front().floats();
  }
  const std::vector<TensorLayout>& layout() const { return layout_; }
  std::size_t size() const { return size_; }

  // Before a pass: the pieces get the vector.
  void give() {
    if (in_place_) return;
    std::size_t at = 0;
    for (const Buffer& piece : pieces_) {
      std::ranges::copy(std::span(memory_).subspan(at, piece.floats().size()), piece.floats().begin());
      at += piece.floats().size();
    }
  }
  // After it: the vector gets the pieces.
  void take() {
    if (in_place_) return;
    auto at = memory_.begin();
    for (const Buffer& piece : pieces_) at = std::ranges::copy(piece.floats(), at).out;
  }
  // The same where the user's code may have put other arrays there, such as a new gradient.
  void take_from(py::handle object) {
    const py::object now = object.attr(name_);
    if (in_place_ && now.is(object_)) return;
    FlatVector other(object, name_);
    if (other.size() != size_)
      throw py::type_error(std::string(name_) + " has " + std::to_string(other.size()) +
                           " numbers now and had " + std::to_string(size_));
    std::ranges::copy(other.span(), span().begin());
  }
  // The user's code changes the arrays and does not replace them.
  void check_unchanged(py::handle object) const {
    if (!py::object(object.attr(name_)).is(object_))
      throw py::type_error(std::string(name_) + " is another object now: change the arrays in place");
  }

 private:
  void add(py::handle piece, const std::string& label) {
    const std::string what = label.empty() ? name_ : std::string(name_) + "[" + label + "]";
    pieces_.push_back(Buffer::floats(piece, what));
    TensorLayout tensor;
    tensor.name = label.empty() ? name_ : label;
    tensor.offset = size_;
    for (const py::handle extent : py::array::ensure(piece).attr("shape"))
      tensor.shape.push_back(extent.cast<std::int64_t>());
    tensor.strides.resize(tensor.shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0; stride *= tensor.shape[i]) tensor.strides[i] = stride;
    layout_.push_back(std::move(tensor));
    size_ += pieces_.back().floats().size();
  }

  const char* name_ = "";
  py::object object_;
  bool in_place_ = false;
  std::vector<Buffer> pieces_;
  std::vector<float> memory_;  // of pieces
  std::vector<TensorLayout> layout_;
  std::size_t size_ = 0;
};

struct FlatVectors {
  explicit FlatVectors(py::handle object) : parameters(object, "parameters"), gradients(object, "gradients") {
    if (py::hasattr(object, "buffers")) buffers = FlatVector(object, "buffers");
  }
  FlatVector parameters, gradients, buffers;
};

class PythonLearner : public Learner {
 public:
  PythonLearner(py::handle make, const std::vector<KeySpec>& keys, const ModelSpec& spec) {
    in_python([&] {
      py::dict facts;
      facts["shape"] = py::make_tuple(spec.input.channels, spec.input.height, spec.input.width);
      facts["classes"] = spec.classes;
      facts["task"] = to_string(spec.task);
      facts["seed"] = spec.seed;
      facts["node"] = spec.node.value;
      facts["nodes"] = spec.nodes;
      object_ = Kept(make(facts, values_of(spec.options, keys)));
      vectors_ = {new FlatVectors(object_.get()), [](FlatVectors* vectors) {
                    const py::gil_scoped_acquire gil;
                    delete vectors;
                  }};
    });
  }

  std::span<float> parameters() override { return vectors_->parameters.span(); }
  std::span<float> gradients() override { return vectors_->gradients.span(); }
  std::span<float> buffers() override { return vectors_->buffers.span(); }

  Score compute_gradient(const Batch& batch) override {
    return in_python([&] {
      vectors_->parameters.give();
      vectors_->buffers.give();
      const py::object given = batch_for(batch);
      const Score score = score_of(object_.get().attr("compute_gradient")(given), given);
      vectors_->parameters.check_unchanged(object_.get());
      vectors_->gradients.take_from(object_.get());
      vectors_->buffers.take();
      return score;
    });
  }
  Score evaluate(const Batch& batch) override { return evaluate_each(batch, {}); }
  Score evaluate_each(const Batch& batch, std::span<Outcome> outcomes) override {
    return in_python([&] {
      vectors_->parameters.give();
      vectors_->buffers.give();
      const py::object given = batch_for(batch);
      const py::object said = object_.get().attr("evaluate")(given);
      if (!outcomes.empty()) tell(py::module_::import("veche.own").attr("_outcomes")(said, given), outcomes);
      return score_of(said, given);
    });
  }

  std::vector<TensorLayout> parameter_layout() const override { return vectors_->parameters.layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return vectors_->buffers.layout(); }

 private:
  // Copies, as the user's code may keep them: the loader's memory is used again.
  template <class T>
  static py::object copied(std::span<const T> items, std::vector<py::ssize_t> shape) {
    if (items.empty()) return py::none();
    return py::array_t<T>(std::move(shape), items.data());
  }
  static py::object batch_for(const Batch& batch) {
    const auto count = static_cast<py::ssize_t>(batch.size());
    const auto length = static_cast<py::ssize_t>(batch.shape.size());
    std::vector<py::ssize_t> shape{count};
    const bool flat = batch.shape.height == 1 && batch.shape.width == 1;
    if (!flat) shape.insert(shape.end(), {batch.shape.height, batch.shape.width});
    shape.push_back(batch.shape.channels);
    // A learner that brings its own data gets arrays without items.
    if (count == 0)
      return py::module_::import("veche.own")
          .attr("Batch")(py::array_t<float>(0), py::array_t<std::int64_t>(0), batch.step);
    const bool text = !batch.tokens.empty();
    return py::module_::import("veche.own")
        .attr("Batch")(copied(batch.inputs, shape), copied(batch.labels, {count}), batch.step,
                       copied(batch.tokens, {count, length + 1}), copied(batch.values, {count}),
                       copied(batch.weights, text ? std::vector{count, length} : std::vector{count}));
  }

  // `told`: loss, margin and correctness of every sample, or None.
  static void tell(const py::object& told, std::span<Outcome> outcomes) {
    if (told.is_none()) return;
    const auto rows = py::array_t<float, py::array::c_style | py::array::forcecast>(told);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto row = static_cast<py::ssize_t>(i);
      outcomes[i] = {.loss = rows.at(row, 0), .margin = rows.at(row, 1), .correct = rows.at(row, 2) > 0};
    }
  }

  // veche/own.py reads what a pass returns: the mean loss, and what there is to count.
  static Score score_of(const py::object& said, const py::object& batch) {
    const auto sums =
        py::module_::import("veche.own").attr("_sums")(said, batch).cast<std::array<double, 7>>();
    const auto count = static_cast<std::int64_t>(sums[2]);
    return {.loss_sum = sums[0] * sums[2],
            .correct = static_cast<std::int64_t>(sums[1]),
            .count = count,
            .error_sum = sums[3],
            .squared_error_sum = sums[4],
            .target_sum = sums[5],
            .squared_target_sum = sums[6]};
  }

  Kept object_;
  std::shared_ptr<FlatVectors> vectors_;
};

void register_python_learner(const py::dict& declared) {
  OwnModel model;
  model.name = declared["name"].cast<std::string>();
  model.keys = keys_from(declared["keys"]);
  model.needs_data = declared["needs_data"].cast<bool>();
  model.needs_threads = true;
  const py::handle make = py::object(declared["make"]).release();
  model.make = [make, keys = model.keys](const ModelSpec& spec) {
    return std::make_unique<PythonLearner>(make, keys, spec);
  };
  register_model(std::move(model));
}

}  // namespace

void add_learner(py::module_& module) {
  module.def("register_learner", register_python_learner, py::arg("declared"));
}

}  // namespace veche::python
