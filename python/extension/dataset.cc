// Data sets written in Python.
#include "veche/dataset.h"

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

class PythonDataset : public Dataset {
 public:
  // `part` is made by veche/own.py: the labels of all samples, and a function that reads one.
  explicit PythonDataset(const py::dict& part)
      : read_(py::object(part["read"])),
        labels_(part["labels"].cast<std::vector<std::int64_t>>()),
        classes_(part["classes"].cast<int>()) {
    const auto shape = part["shape"].cast<std::array<int, 3>>();
    shape_ = {shape[0], shape[1], shape[2]};
  }

  std::size_t size() const override { return labels_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int64_t label(std::size_t index) const override { return labels_.at(index); }
  void read(std::size_t index, std::span<float> out) const override {
    in_python([&] {
      const py::object sample = read_.get()(index);
      const Buffer buffer = Buffer::floats(sample, "a sample");
      if (buffer.floats().size() != out.size())
        throw py::value_error("sample " + std::to_string(index) + " has " +
                              std::to_string(buffer.floats().size()) + " numbers where the first has " +
                              std::to_string(out.size()));
      std::ranges::copy(buffer.floats(), out.begin());
    });
  }

 private:
  const Kept read_;
  const std::vector<std::int64_t> labels_;
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
