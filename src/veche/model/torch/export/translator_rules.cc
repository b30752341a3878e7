// The ONNX form of each libtorch operation.
#include <torch/csrc/jit/ir/constants.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "veche/model/torch/export/translator.h"

namespace veche::torch_model {
namespace {

using TracedValue = torch::jit::Value;

std::vector<std::int64_t> sizes_of(const TracedValue* value) {
  return *value->type()->expectRef<c10::TensorType>().sizes().concrete_sizes();
}

std::int64_t dimensions_of(const TracedValue* value) {
  return static_cast<std::int64_t>(sizes_of(value).size());
}

c10::IValue constant(const TracedValue* value) { return *torch::jit::toIValue(value); }
std::int64_t integer(const TracedValue* value) { return constant(value).toInt(); }
bool is_none(const TracedValue* value) {
  const auto known = torch::jit::toIValue(value);
  return known && known->isNone();
}
// The shape with any number of samples in its first dimension.
std::vector<std::int64_t> for_any_samples(const TracedValue* value) {
  std::vector<std::int64_t> shape = sizes_of(value);
  shape.front() = -1;
  return shape;
}

// Counted from the front.
std::int64_t dimension(const TracedValue* value, const TracedValue* of) {
  const std::int64_t given = integer(value);
  return given < 0 ? given + dimensions_of(of) : given;
}

std::vector<std::int64_t> list_of_integers(const TracedValue* value) {
  if (const auto known = torch::jit::toIValue(value)) return known->toIntVector();
  std::vector<std::int64_t> values;
  for (const TracedValue* item : value->node()->inputs()) values.push_back(integer(item));
  return values;
}

// Height and width; one number may stand for both.
std::vector<std::int64_t> two_integers(const TracedValue* value) {
  std::vector<std::int64_t> values = list_of_integers(value);
  if (values.size() == 1) values.push_back(values.front());
  return values;
}

std::vector<std::int64_t> twice(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> result = values;
  result.insert(result.end(), values.begin(), values.end());
  return result;
}

}  // namespace

// Lists are read by the operations that use them.
void Translator::list(const Node& /*node*/) {}

void Translator::same(const Node& node) { call(node.output(), name_of(node.input(0))); }

void Translator::activation(const Node& node) {
  const std::string kind = node.kind().toUnqualString();
  const std::string x = name_of(node.input(0));
  call(node.output(), kind == "relu"      ? emit("Relu", {x})
                      : kind == "sigmoid" ? emit("Sigmoid", {x})
                                          : emit("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}}));
}

void Translator::silu(const Node& node) {
  const std::string x = name_of(node.input(0));
  call(node.output(), emit("Mul", {x, emit("Sigmoid", {x})}));
}

void Translator::hardswish(const Node& node) {
  const std::string x = name_of(node.input(0));
  call(node.output(), emit("Mul", {x, emit("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}})}));
}

// x (1 + erf(x / sqrt 2)) / 2
void Translator::gelu(const Node& node) {
  const std::string x = name_of(node.input(0));
  if (constant(node.input(1)).toStringRef() != "none") return call(node.output(), tanh_gelu(x));
  const std::string area = emit("Erf", {emit("Div", {x, number(std::sqrt(2.0F))})});
  call(node.output(), emit("Mul", {emit("Mul", {x, emit("Add", {area, number(1)})}), number(0.5F)}));
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
std::string Translator::tanh_gelu(const std::string& x) {
  const std::string cube = emit("Mul", {emit("Mul", {x, x}), emit("Mul", {x, number(0.044715F)})});
  const std::string inner =
      emit("Mul", {emit("Add", {x, cube}), number(std::sqrt(2 / std::numbers::pi_v<float>))});
  return emit("Mul", {emit("Mul", {x, emit("Add", {emit("Tanh", {inner}), number(1)})}), number(0.5F)});
}

void Translator::binary(const Node& node) {
  const std::string kind = node.kind().toUnqualString();
  if (kind == "add" && constant(node.input(2)).toScalar().toDouble() != 1)
    refuse(node, "it scales a summand");
  call(node.output(), emit(kind == "add"   ? "Add"
                           : kind == "mul" ? "Mul"
                                           : "Div",
                           {name_of(node.input(0), true), name_of(node.input(1), true)}));
}

// Input, weight, bias, stride, padding, dilation, then groups or whether it is transposed.
void Translator::convolution(const Node& node) {
  const bool general = node.kind() == c10::Symbol::fromQualString("aten::_convolution");
  if (general && constant(node.input(6)).toBool()) refuse(node, "it is transposed");
  std::vector<std::string> inputs{name_of(node.input(0)), name_of(node.input(1))};
  if (!is_none(node.input(2))) inputs.push_back(name_of(node.input(2)));
  const std::vector<std::int64_t> weight = sizes_of(node.input(1));
  call(node.output(), emit("Conv", std::move(inputs),
                           {{"kernel_shape", std::vector<std::int64_t>(weight.begin() + 2, weight.end())},
                            {"strides", two_integers(node.input(3))},
                            {"pads", twice(two_integers(node.input(4)))},
                            {"dilations", two_integers(node.input(5))},
                            {"group", integer(node.input(general ? 8 : 6))}}));
}

// A product with transposed weights. With samples as the only rows, one operator includes the bias.
void Translator::linear(const Node& node) {
  const std::string x = name_of(node.input(0));
  if (dimensions_of(node.input(0)) == 2) {
    call(node.output(),
         emit("Gemm", {x, name_of(node.input(1)), name_of(node.input(2))}, {{"transB", std::int64_t{1}}}));
    return;
  }
  const at::Tensor weight = constant(node.input(1)).toTensor();
  const std::string turned = tensor(weight.t(), names_.at(weight.data_ptr()) + ".transposed");
  const std::string products = emit("MatMul", {x, turned});
  call(node.output(), is_none(node.input(2)) ? products : emit("Add", {products, name_of(node.input(2))}));
}

void Translator::matmul(const Node& node) {
  call(node.output(), emit("MatMul", {name_of(node.input(0)), name_of(node.input(1))}));
}

void Translator::softmax(const Node& node) {
  const std::int64_t axis = dimension(node.input(1), node.input(0));
  call(node.output(), emit("Softmax", {name_of(node.input(0))}, {{"axis", axis}}));
}

// Input, weight, bias, mean, variance, training, momentum, epsilon.
void Translator::batch_norm(const Node& node) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < 5; ++i) inputs.push_back(name_of(node.input(i)));
  call(node.output(), emit("BatchNormalization", std::move(inputs),
                           {{"epsilon", static_cast<float>(constant(node.input(7)).toDouble())}}));
}

// Each group becomes one channel of an instance norm. Input, groups, weight, bias, epsilon.
void Translator::group_norm(const Node& node) {
  const std::int64_t groups = integer(node.input(1));
  const std::string normal =
      reshaped(normalised(node, groups, {0, groups, -1}), for_any_samples(node.input(0)));
  const auto per_channel = [&](const TracedValue* value) {
    const at::Tensor numbers = constant(value).toTensor();
    return tensor(numbers.view({-1, 1, 1}), names_.at(numbers.data_ptr()));
  };
  call(node.output(),
       emit("Add", {emit("Mul", {normal, per_channel(node.input(2))}), per_channel(node.input(3))}));
}

// Over the last dimension; the other dimensions become the channels of an instance norm. Input, the
// size of that dimension, weight, bias, epsilon.
void Translator::layer_norm(const Node& node) {
  if (list_of_integers(node.input(1)).size() != 1) refuse(node, "it is over several dimensions");
  const std::vector<std::int64_t> sizes = sizes_of(node.input(0));
  if (sizes.front() != kSamples) refuse(node, "it does not begin with the samples");
  const std::int64_t rows = c10::multiply_integers(sizes.begin() + 1, sizes.end() - 1);
  // Scale and shift as rows: with more dimensions OpenCV 4.6 would use the second.
  const std::string normal = reshaped(normalised(node, rows, {0, rows, sizes.back()}), {-1, sizes.back()});
  const std::string scaled = emit("Mul", {normal, name_of(node.input(2))});
  call(node.output(),
       reshaped(is_none(node.input(3)) ? scaled : emit("Add", {scaled, name_of(node.input(3))}),
                for_any_samples(node.output())));
}

// The input of a norm, reshaped to `channels` channels, each normalised to mean 0 and variance 1.
std::string Translator::normalised(const Node& node, std::int64_t channels, std::vector<std::int64_t> seen) {
  const std::string ones = tensor(at::ones({channels}), "ones");
  const std::string zeros = tensor(at::zeros({channels}), "zeros");
  const auto epsilon = static_cast<float>(constant(node.input(4)).toDouble());
  return emit("InstanceNormalization", {reshaped(name_of(node.input(0)), std::move(seen)), ones, zeros},
              {{"epsilon", epsilon}});
}

// Input, kernel, stride (empty: the kernel's), padding, dilation, whether sizes are rounded up.
void Translator::max_pool(const Node& node) {
  const std::vector<std::int64_t> kernel = two_integers(node.input(1));
  std::vector<std::int64_t> stride = two_integers(node.input(2));
  if (stride.empty()) stride = kernel;
  call(node.output(), emit("MaxPool", {name_of(node.input(0))},
                           {{"kernel_shape", kernel},
                            {"strides", stride},
                            {"pads", twice(two_integers(node.input(3)))},
                            {"ceil_mode", static_cast<std::int64_t>(constant(node.input(5)).toBool())}}));
}

void Translator::mean(const Node& node) {
  if (dimensions_of(node.input(0)) != 4 || list_of_integers(node.input(1)) != std::vector<std::int64_t>{2, 3})
    refuse(node, "it is not over the pixels");
  const std::string means = emit("GlobalAveragePool", {name_of(node.input(0))});
  const bool kept = constant(node.input(2)).toBool();
  call(node.output(), kept ? means : emit("Flatten", {means}, {{"axis", std::int64_t{1}}}));
}

void Translator::flattening(const Node& node) {
  const std::int64_t from = dimension(node.input(1), node.input(0));
  const std::int64_t to = dimension(node.input(2), node.input(0));
  if (from < 1 || to != dimensions_of(node.input(0)) - 1) refuse(node, "it is not to the last dimension");
  const std::string x = name_of(node.input(0));
  std::vector<std::int64_t> shape(static_cast<std::size_t>(from), 0);
  shape.push_back(-1);
  call(node.output(), from == 1 ? emit("Flatten", {x}, {{"axis", from}}) : reshaped(x, std::move(shape)));
}

void Translator::reshape(const Node& node) {
  if (sizes_of(node.input(0)).front() != kSamples || sizes_of(node.output()).front() != kSamples)
    refuse(node, "it mixes samples with something else");
  call(node.output(), reshaped(name_of(node.input(0)), for_any_samples(node.output())));
}

void Translator::permutation(const Node& node) {
  std::vector<std::int64_t> order;
  if (node.inputs().size() == 2) {
    order = list_of_integers(node.input(1));
  } else {
    for (std::int64_t i = 0; i < dimensions_of(node.input(0)); ++i) order.push_back(i);
    std::swap(order.at(static_cast<std::size_t>(dimension(node.input(1), node.input(0)))),
              order.at(static_cast<std::size_t>(dimension(node.input(2), node.input(0)))));
  }
  call(node.output(), transposed(name_of(node.input(0)), std::move(order)));
}

// Weight, then the tokens.
void Translator::embedding(const Node& node) {
  call(node.output(), emit("Gather", {name_of(node.input(0)), name_of(node.input(1))}));
}

// Input, dimension, start, length.
void Translator::narrow(const Node& node) {
  const std::int64_t from = integer(node.input(2));
  call(node.output(), slice_of(name_of(node.input(0)), dimension(node.input(1), node.input(0)), from,
                               from + integer(node.input(3)), 1));
}

// The same constant for every sample; users of the value must handle that.
void Translator::expansion(const Node& node) {
  const auto known = torch::jit::toIValue(node.input(0));
  if (!known || sizes_of(node.output()).front() != kSamples || sizes_of(node.input(0)).front() != 1)
    refuse(node, "it is not of a constant to all samples");
  repeated_[node.output()] = known->toTensor();
}

// A constant is added to a tensor of zeros with one row per sample.
void Translator::concatenation(const Node& node) {
  const auto items = node.input(0)->node()->inputs();
  const std::int64_t axis = dimension(node.input(1), node.output());
  if (!repeated_.contains(items[0])) {
    std::vector<std::string> inputs;
    for (const TracedValue* item : items) inputs.push_back(name_of(item));
    call(node.output(), emit("Concat", std::move(inputs), {{"axis", axis}}));
    return;
  }
  if (items.size() != 2) refuse(node, "it repeats constants among several");
  const at::Tensor first = repeated_.at(items[0]);
  std::vector<std::int64_t> before(sizes_of(node.output()).size(), 0), rest = sizes_of(node.output());
  before.at(static_cast<std::size_t>(axis)) = first.size(axis);
  const std::string room = emit("Pad", {name_of(items[1]), integers([&] {
                                          std::vector<std::int64_t> pads = before;
                                          pads.resize(2 * before.size(), 0);
                                          return pads;
                                        }())});
  rest.front() = 1;
  rest.at(static_cast<std::size_t>(axis)) -= first.size(axis);
  call(node.output(),
       emit("Add", {room, tensor(at::cat({first, at::zeros(rest)}, axis).squeeze(0), "first")}));
}

// libtorch lists pads in pairs, starting with the last dimension.
void Translator::padding(const Node& node) {
  const std::vector<std::int64_t> pairs = list_of_integers(node.input(1));
  if (constant(node.input(2)).toScalar().toDouble() != 0) refuse(node, "it is not with zeros");
  const auto dimensions = sizes_of(node.input(0)).size();
  std::vector<std::int64_t> pads(2 * dimensions, 0);
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    pads.at(dimensions - 1 - i) = pairs.at(2 * i);
    pads.at(2 * dimensions - 1 - i) = pairs.at(2 * i + 1);
  }
  call(node.output(), emit("Pad", {name_of(node.input(0)), integers(std::move(pads))}));
}

void Translator::slice(const Node& node) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const std::int64_t from = is_none(node.input(2)) ? 0 : integer(node.input(2));
  const std::int64_t to = is_none(node.input(3)) ? kEnd : integer(node.input(3));
  call(node.output(), slice_of(name_of(node.input(0)), dimension(node.input(1), node.input(0)), from, to,
                               integer(node.input(4))));
}

// Uses reshape, since squeeze operators differ between versions.
void Translator::selection(const Node& node) {
  const std::int64_t axis = dimension(node.input(1), node.input(0)), index = integer(node.input(2));
  if (sizes_of(node.output()).front() != kSamples) refuse(node, "it selects samples");
  call(node.output(),
       reshaped(slice_of(name_of(node.input(0)), axis, index, index + 1, 1), for_any_samples(node.output())));
}

// chunk(input, count, dimension); unbind(input, dimension), whose results lose the dimension.
void Translator::parts(const Node& node) {
  const bool chunks = node.inputs().size() == 3;
  const std::int64_t axis = dimension(node.inputs().back(), node.input(0));
  const auto size = sizes_of(node.input(0)).at(static_cast<std::size_t>(axis));
  const auto outputs = node.output()->uses().at(0).user->outputs();
  const auto count = static_cast<std::int64_t>(outputs.size());
  if (size % count != 0) refuse(node, "its parts are not of one size");
  for (std::int64_t i = 0; i < count; ++i) {
    const TracedValue* output = outputs[static_cast<std::size_t>(i)];
    if (sizes_of(output).front() != kSamples) refuse(node, "it divides samples");
    const std::int64_t width = size / count;
    const std::string part = slice_of(name_of(node.input(0)), axis, i * width, (i + 1) * width, 1);
    call(output, chunks ? part : reshaped(part, for_any_samples(output)));
  }
}

}  // namespace veche::torch_model
