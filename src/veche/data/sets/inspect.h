#pragma once

#include <functional>

#include "veche/data/formats/image/image.h"
#include "veche/data/sets/source.h"

namespace veche {

// What a set holds, every sample looked at.
struct Inspection {
  struct Class {
    std::string name;
    std::size_t train = 0, test = 0;
  };
  std::vector<Class> classes;
  int channels = 0;
  int least_width = 0, most_width = 0, least_height = 0, most_height = 0;
  std::uint64_t bytes = 0;              // of the samples as they are stored
  std::vector<double> mean, deviation;  // of each channel of the training images, pixels taken as 0 .. 1
  std::uint64_t damaged = 0;
  std::vector<std::string> damage;  // the first ones
};

using InspectProgress = std::function<void(std::size_t done, std::size_t all)>;  // may throw to stop
Inspection inspect(const DataSource& source, int threads, const InspectProgress& progress);

// A contact sheet: a row of training images for each class, the first `columns` of it that can be read, of at
// most `rows` classes.
Image contact_sheet(const DataSource& source, int rows, int columns);

}  // namespace veche
