#pragma once

#include <string>
#include <variant>

#include "veche/options.h"

namespace veche {

// The [strategy] section of local SGD, of both forms.
struct LocalSgdOptions {
  explicit LocalSgdOptions(const Options& options)
      : period(options.at("period")),
        warm(options.get<double>("warm")),
        outer(options.get<std::string>("outer")),
        outer_rate(options.get<double>("outer_lr")),
        outer_momentum(static_cast<float>(options.get<double>("outer_momentum"))),
        weighted(options.get<bool>("weighted")),
        elastic(options.get<double>("elastic")),
        centre_rate(static_cast<float>(options.get<double>("centre_rate"))),
        async(options.get<std::string>("update") == "async") {}
  bool has_outer() const { return outer != "none"; }
  // One average, after the last step.
  bool at_end() const {
    const auto* word = std::get_if<std::string>(&period.data);
    return word != nullptr && *word == "end";
  }

  const Value period;  // steps, "end", or a list of [epoch, period]
  const double warm;   // epochs
  const std::string outer;
  const double outer_rate;
  const float outer_momentum;
  const bool weighted;
  const double elastic;  // 0: no elastic force
  const float centre_rate;
  const bool async;
};

}  // namespace veche
