#include "veche/model/torch/layers/network.h"

#include "veche/model/torch/layers/chain.h"

namespace veche::torch_model {
namespace {

Step both(Step first, Step second) {
  if (!first) return second;
  return [first = std::move(first), second = std::move(second)](const at::Tensor& x, Pass& pass) {
    return second(first(x, pass), pass);
  };
}

}  // namespace

at::Tensor Network::forward(const at::Tensor& images, Pass& pass) {
  at::Tensor x = images;
  for (const Link& link : links_) x = link.forward(x, pass);
  return x;
}

void Network::link(std::string name, std::vector<std::string> holds, Step forward) {
  links_.push_back(
      {std::move(name), std::move(holds), both(std::exchange(before_next_, nullptr), std::move(forward))});
}

void Network::link(const std::string& name, const Chain& chain) {
  bool begun = false;
  for (const Chain::Part& part : chain.parts()) {
    if (part.chain != nullptr) {
      link(name + "." + part.holds.front(), *part.chain);
    } else if (part.holds.empty()) {
      begun ? after_last(part.forward) : before_next(part.forward);
      continue;
    } else {
      std::vector<std::string> holds;
      for (const std::string& number : part.holds) holds.push_back(name + "." + number);
      const std::string first = holds.front();
      link(first, std::move(holds), part.forward);
    }
    begun = true;
  }
}

void Network::before_next(Step step) { before_next_ = both(std::move(before_next_), std::move(step)); }

void Network::after_last(Step step) {
  links_.back().forward = both(std::move(links_.back().forward), std::move(step));
}

}  // namespace veche::torch_model
