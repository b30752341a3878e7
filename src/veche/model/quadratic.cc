#include "veche/model/quadratic.h"

#include <algorithm>

#include "veche/errors.h"
#include "veche/model/drawn_start.h"

namespace veche {
namespace {

class Quadratic : public Learner {
 public:
  Quadratic(std::vector<double> a, std::vector<double> b, std::vector<float> x0)
      : a_(std::move(a)), b_(std::move(b)), x_(std::move(x0)), gradient_(x_.size()) {}

  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return gradient_; }
  std::span<float> buffers() override { return {}; }

  Score compute_gradient(const Batch& batch) override {
    for (std::size_t d = 0; d < x_.size(); ++d)
      gradient_[d] = static_cast<float>(a_[d] * (static_cast<double>(x_[d]) - b_[d]));
    return evaluate(batch);
  }

  Score evaluate(const Batch&) override {
    double loss = 0;
    for (std::size_t d = 0; d < x_.size(); ++d) {
      const double distance = static_cast<double>(x_[d]) - b_[d];
      loss += 0.5 * a_[d] * distance * distance;
    }
    return {.loss_sum = loss, .correct = 0, .count = 1};
  }

  std::vector<TensorLayout> parameter_layout() const override {
    return {{"x", {static_cast<std::int64_t>(x_.size())}, {1}, 0}};
  }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  const std::vector<double> a_;
  const std::vector<double> b_;
  std::vector<float> x_;
  std::vector<float> gradient_;
};

// A number, or a list of numbers.
std::vector<double> numbers(const Value& value, const std::string& key) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return {static_cast<double>(*whole)};
  if (const auto* real = std::get_if<double>(&value.data)) return {*real};
  const auto* list = std::get_if<Value::List>(&value.data);
  if (list == nullptr || list->empty()) throw RequestError("model." + key + " must be made of numbers");
  std::vector<double> result;
  for (const Value& item : *list) {
    if (std::holds_alternative<Value::List>(item.data))
      throw RequestError("model." + key + " holds a list too deep: at most one list per node");
    result.push_back(numbers(item, key).front());
  }
  return result;
}

// The values of `key` for every node. All are checked, so that every node finds the same mistake.
std::vector<std::vector<double>> per_node(const std::optional<Value>& given, const std::string& key,
                                          int count) {
  if (!given)
    throw RequestError("model." + key +
                       " is needed by the quadratic: one number, or one list of numbers, per node");
  const Value& value = *given;
  const auto* list = std::get_if<Value::List>(&value.data);
  const auto nodes = static_cast<std::size_t>(count);
  if (list == nullptr) return std::vector(nodes, numbers(value, key));
  if (list->size() != nodes)
    throw RequestError("model." + key + " has " + std::to_string(list->size()) + " entries for " +
                       std::to_string(nodes) + " nodes: give one per node");
  std::vector<std::vector<double>> result;
  for (const Value& item : *list) result.push_back(numbers(item, key));
  return result;
}

std::vector<double> spread(std::vector<double> values, std::size_t dimensions, const std::string& key) {
  if (values.size() == 1) values.resize(dimensions, values.front());
  if (values.size() != dimensions)
    throw RequestError("model." + key + " has a list of " + std::to_string(values.size()) +
                       " numbers where the quadratic has " + std::to_string(dimensions) + " dimensions");
  return values;
}

}  // namespace

std::unique_ptr<Learner> make_quadratic(const ModelSpec& spec) {
  std::vector<std::vector<double>> a = per_node(spec.settings.a, "a", spec.nodes);
  std::vector<std::vector<double>> b = per_node(spec.settings.b, "b", spec.nodes);
  const std::vector<double> x0 = numbers(spec.settings.x0.value_or(Value{0.0}), "x0");
  std::size_t dimensions = x0.size();
  for (const auto& values : a) dimensions = std::max(dimensions, values.size());
  for (const auto& values : b) dimensions = std::max(dimensions, values.size());
  for (auto& values : a) values = spread(std::move(values), dimensions, "a");
  for (auto& values : b) values = spread(std::move(values), dimensions, "b");
  const std::vector<double> start = spread(x0, dimensions, "x0");
  const auto node = static_cast<std::size_t>(spec.node.value);
  std::vector<float> x(start.begin(), start.end());
  draw_start(x, spec);
  return std::make_unique<Quadratic>(a.at(node), b.at(node), std::move(x));
}

}  // namespace veche
