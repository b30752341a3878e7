#pragma once

#include <string>

#include "veche/errors.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// Runs `work`; shortens libtorch's error messages, which contain pages of addresses.
template <class Work>
auto explained(Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw RunError("libtorch failed: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace veche::torch_model
