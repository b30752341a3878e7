#pragma once

#include <functional>

#include "veche/data/formats/image/image.h"
#include "veche/data/sets/source.h"

namespace veche {

// Statistics of a set, from all of its samples.
struct Inspection {
  struct Class {
    std::string name;
    std::size_t train = 0, test = 0;
  };
  std::vector<Class> classes;
  int channels = 0;
  int least_width = 0, most_width = 0, least_height = 0, most_height = 0;
  std::uint64_t bytes = 0;              // stored size of the samples
  std::vector<double> mean, deviation;  // per channel of the training images, for pixels in 0 .. 1
  std::uint64_t damaged = 0;
  std::vector<std::string> damage;  // the first sentences
};

using InspectProgress = std::function<void(std::size_t done, std::size_t all)>;  // may throw to stop
Inspection inspect(const DataSource& source, int threads, const InspectProgress& progress);

// A contact sheet: one row per class, at most `rows`, with the first `columns` readable training
// images of the class.
Image contact_sheet(const DataSource& source, int rows, int columns);

}  // namespace veche
