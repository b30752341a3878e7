#include "veche/compress/half.h"

#include "veche/compress/kernels/kernels.h"

namespace veche {

HalfFormat half_format(const CodecSpec& spec) {
  return spec.kind == CodecSpec::Kind::fp16 ? HalfFormat::fp16 : HalfFormat::bf16;
}

void to_half(HalfFormat format, std::span<const float> x, std::span<std::uint16_t> out) {
  (format == HalfFormat::fp16 ? kernels::to_fp16 : kernels::to_bf16)(x.data(), x.size(), out.data());
}
void from_half(HalfFormat format, std::span<const std::uint16_t> code, std::span<float> out) {
  (format == HalfFormat::fp16 ? kernels::from_fp16 : kernels::from_bf16)(code.data(), code.size(),
                                                                         out.data());
}
void add_half(HalfFormat format, std::span<const std::uint16_t> code, float weight, std::span<float> into) {
  (format == HalfFormat::fp16 ? kernels::add_fp16 : kernels::add_bf16)(code.data(), code.size(), weight,
                                                                       into.data());
}
void add_to_half(HalfFormat format, std::span<const float> x, std::span<const std::uint16_t> code,
                 std::span<std::uint16_t> out) {
  (format == HalfFormat::fp16 ? kernels::add_to_fp16 : kernels::add_to_bf16)(x.data(), code.data(), x.size(),
                                                                             out.data());
}

}  // namespace veche
