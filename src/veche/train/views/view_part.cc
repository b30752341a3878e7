#include "veche/train/views/view_part.h"

#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/train/loop/measure.h"

namespace veche {
namespace {

enum ViewTalk : std::uint64_t { kDataWords, kStates };

}  // namespace

void ViewPart::begin(Endpoint& endpoint, const View& view, const PlanOfView& plan) {
  MessagePool pool = pool_;
  Patience patience;
  const Channel talk(endpoint, pool, patience, tags::state);
  Channel words = talk.child(kDataWords);
  const Gathered<DataWord> data(words, data_);
  plan_ = plan(data.all());
  Channel states = talk.child(kStates);
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
