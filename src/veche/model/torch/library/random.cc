#include "veche/model/torch/library/random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/library.h>

namespace veche::torch_model {
namespace {

// A dispatch key reserved for extensions: when a thread includes it, its kernels run before all
// others.
constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

// Seed of the current pass of this thread; kernels are plain functions without state.
thread_local std::uint64_t pass_seed = 0;
thread_local c10::optional<at::Generator> pass_generator;

using Given = c10::optional<at::Generator>;

// Created on first use: most networks never need it.
const Given& chosen(const Given& given, const at::Tensor& self) {
  if (!self.is_cpu() || (given && given->defined())) return given;  // devices have their own generators
  if (!pass_generator) pass_generator = at::make_generator<at::CPUGeneratorImpl>(pass_seed);
  return pass_generator;
}

at::Tensor& bernoulli(at::Tensor& self, double p, Given given) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return self.bernoulli_(p, chosen(given, self));
}
at::Tensor& bernoulli_of(at::Tensor& self, const at::Tensor& p, Given given) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return self.bernoulli_(p, chosen(given, self));
}
at::Tensor& uniform(at::Tensor& self, double from, double to, Given given) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return self.uniform_(from, to, chosen(given, self));
}
at::Tensor& normal(at::Tensor& self, double mean, double deviation, Given given) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return self.normal_(mean, deviation, chosen(given, self));
}
at::Tensor& whole(at::Tensor& self, Given given) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return self.random_(chosen(given, self));
}
at::Tensor& whole_to(at::Tensor& self, std::int64_t to, Given given) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return self.random_(to, chosen(given, self));
}
at::Tensor& whole_from(at::Tensor& self, std::int64_t from, c10::optional<std::int64_t> to, Given given) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return self.random_(from, to, chosen(given, self));
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericMode, library) {
  library.impl("bernoulli_.float", bernoulli);
  library.impl("bernoulli_.Tensor", bernoulli_of);
  library.impl("uniform_", uniform);
  library.impl("normal_", normal);
  library.impl("random_", whole);
  library.impl("random_.to", whole_to);
  library.impl("random_.from", whole_from);
}

RepeatableRandom::RepeatableRandom(std::uint64_t seed) {
  pass_seed = seed;
  pass_generator.reset();
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

RepeatableRandom::~RepeatableRandom() { c10::impl::tls_set_dispatch_key_included(kKey, false); }

}  // namespace veche::torch_model
