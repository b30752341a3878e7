#include "veche/train/views/view_part.h"

#include "veche/comm/tags.h"
#include "veche/errors.h"

namespace veche {

Standing ViewPart::standing() {
  Standing all = standing_of(self_);
  all.samples = data_.samples;
  all.has_test = data_.has_test != 0;
  return all;
}

void ViewPart::begin(Endpoint& endpoint, const View& view, const PlanOfView& plan) {
  std::vector<DataWord> words;
  for (const Standing& one : view.standing) words.push_back({one.samples, one.has_test ? 1U : 0U});
  plan_ = plan(words);
  if (plan_->async()) return go_on_in_view(self_, view);
  MessagePool pool = pool_;
  Patience patience;
  Channel states(endpoint, pool, patience, tags::state);
  told_ = start_view(self_, states, view, *plan_);
}

void ViewPart::run(std::unique_ptr<Endpoint> endpoint, const View& view, const PlanOfView& plan,
                   const NodeServices& services) {
  told_.clear();
  last_.reset();
  try {
    begin(*endpoint, view, plan);
    if (on_begin && endpoint->id() == services.speaker) on_begin(*plan_, told_);
    node_ = std::make_unique<Node>(std::move(endpoint), std::move(self_), *plan_, pool_);
    last_ = node_->run(services);
  } catch (const ViewChanged&) {
    // What was under way is repeated in the next one.
  } catch (const PeerLost&) {
    // So it is when a node is gone before the members have agreed that it is.
  }
}

void ViewPart::leave() {
  if (node_ != nullptr) self_ = node_->leave_view();
  node_.reset();
}

}  // namespace veche
