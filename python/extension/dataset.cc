// Data sets written in Python.
#include "veche/dataset.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "extension/arrays.h"
#include "extension/strategy_exceptions.h"
#include "extension/strategy_keys.h"
#include "veche/register.h"

namespace veche::python {
namespace {

class PythonDataset : public Dataset, private TokenSamples, private ValueTargets {
 public:
  // `part` is made by veche/own.py: the targets of all samples, and a function that reads a sample.
  explicit PythonDataset(const py::dict& part)
      : read_(py::object(part["read"])),
        task_(parse_task(part["task"].cast<std::string>()).value()),
        size_(part["size"].cast<std::size_t>()),
        labels_(part["labels"].cast<std::vector<std::int64_t>>()),
        values_(part["values"].cast<std::vector<float>>()),
        characters_per_token_(part["characters_per_token"].cast<double>()),
        classes_(part["classes"].cast<int>()) {
    const auto shape = part["shape"].cast<std::array<int, 3>>();
    shape_ = {shape[0], shape[1], shape[2]};
  }

  std::size_t size() const override { return size_; }
  Shape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int64_t label(std::size_t index) const override {
    return task_ == Task::classification ? labels_.at(index) : 0;
  }
  const TokenSamples* tokens() const override { return task_ == Task::language ? this : nullptr; }
  const ValueTargets* values() const override { return task_ == Task::regression ? this : nullptr; }
  void read(std::size_t index, std::span<float> out) const override {
    in_python([&] {
      const py::object sample = read_.get()(index);
      const Buffer buffer = Buffer::floats(sample, "a sample");
      check_length(index, buffer.floats().size(), out.size(), "numbers");
      std::ranges::copy(buffer.floats(), out.begin());
    });
  }

 private:
  void read_tokens(std::size_t index, std::span<std::int32_t> out) const override {
    in_python([&] {
      const auto window =
          py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>(read_.get()(index));
      check_length(index, static_cast<std::size_t>(window.size()), out.size(), "tokens");
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = window.data()[i];
        if (out[i] < 0 || out[i] >= classes_)
          throw py::value_error("sample " + std::to_string(index) + " has the token " +
                                std::to_string(out[i]) + ", which is none of the " +
                                std::to_string(classes_) + " symbols, 0 and up");
      }
    });
  }
  double characters_per_token() const override { return characters_per_token_; }
  float value(std::size_t index) const override { return values_.at(index); }

  static void check_length(std::size_t index, std::size_t has, std::size_t due, const char* what) {
    if (has == due) return;
    throw py::value_error("sample " + std::to_string(index) + " has " + std::to_string(has) + " " + what +
                          " where the first has " + std::to_string(due));
  }

  const Kept read_;
  const Task task_;
  const std::size_t size_;
  const std::vector<std::int64_t> labels_;
  const std::vector<float> values_;
  const double characters_per_token_;
  const int classes_;
  Shape shape_;
};

void register_python_dataset(const py::dict& declared) {
  OwnDataset set;
  set.name = declared["name"].cast<std::string>();
  set.keys = keys_from(declared["keys"]);
  set.needs_threads = true;
  const py::handle open = py::object(declared["open"]).release();
  set.open = [open, keys = set.keys](const Options& data, std::uint64_t seed) {
    return in_python([&] {
      const py::dict opened = open(values_of(data, keys), seed);
      return OwnDataset::Parts{.train = std::make_shared<PythonDataset>(opened["train"]),
                               .test = std::make_shared<PythonDataset>(opened["test"]),
                               .class_names = opened["class_names"].cast<std::vector<std::string>>()};
    });
  };
  register_dataset(std::move(set));
}

}  // namespace

void add_dataset(py::module_& module) {
  module.def("register_dataset", register_python_dataset, py::arg("declared"));
}

}  // namespace veche::python
