#include "veche/model/torch/layers/conv_plan.h"

#include <ATen/Parallel.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "veche/errors.h"
#include "veche/model/torch/kernels/threaded_kernels.h"

namespace veche::torch_model {
namespace {

using dnnl::memory;
using Dims = memory::dims;
constexpr auto kFloat = memory::data_type::f32;
constexpr std::size_t kMostSharedPlans = 512;

// Never destroyed: libtorch's primitives may outlive any of our static objects.
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

// Scratch memory comes from the allocator's pool, so idle learners hold none.
dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::primitive_attr adding() {
  dnnl::primitive_attr attributes = own_scratchpad();
  dnnl::post_ops after;
  after.append_sum();
  attributes.set_post_ops(after);
  return attributes;
}

dnnl::primitive_attr with_epilogue(Epilogue epilogue) {
  dnnl::primitive_attr attributes = own_scratchpad();
  dnnl::post_ops after;
  if (adds(epilogue)) after.append_sum();
  if (has_relu(epilogue)) after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  attributes.set_post_ops(after);
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

// Converts between memory layouts; a no-op if they are equal.
class Reorder {
 public:
  Reorder(const memory::desc& from, const memory::desc& to,
          const dnnl::primitive_attr& attributes = own_scratchpad())
      : from_(from), to_(to) {
    if (from == to) return;
    const dnnl::reorder::primitive_desc description(processor(), from, processor(), to, attributes);
    primitive_.emplace(dnnl::reorder(description), description);
  }

  bool needed() const { return primitive_.has_value(); }
  void run(const at::Tensor& from, const at::Tensor& to) const {
    primitive_->run({{DNNL_ARG_FROM, over(from_, from)}, {DNNL_ARG_TO, over(to_, to)}});
  }
  at::Tensor operator()(const at::Tensor& numbers) const {
    if (!needed()) return numbers;
    const at::Tensor moved = room_for(to_);
    run(numbers, moved);
    return moved;
  }

 private:
  memory::desc from_;
  memory::desc to_;
  std::optional<Primitive> primitive_;
};

// Sizes and layouts as oneDNN types.
struct Geometry {
  Geometry(const ConvOptions& o, at::IntArrayRef x, const at::Tensor& weight, bool with_bias)
      : stride{o.stride, o.stride},
        padding{o.padding, o.padding},
        bias({o.out}, kFloat, memory::format_tag::x) {
    const auto reached = [&](std::int64_t side) { return (side + 2 * o.padding - o.kernel) / o.stride + 1; };
    input = images({x[0], x[1], x[2], x[3]});
    output_size = {x[0], o.out, reached(x[2]), reached(x[3])};
    output = images(output_size);
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
  memory::desc input, output, weights, any_weights, bias;
};

// The convolution as a WinogradSize, if Winograd is faster.
std::optional<WinogradSize> for_winograd(const ConvOptions& o, at::IntArrayRef images,
                                         const at::Tensor& weight, bool weights_reused) {
  const WinogradSize size{images[0], images[2], images[3], o.in, o.out, o.padding};
  const bool fits = o.kernel == 3 && o.stride == 1 && o.groups == 1 && winograd_pays(size, weights_reused) &&
                    weight.is_contiguous(at::MemoryFormat::ChannelsLast);
  return fits ? std::make_optional(size) : std::nullopt;
}

at::Tensor room_for(std::size_t floats) { return at::empty({static_cast<std::int64_t>(floats)}); }

at::Tensor for_winograd_forward(const WinogradSize& size, const at::Tensor& weight) {
  const at::Tensor transformed = room_for(winograd_weights(size));
  winograd_forward_weights(size, weight.data_ptr<float>(), transformed.data_ptr<float>(),
                           room_for(winograd_taps(size)).data_ptr<float>());
  return transformed;
}

at::Tensor for_winograd_backward(const WinogradSize& size, const at::Tensor& weight) {
  const at::Tensor transformed = room_for(winograd_weights(size));
  winograd_backward_weights(size, weight.data_ptr<float>(), transformed.data_ptr<float>());
  return transformed;
}

struct Forward {
  Forward(const Geometry& g, Epilogue epilogue)
      : Forward(g, {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, g.input,
                     g.any_weights, g.bias, g.output, g.stride, g.padding, g.padding},
                    with_epilogue(epilogue),
                    processor()}) {}
  Forward(const Geometry& g, const dnnl::convolution_forward::primitive_desc& made)
      : primitive(dnnl::convolution_forward(made), made),
        ordered(made.weights_desc()),
        reorder(g.weights, ordered),
        description(made) {}

  Primitive primitive;
  memory::desc ordered;
  Reorder reorder;
  dnnl::convolution_forward::primitive_desc description;  // needed to create the backward passes
};

struct InputGradientPass {
  InputGradientPass(const Geometry& g, const Forward& forward)
      : InputGradientPass(g, {{dnnl::algorithm::convolution_direct, g.input, g.any_weights, g.output,
                               g.stride, g.padding, g.padding},
                              own_scratchpad(),
                              processor(),
                              forward.description}) {}
  InputGradientPass(const Geometry& g, const dnnl::convolution_backward_data::primitive_desc& made)
      : primitive(dnnl::convolution_backward_data(made), made),
        ordered(made.weights_desc()),
        reorder(g.weights, ordered) {}

  Primitive primitive;
  memory::desc ordered;
  Reorder reorder;
};

struct ParameterGradients {
  ParameterGradients(const Geometry& g, const Forward& forward)
      : ParameterGradients(g, {{dnnl::algorithm::convolution_direct, g.input, g.any_weights, g.bias, g.output,
                                g.stride, g.padding, g.padding},
                               own_scratchpad(),
                               processor(),
                               forward.description}) {}
  ParameterGradients(const Geometry& g, const dnnl::convolution_backward_weights::primitive_desc& made)
      : primitive(dnnl::convolution_backward_weights(made), made),
        ordered(made.diff_weights_desc()),
        reorder(ordered, g.weights),
        reorder_and_add(ordered, g.weights, adding()) {}

  Primitive primitive;
  memory::desc ordered;
  Reorder reorder, reorder_and_add;
};

// Derives data from the weights, unless cached.
template <class Make>
at::Tensor kept_or_made(at::Tensor* kept, const Make& make) {
  if (kept == nullptr) return make();
  if (!kept->defined()) *kept = make();
  return *kept;
}

}  // namespace

// Backward passes are created on first use: evaluation needs none, and a first layer no input
// gradient.
struct ConvPlan::Passes {
  Passes(const Geometry& sizes, const std::optional<WinogradSize>& winograd_size, Epilogue epilogue)
      : geometry(sizes), winograd(winograd_size) {
    if (!winograd) forward.emplace(geometry, epilogue);
  }
  Geometry geometry;
  std::optional<WinogradSize> winograd;  // used instead of the others
  std::optional<Forward> forward;
  const InputGradientPass& for_input() {
    std::call_once(input_made_, [this] { input_.emplace(geometry, *forward); });
    return *input_;
  }
  const ParameterGradients& for_parameters() {
    std::call_once(parameters_made_, [this] { parameters_.emplace(geometry, *forward); });
    return *parameters_;
  }

 private:
  std::once_flag input_made_, parameters_made_;
  std::optional<InputGradientPass> input_;
  std::optional<ParameterGradients> parameters_;
};

ConvPlan::ConvPlan(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias,
                   bool weights_reused, std::optional<Epilogue> ordered_ahead)
    : options_(options),
      images_(images.vec()),
      weight_strides_(weight.strides().vec()),
      bias_(bias),
      weights_rest_(weights_reused),
      ordered_ahead_(ordered_ahead),
      threads_(at::get_num_threads()),
      passes_(std::make_unique<Passes>(
          Geometry(options, images, weight, bias),
          ordered_ahead ? std::nullopt : for_winograd(options, images, weight, weights_reused),
          ordered_ahead.value_or(Epilogue::none))) {}

ConvPlan::~ConvPlan() = default;

bool ConvPlan::fits(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias,
                    bool weights_reused, std::optional<Epilogue> ordered_ahead) const {
  return images == images_ && options == options_ && weight.strides() == weight_strides_ && bias == bias_ &&
         weights_reused == weights_rest_ && ordered_ahead == ordered_ahead_ &&
         at::get_num_threads() == threads_;
}

std::shared_ptr<ConvPlan> ConvPlans::find_or_make(const ConvOptions& options, at::IntArrayRef images,
                                                  const at::Tensor& weight, bool bias, bool weights_reused,
                                                  std::optional<Epilogue> ordered_ahead) {
  // held during creation too, since others would only create the same plan
  const MutexLock lock(mutex_);
  for (const auto& plan : plans_)
    if (plan->fits(options, images, weight, bias, weights_reused, ordered_ahead)) return plan;
  // Start over if there are too many sizes.
  if (plans_.size() == kMostSharedPlans) plans_.clear();
  plans_.push_back(std::make_shared<ConvPlan>(options, images, weight, bias, weights_reused, ordered_ahead));
  return plans_.back();
}

at::Tensor ConvPlan::forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             at::Tensor* kept) const {
  if (const auto& size = passes_->winograd) {
    const at::Tensor y = at::empty(passes_->geometry.output_size,
                                   at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
    const at::Tensor transformed = kept_or_made(kept, [&] { return for_winograd_forward(*size, weight); });
    threaded::winograd_forward(*size, x.data_ptr<float>(), transformed.data_ptr<float>(),
                               bias_ ? bias.data_ptr<float>() : nullptr, y.data_ptr<float>(),
                               room_for(threaded::winograd_work(*size)).data_ptr<float>());
    return y;
  }
  return forward_ordered(x, kept_or_made(kept, [&] { return ordered(weight); }), bias, {});
}

at::Tensor ConvPlan::ordered(const at::Tensor& weight) const { return passes_->forward->reorder(weight); }

at::Tensor ConvPlan::forward_ordered(const at::Tensor& x, const at::Tensor& ordered, const at::Tensor& bias,
                                     const at::Tensor& summand) const {
  const Geometry& geometry = passes_->geometry;
  const Forward& pass = *passes_->forward;
  const at::Tensor y = summand.defined()
                           ? summand
                           : at::empty(geometry.output_size,
                                       at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, over(geometry.input, x)},
                                            {DNNL_ARG_WEIGHTS, over(pass.ordered, ordered)},
                                            {DNNL_ARG_DST, over(geometry.output, y)}};
  if (bias_) arguments.emplace(DNNL_ARG_BIAS, over(geometry.bias, bias));
  pass.primitive.run(std::move(arguments));
  return y;
}

at::Tensor ConvPlan::input_gradient(const at::Tensor& dy, const at::Tensor& weight, at::Tensor* kept) {
  const Geometry& geometry = passes_->geometry;
  const at::Tensor dx = at::empty(images_, at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
  if (const auto& size = passes_->winograd) {
    const at::Tensor transformed = kept_or_made(kept, [&] { return for_winograd_backward(*size, weight); });
    threaded::winograd_input_gradient(*size, dy.data_ptr<float>(), transformed.data_ptr<float>(),
                                      dx.data_ptr<float>(),
                                      room_for(threaded::winograd_work(*size)).data_ptr<float>());
    return dx;
  }
  const InputGradientPass& pass = passes_->for_input();
  const at::Tensor ordered = kept_or_made(kept, [&] { return pass.reorder(weight); });
  pass.primitive.run({{DNNL_ARG_DIFF_DST, over(geometry.output, dy)},
                      {DNNL_ARG_WEIGHTS, over(pass.ordered, ordered)},
                      {DNNL_ARG_DIFF_SRC, over(geometry.input, dx)}});
  return dx;
}

void ConvPlan::parameter_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& dweight,
                                   const at::Tensor& dbias, bool add) {
  // The gradient of this pass alone, when accumulating.
  const at::Tensor of_bias = bias_ && add ? at::empty_like(dbias) : dbias;
  if (const auto& size = passes_->winograd) {
    threaded::winograd_weight_gradient(*size, x.data_ptr<float>(), dy.data_ptr<float>(), add,
                                       dweight.data_ptr<float>(),
                                       room_for(threaded::winograd_gradient_work(*size)).data_ptr<float>());
    at::Tensor sum = of_bias;
    if (bias_) at::sum_out(sum, dy, {0, 2, 3});
    if (add && bias_) dbias.add_(of_bias);
    return;
  }
  const Geometry& geometry = passes_->geometry;
  const ParameterGradients& pass = passes_->for_parameters();
  const at::Tensor ordered = pass.reorder.needed() ? room_for(pass.ordered)
                             : add                 ? at::empty_like(dweight)
                                                   : dweight;
  std::unordered_map<int, memory> arguments{{DNNL_ARG_DIFF_DST, over(geometry.output, dy)},
                                            {DNNL_ARG_SRC, over(geometry.input, x)},
                                            {DNNL_ARG_DIFF_WEIGHTS, over(pass.ordered, ordered)}};
  if (bias_) arguments.emplace(DNNL_ARG_DIFF_BIAS, over(geometry.bias, of_bias));
  pass.primitive.run(std::move(arguments));
  if (pass.reorder.needed())
    (add ? pass.reorder_and_add : pass.reorder).run(ordered, dweight);
  else if (add)
    dweight.add_(ordered);
  if (add && bias_) dbias.add_(of_bias);
}

}  // namespace veche::torch_model
