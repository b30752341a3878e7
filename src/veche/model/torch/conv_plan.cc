#include "veche/model/torch/conv_plan.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "veche/errors.h"

namespace veche::torch_model {
namespace {

using dnnl::memory;
using Dims = memory::dims;
constexpr auto kFloat = memory::data_type::f32;

// Lives as long as the process: libtorch's own primitives may outlast any static of ours.
const dnnl::engine& processor() {
  static const dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(processor());
  return stream;
}

memory::desc images(const Dims& size) { return {size, kFloat, memory::format_tag::nhwc}; }

memory over(const memory::desc& order, const at::Tensor& numbers) {
  return {order, processor(), numbers.data_ptr<float>()};
}

at::Tensor room_for(const memory::desc& order) {
  return at::empty({static_cast<std::int64_t>((order.get_size() + sizeof(float) - 1) / sizeof(float))});
}

// Memory for the work comes from the allocator's pool, so that resting learners hold none.
dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

class Primitive {
 public:
  template <class Description>
  Primitive(const dnnl::primitive& primitive, const Description& description)
      : primitive_(primitive), scratchpad_(description.scratchpad_desc()) {}

  void run(std::unordered_map<int, memory> arguments) const {
    const at::Tensor scratchpad = room_for(scratchpad_);
    arguments.emplace(DNNL_ARG_SCRATCHPAD, over(scratchpad_, scratchpad));
    primitive_.execute(stream(), arguments);
  }

 private:
  dnnl::primitive primitive_;
  memory::desc scratchpad_;
};

// From one order of the same numbers to another; nothing where they are equal.
class Reorder {
 public:
  Reorder(const memory::desc& from, const memory::desc& to) : from_(from), to_(to) {
    if (from == to) return;
    const dnnl::reorder::primitive_desc description(processor(), from, processor(), to, own_scratchpad());
    primitive_.emplace(dnnl::reorder(description), description);
  }

  const memory::desc& from() const { return from_; }
  const memory::desc& to() const { return to_; }
  void run(const at::Tensor& from, const at::Tensor& to) const {
    if (primitive_) primitive_->run({{DNNL_ARG_FROM, over(from_, from)}, {DNNL_ARG_TO, over(to_, to)}});
  }
  // The numbers in the new order.
  at::Tensor operator()(const at::Tensor& numbers) const {
    if (!primitive_) return numbers;
    const at::Tensor moved = room_for(to_);
    run(numbers, moved);
    return moved;
  }
  // Where to write what run() brings to its place.
  at::Tensor room(const at::Tensor& place) const { return primitive_ ? room_for(from_) : place; }

 private:
  memory::desc from_;
  memory::desc to_;
  std::optional<Primitive> primitive_;
};

// Sizes and orders, in oneDNN's words.
struct Geometry {
  Geometry(const ConvOptions& o, at::IntArrayRef x, const at::Tensor& weight, bool with_bias)
      : stride{o.stride, o.stride},
        padding{o.padding, o.padding},
        bias({o.out}, kFloat, memory::format_tag::x) {
    const auto reached = [&](std::int64_t side) { return (side + 2 * o.padding - o.kernel) / o.stride + 1; };
    input = images({x[0], x[1], x[2], x[3]});
    output_size = {x[0], o.out, reached(x[2]), reached(x[3])};
    output = images(output_size);
    any_input = {input.dims(), kFloat, memory::format_tag::any};
    any_output = {output_size, kFloat, memory::format_tag::any};
    Dims size = weight.sizes().vec(), strides = weight.strides().vec();
    if (o.groups > 1) {
      size[0] /= o.groups;
      size.insert(size.begin(), o.groups);
      strides.insert(strides.begin(), size[1] * strides[0]);
    }
    weights = {size, kFloat, strides};
    any_weights = {size, kFloat, memory::format_tag::any};
    if (!with_bias) bias = memory::desc();
  }
  Dims stride, padding, output_size;
  memory::desc input, output, weights, any_input, any_output, any_weights, bias;
};

// Winograd's F(4x4, 3x3), which needs a fourth of the multiplications, where oneDNN has it (AVX-512) and it
// pays: with fewer channels it costs as much as it saves.
bool for_winograd(const ConvOptions& o, at::IntArrayRef images) {
  constexpr int kChannels = 32;
  constexpr int kSide = 6;  // of images
  return o.kernel == 3 && o.stride == 1 && o.groups == 1 && o.in >= kChannels && o.out >= kChannels &&
         images[2] >= kSide && images[3] >= kSide;
}

// `make` describes a pass by an algorithm and the orders of input, weights and output images; Winograd's
// wants orders of its own.
template <class Make>
auto described(const Geometry& g, bool winograd, Make make) {
  if (winograd)
    if (auto made = make(dnnl::algorithm::convolution_winograd, g.any_input, g.any_output)) return made;
  return make(dnnl::algorithm::convolution_direct, g.input, g.output);
}

struct Forward {
  Forward(const Geometry& g, bool winograd)
      : description(described(g, winograd,
                              [&](auto algorithm, const auto& x, const auto& y) {
                                return dnnl::convolution_forward::primitive_desc(
                                    {dnnl::prop_kind::forward_training, algorithm, x, g.any_weights, g.bias,
                                     y, g.stride, g.padding, g.padding},
                                    own_scratchpad(), processor(), /*allow_empty=*/true);
                              })),
        primitive(dnnl::convolution_forward(description), description),
        x(g.input, description.src_desc()),
        weights(g.weights, description.weights_desc()),
        y(description.dst_desc(), g.output) {}

  dnnl::convolution_forward::primitive_desc description;  // the backward passes ask for it
  Primitive primitive;
  Reorder x, weights, y;
};

struct InputGradientPass {
  InputGradientPass(const Geometry& g, const Forward& forward, bool winograd)
      : InputGradientPass(g, described(g, winograd, [&](auto algorithm, const auto& x, const auto& y) {
                            return dnnl::convolution_backward_data::primitive_desc(
                                {algorithm, x, g.any_weights, y, g.stride, g.padding, g.padding},
                                own_scratchpad(), processor(), forward.description, /*allow_empty=*/true);
                          })) {}
  InputGradientPass(const Geometry& g, const dnnl::convolution_backward_data::primitive_desc& made)
      : primitive(dnnl::convolution_backward_data(made), made),
        dy(g.output, made.diff_dst_desc()),
        weights(g.weights, made.weights_desc()),
        dx(made.diff_src_desc(), g.input) {}

  Primitive primitive;
  Reorder dy, weights, dx;
};

struct ParameterGradients {
  ParameterGradients(const Geometry& g, const Forward& forward, bool winograd)
      : ParameterGradients(g, described(g, winograd, [&](auto algorithm, const auto& x, const auto& y) {
                             return dnnl::convolution_backward_weights::primitive_desc(
                                 {algorithm, x, g.any_weights, g.bias, y, g.stride, g.padding, g.padding},
                                 own_scratchpad(), processor(), forward.description, /*allow_empty=*/true);
                           })) {}
  ParameterGradients(const Geometry& g, const dnnl::convolution_backward_weights::primitive_desc& made)
      : primitive(dnnl::convolution_backward_weights(made), made),
        dy(g.output, made.diff_dst_desc()),
        x(g.input, made.src_desc()),
        weights(made.diff_weights_desc(), g.weights) {}

  Primitive primitive;
  Reorder dy, x, weights;
};

}  // namespace

// The backward ones are made when first asked for: evaluation needs none, a first layer no input gradient.
struct ConvPlan::Passes {
  Passes(const Geometry& sizes, bool try_winograd)
      : geometry(sizes), winograd(try_winograd), forward(geometry, winograd) {}
  Geometry geometry;
  const bool winograd;
  Forward forward;
  std::optional<InputGradientPass> input;
  std::optional<ParameterGradients> parameters;
};

ConvPlan::ConvPlan(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias)
    : images_(images.vec()),
      weight_strides_(weight.strides().vec()),
      bias_(bias),
      passes_(
          std::make_unique<Passes>(Geometry(options, images, weight, bias), for_winograd(options, images))) {}

ConvPlan::~ConvPlan() = default;

bool ConvPlan::fits(at::IntArrayRef images, const at::Tensor& weight, bool bias) const {
  return images == images_ && weight.strides() == weight_strides_ && bias == bias_;
}

at::Tensor ConvPlan::forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const Geometry& geometry = passes_->geometry;
  const Forward& pass = passes_->forward;
  const at::Tensor y =
      at::empty(geometry.output_size, at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
  const at::Tensor ordered_x = pass.x(x), ordered = pass.weights(weight), made = pass.y.room(y);
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, over(pass.x.to(), ordered_x)},
                                            {DNNL_ARG_WEIGHTS, over(pass.weights.to(), ordered)},
                                            {DNNL_ARG_DST, over(pass.y.from(), made)}};
  if (bias_) arguments.emplace(DNNL_ARG_BIAS, over(geometry.bias, bias));
  pass.primitive.run(std::move(arguments));
  pass.y.run(made, y);
  return y;
}

at::Tensor ConvPlan::gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                               bool of_input, const at::Tensor& dweight, const at::Tensor& dbias) {
  const Geometry& geometry = passes_->geometry;
  at::Tensor dx, ordered_dy;
  memory::desc order_of_dy;
  if (of_input) {
    if (!passes_->input) passes_->input.emplace(geometry, passes_->forward, passes_->winograd);
    const InputGradientPass& pass = *passes_->input;
    dx = at::empty(images_, at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
    ordered_dy = pass.dy(dy);
    order_of_dy = pass.dy.to();
    const at::Tensor ordered = pass.weights(weight), made = pass.dx.room(dx);
    pass.primitive.run({{DNNL_ARG_DIFF_DST, over(pass.dy.to(), ordered_dy)},
                        {DNNL_ARG_WEIGHTS, over(pass.weights.to(), ordered)},
                        {DNNL_ARG_DIFF_SRC, over(pass.dx.from(), made)}});
    pass.dx.run(made, dx);
  }
  if (!passes_->parameters) passes_->parameters.emplace(geometry, passes_->forward, passes_->winograd);
  const ParameterGradients& pass = *passes_->parameters;
  if (!of_input || order_of_dy != pass.dy.to()) ordered_dy = pass.dy(dy);
  const at::Tensor ordered_x = pass.x(x), made = pass.weights.room(dweight);
  std::unordered_map<int, memory> arguments{{DNNL_ARG_DIFF_DST, over(pass.dy.to(), ordered_dy)},
                                            {DNNL_ARG_SRC, over(pass.x.to(), ordered_x)},
                                            {DNNL_ARG_DIFF_WEIGHTS, over(pass.weights.from(), made)}};
  if (bias_) arguments.emplace(DNNL_ARG_DIFF_BIAS, over(geometry.bias, dbias));
  pass.primitive.run(std::move(arguments));
  pass.weights.run(made, dweight);
  return dx;
}

}  // namespace veche::torch_model
