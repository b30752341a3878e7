#include "veche/data/sample_reader.h"

namespace veche {

void SampleReader::read(const Dataset& data, std::size_t index, std::span<float> out) {
  const auto* images = dynamic_cast<const PixelSet*>(&data);
  if (images == nullptr) return data.read(index, out);  // floats already
  room_.resize(out.size());
  images->tables().normalize(images->pixels(index, room_), out);
}

}  // namespace veche
