#include "veche/runtime/run/view_epochs.h"

#include <cmath>

namespace veche {

EpochCount epochs_at_start(const View& view, bool in_step) {
  EpochCount made;
  double count = 0, steps = 0;
  for (const NodeStatus& one : view.status) {
    if (one.epochs < 0) continue;
    if (in_step && (one.done_step > made.step || (one.done_step == made.step && one.epochs > made.epochs)))
      made = {one.done_step, one.epochs};
    if (in_step) continue;
    count += 1;
    steps += (static_cast<double>(one.done_step) - steps) / count;
    made.epochs += (one.epochs - made.epochs) / count;
    made.step = static_cast<std::uint64_t>(std::llround(steps));
  }
  return made;
}

}  // namespace veche
