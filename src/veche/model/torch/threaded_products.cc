#include "veche/model/torch/threaded_products.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace veche::torch_model::threaded {
namespace {

constexpr std::int64_t kProductsWorthAThread = 1 << 18;

// work(from, length) for the parts of [0, lines), each of which takes so many products.
template <class Work>
void in_strips(std::int64_t lines, std::int64_t products_of_a_line, Work work) {
  const std::int64_t worth = lines * products_of_a_line / kProductsWorthAThread;
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min({std::int64_t{at::get_num_threads()}, worth, lines}));
  if (parts == 1) return work(0, lines);
  at::parallel_for(0, parts, 1, [&](std::int64_t first, std::int64_t last) {
    const at::NoGradGuard guard;
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t from = lines * part / parts;
      work(from, lines * (part + 1) / parts - from);
    }
  });
}

}  // namespace

at::Tensor product_with_bias(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::NoGradGuard guard;
  const std::int64_t out = weight.size(0);
  const at::Tensor y = at::empty({x.size(0), out});
  in_strips(out, x.numel(), [&](std::int64_t from, std::int64_t length) {
    at::Tensor strip = y.narrow(1, from, length);
    at::addmm_out(strip, bias.narrow(0, from, length), x, weight.narrow(0, from, length).t());
  });
  return y;
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  const at::NoGradGuard guard;
  const at::Tensor result = at::empty({a.size(0), b.size(1)});
  in_strips(b.size(1), a.numel(), [&](std::int64_t from, std::int64_t length) {
    at::Tensor strip = result.narrow(1, from, length);
    at::mm_out(strip, a, b.narrow(1, from, length));
  });
  return result;
}

void product_into(at::Tensor& result, const at::Tensor& a, const at::Tensor& b) {
  const at::NoGradGuard guard;
  in_strips(a.size(0), b.numel(), [&](std::int64_t from, std::int64_t length) {
    at::Tensor strip = result.narrow(0, from, length);
    at::mm_out(strip, a.narrow(0, from, length), b);
  });
}

}  // namespace veche::torch_model::threaded
