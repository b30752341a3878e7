#include "veche/data/formats/cifar.h"

#include <fmt/format.h>

namespace veche {

void append_cifar(std::span<const std::uint8_t> bytes, std::size_t label_bytes, const std::string& name,
                  const DamagePolicy& policy, Samples& samples) {
  constexpr std::size_t kPlane = 32 * 32, kChannels = 3;
  const std::size_t record = label_bytes + kChannels * kPlane;
  if (bytes.size() % record != 0)
    policy.found(fmt::format("'{}' is truncated, or no file of CIFAR: its {} bytes are not a multiple of {}",
                             name, bytes.size(), record));
  for (std::size_t i = 0; i < bytes.size() / record; ++i) {
    const auto one = bytes.subspan(i * record, record);
    const int label = one[label_bytes - 1];
    if (label >= samples.classes) {
      policy.found(fmt::format("'{}' gives sample {} the label {}, which is not in 0..{}", name, i, label,
                               samples.classes - 1));
      continue;
    }
    samples.add(one.data() + label_bytes, label);
  }
}

}  // namespace veche
