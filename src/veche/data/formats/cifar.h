#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "veche/data/sets/damage.h"
#include "veche/data/sets/image_set.h"

namespace veche {

// The binary format of CIFAR: records of one label byte (CIFAR-100: two, of which the second
// counts) and 3 x 32 x 32 bytes, plane by plane. Appends the records in `bytes`, which must stay
// valid, to `samples`. Reports to `policy`: a truncated record, a label not below samples.classes.
void append_cifar(std::span<const std::uint8_t> bytes, std::size_t label_bytes, const std::string& name,
                  const DamagePolicy& policy, Samples& samples);

}  // namespace veche
